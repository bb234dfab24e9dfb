"""Operations: operators, items and calls that do not exist for the types that they are given."""

from __future__ import annotations

import ast
import inspect
import re
from types import ModuleType
from typing import Any, Final

import numpy as np

from gridjit.compiler.frontend.explained.failure import FailedOperation, Failure
from gridjit.compiler.frontend.explained.plain import shows_insides
from gridjit.compiler.frontend.explained.rules.allocations import allocation
from gridjit.compiler.frontend.explained.rules.called import builtin, called, numpy_call, of_string
from gridjit.compiler.frontend.explained.rules.cases import atomics_text, cases_text, not_called
from gridjit.compiler.frontend.explained.rules.finding import ITEM, Finding, near, ways_round
from gridjit.compiler.frontend.explained.rules.spelling import spelled
from gridjit.compiler.frontend.explained.source import text_of
from gridjit.compiler.frontend.explained.types_said import is_array

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
# Operators of Python's trees that are told apart on a line that has several.
_SIGNS: Final[dict[str, type[ast.operator]]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "@": ast.MatMult,
}
_NUMPYS = "Write a loop over the items, or compute it before the launch."
_NUMBER_OF_ARGUMENTS = re.compile(r"(?:too many|missing|got an unexpected|got multiple)\b")
_UNLIKE = re.compile(r"Typing signature: +(?P<overload>\(.*\))\s+Implementation signature: +(?P<returned>\(.*\))")
_LINEAR = re.compile(r"scipy .* is required|unsupported NumPy function|\bBLAS\b|\bLAPACK\b")
# Reasons of candidates that speak of numba's own code.
_OF_NUMBA = re.compile(r"argument names|pipeline|Untyped|[Uu]nsupported|argument 'name' must be|Unknown attribute")
_DTYPE: Final = re.compile(r"Invalid NumPy dtype specified: '(?P<name>.*)'$")
_DTYPES: Final = tuple(dict.fromkeys(np.dtype(code).name for code in "?bhilqBHILQefdFD"))
_IS_NONE = "One of them is None: a function without a return statement, or a global that is not assigned yet."
_ALL_OF_IT = "Write x[:] for all items of an array x of one dimension, or x itself."
_TYPES = "Look at the types of its arguments: each must be one that the function takes."


def not_supported(failure: Failure) -> Finding | None:
    """Return the finding on a call at which the compiler fails without words for users."""
    if (known := builtin(failure) or of_string(failure)) is not None:
        return known
    if (raised := next(failure.source.of(ast.Raise), None)) is not None:
        advice = "Raise an exception: raise ValueError('...')."
        return Finding(sentence=f"{text_of(raised)} is not possible in a kernel", advice=advice, node=raised)
    if (node := numpy_call(failure)) is None:
        return None
    arrays = any(getattr(failure.argument(one.id), "ndim", 0) for one in node.args if isinstance(one, ast.Name))
    advice = "" if arrays else spelled(text_of(node.func).rpartition(".")[2])
    return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=advice or _NUMPYS, node=node)


def truth(failure: Failure) -> Finding | None:
    """An array as a condition."""
    return _truth(failure) if _is_truth(failure) else None


def _is_truth(failure: Failure) -> bool:
    operation = failure.operation
    return operation is not None and not operation.is_written and operation.name in ("bool", "truth")


def _truth(failure: Failure) -> Finding:
    node = next(
        (one.test for one in failure.source.nodes if isinstance(one, ast.If | ast.While | ast.IfExp | ast.Assert)), None
    )
    kind = (*(failure.operation.arguments if failure.operation else ()), "this")[0]
    sentence = f"a condition must be one value, and {text_of(node) or 'this'} is {kind}"
    return Finding(sentence=sentence, advice=ITEM, node=node)


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
    node = called(failure)
    if node is not None and "cuda" in text_of(node.func).split("."):
        given = ", ".join(map(text_of, node.args))  # numba's own words may name a type that it tried instead
        sentence = f"{text_of(node.func)} does not take the type{'s' * (len(node.args) > 1)} of {given or 'nothing'}"
        return Finding(sentence=sentence, advice="Convert what is given, as in int(x).", node=node)
    whole = next((one for one in failure.source.of(ast.Subscript) if text_of(one.slice) == "..."), None)
    if whole is not None:
        return Finding(sentence=f"{text_of(whole)} is not possible in a kernel", advice=_ALL_OF_IT, node=whole)
    return _new_axis(failure) or Finding(
        sentence=f"{text_of(node) or found['name']} is not available in kernels", advice=_NUMPYS, node=node
    )


