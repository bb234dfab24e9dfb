"""Operations: operators, items and calls that do not exist for the types that they are given."""

from __future__ import annotations

import ast
import re
from types import ModuleType
from typing import Any, Final

from gridjit.compiler.frontend.explained.failure import Failure, Operation
from gridjit.compiler.frontend.explained.plain import shows_insides
from gridjit.compiler.frontend.explained.rules.finding import Finding, ways_round
from gridjit.compiler.frontend.explained.source import subscript_of, text_of

_BINARY: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "contains": "in",
}
_INPLACE: Final = {f"i{name.rstrip('_')}": f"{sign}=" for name, sign in _BINARY.items()}
_UNARY: Final = {"neg": "-", "pos": "+", "invert": "~", "not_": "not "}
_ITEM = "A kernel works on items: index the array, as in x[i]."
_NUMPYS = "Write a loop over the items, or compute it before the launch."
_LINEAR = re.compile(r"scipy .* is required|unsupported NumPy function|\bBLAS\b|\bLAPACK\b")
# Reasons of candidates that speak of numba's own code.
_OF_NUMBA = re.compile(r"argument names|pipeline|Untyped|[Uu]nsupported|argument 'name' must be")
_ALLOCATES = ("NRT required but not enabled", "Only accept returning of array", "_ol_array_allocate")
_ARRAYS = "Use cuda.local.array(shape, dtype) or cuda.shared.array(shape, dtype), or write a loop."
_ENABLE = "Kernels may allocate with NUMBA_CUDA_ENABLE_NRT=1, or numba.cuda.config.CUDA_ENABLE_NRT = True"


def allocation(failure: Failure) -> Finding | None:
    """An array, or a text, that would have to be allocated while the kernel runs."""
    if not any(sign in failure.text for sign in _ALLOCATES):
        return None
    if "unicode" in failure.text or "_empty_string" in failure.text:
        node = next(failure.source.of(ast.Call), None)
        return Finding(
            sentence="texts cannot be made in a kernel", advice="print(...) takes several values.", node=node
        )
    allocates = _allocates(failure)
    instead = _ITEM if isinstance(allocates, ast.BinOp | ast.UnaryOp) else _ARRAYS
    return Finding(
        sentence=f"{text_of(allocates) or 'this line'} needs new memory, and kernels do not allocate any",
        advice=f"{instead} {_ENABLE}.",
        node=allocates,
    )


def _allocates(failure: Failure) -> ast.AST | None:
    """Return the expression of a line that makes an array: a call, a list, or an operator."""
    if (call := _called(failure)) is not None:
        return call
    return next((node for node in failure.source.nodes if isinstance(node, ast.BinOp | ast.UnaryOp | ast.List)), None)


def items(failure: Failure) -> Finding | None:
    """An item that cannot be read, written or deleted in such a way."""
    operation = failure.operation
    if operation is None or operation.name not in ("getitem", "setitem", "static_getitem", "static_setitem", "delitem"):
        return None
    node = subscript_of(failure.source, ast.Store if operation.name.endswith("setitem") else ast.Load)
    if operation.name == "delitem":
        return Finding(sentence="items cannot be deleted in a kernel", node=node)
    owner, index, *value = (*operation.arguments, "", "")[:3]
    name = text_of(node.value) if node is not None else "this"
    refused = _not_indexed(name, owner) or _wrong_index(name, owner, index, failure)
    if refused is None and operation.name.endswith("setitem"):
        refused = _read_only(name, owner, failure) or _wrong_value(owner, value[0])
    sentence, advice = refused or (f"{name}, a {owner}, cannot be indexed with {index}", "")
    return Finding(sentence=sentence, advice=advice, node=node)


def _not_indexed(name: str, owner: str) -> tuple[str, str] | None:
    if owner.startswith("the function "):
        return (
            f"a kernel cannot launch {owner[13:]!r}, as it runs on the device itself",
            "Launch one kernel after the other from Python, or call a function made with device=True.",
        )
    if owner in ("dict", "set"):
        return f"{name!r} is a {owner}, which kernels do not have", "Use arrays or tuples, indexed by numbers."
    if owner == "list":
        return f"{name!r} is a list, which kernels do not have", ways_round(owner)
    if owner == "None":
        return f"{name!r} is None", "Assign it before the kernel is compiled, or pass it as an argument."
    if not owner.endswith(("]", ")", "list", "str")) and "tuple" not in owner:
        return f"{name!r} is one {owner}, not an array, and cannot be indexed", "Pass an array, or leave out the index."
    return None