def _new_axis(failure: Failure) -> Finding | None:
    """An array that is indexed with None alone."""
    for node in failure.source.of(ast.Subscript):
        index = node.slice
        is_none = isinstance(index, ast.Constant) and index.value is None
        if is_none or (isinstance(index, ast.Attribute) and index.attr == "newaxis"):
            return Finding(
                sentence=f"{text_of(node)} is not possible in a kernel",
                advice=f"Write the other axes, too: {text_of(node.value)}[{text_of(index)}, :]",
                node=node,
            )
    return None


def operators(failure: Failure) -> Finding | None:
    """An operator between types that have none."""
    operation = failure.operation
    if operation is None or operation.is_written:
        return None
    arguments = operation.arguments
    sign = {**_BINARY, **_INPLACE}.get(operation.name)
    if sign is not None and len(arguments) == 2:
        node = _operator_node(failure, sign)
        left, right = arguments if sign != "in" else reversed(arguments)
        advice = _stronger(failure, sign) or _of_a_shape(node) or _for_types(sign, arguments)
        return Finding(sentence=f"{left} {sign} {right} is not possible in a kernel", advice=advice, node=node)
    if operation.name in _UNARY and len(arguments) == 1:
        node = next(failure.source.of(ast.UnaryOp), None)
        sign = _UNARY[operation.name]
        sentence = f"{sign}{arguments[0]} is not possible in a kernel"
        return Finding(sentence=sentence, advice=_for_types(sign, arguments), node=node)
    return None


def _stronger(failure: Failure, sign: str) -> str:
    """Return the way on where & or | was meant to join comparisons, and joins the operands between them."""
    names = {"&": ("and", ast.BitAnd), "|": ("or", ast.BitOr)}
    if sign not in names:
        return ""
    word, kind = names[sign]
    for one in failure.source.of(ast.Compare):
        if any(isinstance(side, ast.BinOp) and isinstance(side.op, kind) for side in (one.left, *one.comparators)):
            return f"{sign} is stronger than a comparison: write {word}, or (a < b) {sign} (c < d)."
    return ""


def _of_a_shape(node: ast.AST | None) -> str:
    """Return the way on where a shape is compared or computed with, in place of one of its numbers."""
    sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
    shape = next((one for one in sides if isinstance(one, ast.Attribute) and one.attr == "shape"), None)
    return f"Write {text_of(shape)}[0], or {text_of(shape.value)}.size for all items." if shape is not None else ""


def _operator_node(failure: Failure, sign: str) -> ast.AST | None:
    """Return the expression of an operator: its own, or else the first of the line."""
    kinds: tuple[type[ast.AST], ...] = (ast.BinOp, ast.AugAssign, ast.Compare)
    found = [node for node in failure.source.nodes if isinstance(node, kinds)]
    own = (node for node in found if isinstance(getattr(node, "op", None), _SIGNS.get(sign, ())))
    return next(own, found[0] if found else called(failure))


def _for_types(sign: str, arguments: tuple[str, ...]) -> str:
    if any(map(is_array, arguments)):
        return ITEM if sign != "@" else "Write the loops: a kernel computes one item of the product in each thread."
    if "None" in arguments:
        return _IS_NONE
    if "Dim3" in arguments:
        return "Write its x, y or z, as in cuda.blockDim.x."
    if any(one.startswith("(") for one in arguments):
        return "Work on the items of the tuple, as in t[0]."
    if sign == "@":
        return "Write * for the product of two numbers."
    if any(one == "str" or one[:1] in "'\"" for one in arguments):
        return "Strings are for print(...) in kernels: give it several values instead."
    if any(one.startswith("enum ") for one in arguments):
        return "Kernels compare members of an enum: for their numbers, write .value behind each that is of the enum."
    if any(one.startswith(("<U", "|S")) for one in arguments):
        return "Kernels compare and assign strings: do everything else before the launch."
    if any(one.startswith(("datetime64", "timedelta64")) for one in arguments):
        return "Give the other as a timedelta64: an argument, or a global such as STEP = np.timedelta64(1, 's')."
    if any(one.startswith("float") for one in arguments) and sign in ("&", "|", "^", "<<", ">>", "~"):
        return "Bits are those of whole numbers: write int(x)."
    if any(one.startswith("complex") for one in arguments) and sign in ("<", "<=", ">", ">="):
        return "Complex numbers have no order: compare their .real, or abs(x)."
    return ""