def _wrong_index(name: str, owner: str, index: str, failure: Failure) -> tuple[str, str] | None:
    count = re.search(r"cannot index .+? with (\d+) indices", failure.text)
    if count is not None:
        axes = owner.count(":")
        return f"{name!r} is {owner}: it has {axes} dimension{'s' * (axes != 1)}, and {count[1]} indices are given", ""
    if index.startswith("float"):
        return f"{name!r} is indexed with a {index}, not with a whole number", "Write int(index), or divide with //."
    if owner.endswith("]") and (index[:1] in "'\"" or index == "str"):
        return f"{name!r} is {owner}, and it is indexed with a text", "Texts name the fields of records only."
    if owner.startswith("(") and not index.isdigit():
        return (
            f"the items of {name!r} have different types, {owner}, so its index must be a constant",
            "Use a tuple whose items have one type, an array, or if and elif.",
        )
    return None


def _read_only(name: str, owner: str, failure: Failure) -> tuple[str, str] | None:
    """Return what is wrong with assigning to what cannot be written."""
    if owner.startswith("(") or "tuple" in owner:
        return f"{name!r} is a tuple, and its items cannot be assigned", "Use cuda.local.array(size, dtype)."
    if "setitem(readonly " not in failure.text and ", True, aligned" not in failure.text:
        return None
    if name in failure.names and name not in failure.source.local_names:
        return f"{name!r} is a global array, which is a constant in kernels", "To write to it, pass it as an argument."
    return f"{name!r} is a read-only array, and an item of it is assigned", "Pass an array that can be written."


def _wrong_value(owner: str, value: str) -> tuple[str, str]:
    item = owner.partition("[")[0]
    if value.endswith("]"):
        return f"an item is one {item}, and what is assigned to it is an array, {value}", _ITEM
    if value == "pyobject":
        return "its items are Python objects, which kernels cannot use", "Give the array a dtype of numbers."
    if value == "None":
        return f"None is assigned to an item of {owner}", "A function without a return statement returns None, too."
    if "complex" in value:
        return f"a {value} cannot be stored as {item}", "Take its .real or .imag, or abs(...) of it."
    return f"{value} cannot be stored as {item}", f"Assign a number: an item of {owner} is one {item}."


def truth(failure: Failure) -> Finding | None:
    """An array as a condition."""
    return _truth(failure) if _is_truth(failure) else None


def _is_truth(failure: Failure) -> bool:
    return failure.operation is not None and failure.operation.name in ("bool", "truth")


def _truth(failure: Failure) -> Finding:
    node = next((one.test for one in failure.source.nodes if isinstance(one, ast.If | ast.While | ast.IfExp)), None)
    kind = (*(failure.operation.arguments if failure.operation else ()), "this")[0]
    sentence = f"a condition must be one value, and {text_of(node) or 'this'} is {kind}"
    return Finding(sentence=sentence, advice=_ITEM, node=node)


def containers(failure: Failure) -> Finding | None:
    """A list, dict or set that something is done with."""
    arguments = failure.operation.arguments if failure.operation is not None else ()
    kind = next((one for one in arguments if one in ("list", "dict", "set")), None)
    if kind is None:
        return None
    kinds = {"list": ast.List, "dict": ast.Dict, "set": ast.Set}
    node = next((node for node in failure.source.nodes if isinstance(node, kinds[kind])), None)
    return Finding(sentence=f"a {kind} cannot be used in a kernel", advice=ways_round(kind), node=node)


def undefined_method(failure: Failure) -> Finding | None:
    """A method that numba knows the types of, and has no code for."""
    found = re.match(r"^No definition for lowering (?P<name>[\w.]+)\(", failure.words)
    if found is None:
        return None
    node = _called(failure)
    return Finding(sentence=f"{text_of(node) or found['name']} is not available in kernels", advice=_NUMPYS, node=node)