def calls(failure: Failure) -> Finding | None:
    """A call of a function that kernels do not have, or not for these arguments."""
    operation = failure.operation
    if operation is None:
        return None
    node = called(failure)
    name = text_of(node.func) if node is not None else operation.name
    given = f"{name}({', '.join(operation.arguments)})"
    if (function := not_called(failure, node) or of_string(failure)) is not None:
        return function
    if (unlike := _UNLIKE.search(failure.text)) is not None:
        sentence = f"{name} has the parameters {unlike['overload']}, and its code for kernels has {unlike['returned']}"
        advice = f"Give the function that its overload returns the parameters {unlike['overload']}."
        return Finding(sentence=sentence, advice=advice, node=node)
    reason = _reason(failure)
    if _NUMBER_OF_ARGUMENTS.match(reason):
        if "cuda." in name:
            return _misspelt(failure, node) or Finding(
                sentence=f"{name}({_written(node)}): {reason}", advice=f"help({name}) says what it takes.", node=node
            )
        reason = reason if node is not None and _cannot_be_called_so(failure, node) else ""
    if (dtype := _DTYPE.match(reason)) is not None:
        meant = near(dtype["name"], _DTYPES)
        return Finding(
            sentence=f"{name} is given {dtype['name']!r}, which is not a dtype",
            advice=f"Did you mean {meant!r}?" if meant else "Give one like np.float32, or its name, 'float32'.",
            node=node,
        )
    if reason:
        return Finding(sentence=f"{given}: {reason}", advice=f"help({name}) says what it takes.", node=node)
    sentence = f"{given} is not available in kernels"
    return Finding(sentence=sentence, advice=_instead(name, operation, failure), node=node)


def _misspelt(failure: Failure, node: ast.Call | None) -> Finding | None:
    """Return the finding on a call that names a parameter which the function does not have."""
    if node is None:
        return None
    try:
        taken = inspect.signature(failure.value(node.func)).parameters
    except (TypeError, ValueError):
        return None
    unknown = next((one.arg for one in node.keywords if one.arg and one.arg not in taken), None)
    if unknown is None or any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return None
    meant, name = near(unknown, taken), text_of(node.func)
    return Finding(
        sentence=f"{name} does not have a parameter {unknown!r}",
        advice=f"Did you mean {meant}=?" if meant else f"It takes {', '.join(taken)}.",
        node=node,
    )


def _cannot_be_called_so(failure: Failure, node: ast.Call) -> bool:
    """Return whether Python, too, would refuse the number of arguments: else it is of one way to call it among many."""
    try:
        taken = inspect.signature(failure.value(node.func))
    except (TypeError, ValueError):
        return False
    try:
        taken.bind(*node.args, **{one.arg: one.value for one in node.keywords if one.arg})
    except TypeError:
        return True
    return False


def _written(node: ast.Call | None) -> str:
    """Return a call's arguments as the user writes them."""
    if node is None:
        return "..."
    return ", ".join([*map(text_of, node.args), *(f"{one.arg or '**'}={text_of(one.value)}" for one in node.keywords)])


def numpys(failure: Failure) -> Finding | None:
    """A function of NumPy, or an operator that stands for one, that fails in other words than its types."""
    if not _LINEAR.search(failure.text):
        return None
    calls = (node for node in failure.source.of(ast.Call) if text_of(node.func).startswith(("np.", "numpy.")))
    products = (node for node in failure.source.of(ast.BinOp) if isinstance(node.op, ast.MatMult))
    values = (node for node in failure.source.of(ast.Attribute) if text_of(node).startswith(("np.", "numpy.")))
    if (node := next(calls, None) or next(products, None) or next(values, None)) is None:
        return None
    advice = "" if isinstance(node, ast.Attribute) else _NUMPYS
    return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=advice, node=node)


def _reason(failure: Failure) -> str:
    """Return why it is refused, if that is said in words for users, and candidates do not contradict each other."""
    if any(_OF_NUMBA.search(one) or shows_insides(one, failure) for one in failure.reasons):
        return ""
    return next(iter(failure.reasons), "")  # as it was written: programs may match it


def _instead(name: str, operation: FailedOperation, failure: Failure) -> str:
    node = called(failure)
    value: Any = failure.value(node.func) if node is not None else None
    if any(one[:1] in "'\"" or one == "str" for one in operation.arguments):
        return "Strings are for print(...) in kernels."
    module = str(getattr(value, "__module__", "") or "")
    if module.startswith("numpy") or isinstance(value, ModuleType) or name.startswith(("np.", "numpy.")):
        number = "" if any(map(is_array, operation.arguments)) else spelled(name.rpartition(".")[2])
        return number or _NUMPYS
    if any(map(is_array, operation.arguments)) and ".atomic." not in name:
        return ITEM
    if name == "math.log" and len(operation.arguments) == 2:
        return "Write math.log(x) / math.log(base)."
    if name.startswith("math.") and any(one.startswith("complex") for one in operation.arguments):
        return f"Use c{name}."
    if "None" in operation.arguments:
        return _IS_NONE
    return atomics_text(name) or cases_text(failure) or _TYPES


RULES = (truth, numpys, allocation, containers, undefined_method, operators)
LAST = (calls,)