def operators(failure: Failure) -> Finding | None:
    """An operator between types that have none."""
    operation = failure.operation
    if operation is None:
        return None
    arguments = operation.arguments
    sign = {**_BINARY, **_INPLACE}.get(operation.name)
    if sign is not None and len(arguments) == 2:
        node = _operator_node(failure)
        left, right = arguments if sign != "in" else reversed(arguments)
        return Finding(
            sentence=f"{left} {sign} {right} is not possible in a kernel", advice=_for_types(sign, arguments), node=node
        )
    if operation.name in _UNARY and len(arguments) == 1:
        node = next(failure.source.of(ast.UnaryOp), None)
        return Finding(sentence=f"{_UNARY[operation.name]}{arguments[0]} is not possible in a kernel", node=node)
    return None


def _operator_node(failure: Failure) -> ast.AST | None:
    kinds: tuple[type[ast.AST], ...] = (ast.BinOp, ast.AugAssign, ast.Compare)
    return next((node for node in failure.source.nodes if isinstance(node, kinds)), None)


def _for_types(sign: str, arguments: tuple[str, ...]) -> str:
    if any(one.endswith("]") for one in arguments):
        return _ITEM if sign != "@" else "Write the loops: a kernel computes one item of the product in each thread."
    if "None" in arguments:
        return "One of them is None: a function without a return statement, or a global that is not assigned yet."
    if any(one == "str" or one[:1] in "'\"" for one in arguments):
        return "Texts are for print(...) in kernels: give it several values instead."
    if any(one.startswith("float") for one in arguments) and sign in ("&", "|", "^", "<<", ">>"):
        return "Bits are those of whole numbers: write int(x)."
    return ""


def calls(failure: Failure) -> Finding | None:
    """A call of a function that kernels do not have, or not for such arguments."""
    operation = failure.operation
    if operation is None:
        return None
    node = _called(failure)
    name = text_of(node.func) if node is not None else operation.name
    given = f"{name}({', '.join(operation.arguments)})"
    reason = _reason(failure)
    if reason:
        return Finding(sentence=f"{given}: {reason}", advice="", node=node)
    sentence = f"{given} is not available in kernels"
    return Finding(sentence=sentence, advice=_instead(name, operation, failure), node=node)


def numpys(failure: Failure) -> Finding | None:
    """A function of NumPy, or an operator that stands for one, that fails in other words than its types."""
    if not _LINEAR.search(failure.text):
        return None
    calls = (node for node in failure.source.of(ast.Call) if text_of(node.func).startswith(("np.", "numpy.")))
    products = (node for node in failure.source.of(ast.BinOp) if isinstance(node.op, ast.MatMult))
    node = next(calls, None) or next(products, None)
    sentence = f"{text_of(node) or 'linear algebra'} is not available in kernels"
    return Finding(sentence=sentence, advice=_NUMPYS, node=node)


def _called(failure: Failure) -> ast.Call | None:
    """Return the call that numba names, or the first of the line."""
    found = tuple(failure.source.of(ast.Call))
    name = failure.operation.name.rpartition(".")[2] if failure.operation else ""
    return next((call for call in found if text_of(call.func).rpartition(".")[2] == name), found[0] if found else None)


def _reason(failure: Failure) -> str:
    """Return why it is refused, if that is said in words for users, and candidates do not contradict each other."""
    if any(_OF_NUMBA.search(one) or shows_insides(one, failure) for one in failure.reasons):
        return ""
    reason = next(iter(failure.reasons), "")
    return reason[:1].lower() + reason[1:] if reason[:2].istitle() else reason


def _instead(name: str, operation: Operation, failure: Failure) -> str:
    node = _called(failure)
    value: Any = failure.value(node.func) if node is not None else None
    if any(one[:1] in "'\"" or one == "str" for one in operation.arguments):
        return "Texts are for print(...) in kernels."
    module = str(getattr(value, "__module__", "") or "")
    if module.startswith("numpy") or isinstance(value, ModuleType) or name.startswith(("np.", "numpy.")):
        return _NUMPYS
    if ".atomic." in name:
        return "It takes an array of a type that it knows (int32, int64, float32, ...), an index and a value."
    if any(one.endswith("]") for one in operation.arguments):
        return _ITEM
    return "Look at the types of its arguments: each must be one that the function takes."


RULES = (truth, numpys, allocation, items, containers, undefined_method, operators)
LAST = (calls,)
