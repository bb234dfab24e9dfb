"""Allocations: arrays and texts that would need new memory while a kernel runs."""

from __future__ import annotations

import ast
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.called import builtin, called, numpy_call, of_string
from gridjit.compiler.frontend.explained.rules.finding import ITEM, WHOLE, Finding
from gridjit.compiler.frontend.explained.rules.items import masked
from gridjit.compiler.frontend.explained.rules.spelling import allocating
from gridjit.compiler.frontend.explained.source import text_of

_ALLOCATES = ("NRT required but not enabled", "Only accept returning of array", "_ol_array_allocate")
_RETURNED = "Only accept returning of array"
# Functions and methods of an array whose result is one number.
_TO_ONE = ("all", "any", "mean", "prod", "ptp", "std", "sum", "var")
_LOOP = "Write a loop over the items."
_ARRAYS = (
    "A kernel works on items: write a loop that stores each in an array that is an argument, or in "
    "cuda.local.array(shape, dtype); or do it outside of the kernel, with NumPy or CuPy."
)
# Operators of arrays that kernels do not have even if they may allocate.
_NEVER: Final = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.USub)
# Functions of NumPy that make arrays even of numbers, with the expression for numbers.
_OF_NUMBERS: Final = {"where": "a if condition else b", "clip": "min(max(x, low), high)"}
_ENABLE = "Kernels may allocate with NUMBA_CUDA_ENABLE_NRT=1, or numba.cuda.config.CUDA_ENABLE_NRT = True"


def allocation(failure: Failure) -> Finding | None:
    """An array, or a text, that would have to be allocated while the kernel runs."""
    if not any(sign in failure.text for sign in _ALLOCATES):
        return None
    if (known := builtin(failure) or of_string(failure)) is not None:
        return known
    if ("unicode" in failure.text or "_empty_string" in failure.text) and not numpy_call(failure):
        node = next(failure.source.of(ast.Call), None) or next(failure.source.of(ast.BinOp), None)
        return Finding(
            sentence="strings cannot be made in a kernel", advice="print(...) takes several values.", node=node
        )
    if _RETURNED in failure.words and (returned := _returned(failure)) is not None:
        return _returned_array(failure, returned)
    if (copies := _copied(failure)) is not None:
        return copies
    allocates = _allocates(failure)
    if isinstance(allocates, ast.Subscript):
        sentence, advice = masked(text_of(allocates.value))
        return Finding(sentence=sentence, advice=advice, node=allocates)
    if (method := _of_a_container(failure, allocates)) is not None:
        return method
    name = text_of(allocates.func) if isinstance(allocates, ast.Call) else ""
    if name.endswith("const.array_like"):
        return Finding(
            sentence=f"{name} takes an array that exists when the kernel is compiled",
            advice="Make it outside of the kernel, as a global: TABLE = np.array(...).",
            node=allocates,
        )
    instead = _instead(failure, allocates)
    return Finding(
        sentence=f"{text_of(allocates) or 'this line'} needs new memory, and kernels do not allocate any",
        advice=f"{instead} {_ENABLE}." if _may_allocate(failure, allocates) else instead,
        node=allocates,
    )


def _instead(failure: Failure, node: ast.AST | None) -> str:
    """Return advice in place of an expression that makes an array."""
    if not isinstance(node, ast.Call):
        if isinstance(node, ast.List) and any(failure.source.of(ast.Slice)):
            return "Write a tuple."
        return _row(node) or (WHOLE if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare) else _ARRAYS)
    name = text_of(node.func)
    last, is_numpys = name.rpartition(".")[2], name.startswith(("np.", "numpy."))
    if not is_numpys and any(isinstance(one, ast.List) for one in node.args):
        return "Write a tuple."
    if (extreme := last.removeprefix("a")) in ("max", "min"):
        return f"For an array x of one dimension, write {extreme}(x)."
    if is_numpys and (numbers := _OF_NUMBERS.get(last)):
        return f"Of numbers, write {numbers}."
    if last in _TO_ONE:
        return _LOOP
    return ITEM if ".atomic." in name else _ARRAYS


def _row(node: ast.AST | None) -> str:
    """Return advice where an item of an array is itself an array, as it is indexed in fewer dimensions than it has."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    rows = [one for one in sides if isinstance(one, ast.Subscript)]
    parts = (part for row in rows for part in ast.walk(row))
    if not rows or any(isinstance(part, ast.Slice) for part in parts):
        return ""
    if not all(isinstance(one, ast.Subscript | ast.Constant) for one in sides):
        return ""
    return f"{text_of(rows[0])} is not one number here: index each dimension, as in x[i, j]."


def _may_allocate(failure: Failure, node: ast.AST | None) -> bool:
    """Return whether kernels have an operation on arrays where they may allocate."""
    if not isinstance(node, ast.Call):
        operators = (getattr(one, "op", None) for one in ast.walk(node)) if node is not None else ()
        return not any(isinstance(one, _NEVER) for one in operators)
    text = text_of(node.func)
    name = text.rpartition(".")[2]
    whole = f"np.{name}" if text.startswith(("np.", "numpy.")) else f"array.{name}"
    return whole in allocating() or not isinstance(node.func, ast.Attribute)


def _of_a_container(failure: Failure, call: ast.AST | None) -> Finding | None:
    """A method of a list that is a global."""
    owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    if owner is None or not isinstance(kept := failure.value(owner), list | dict | set):
        return None
    sentence = f"{text_of(owner)!r} is a {type(kept).__name__}, which kernels cannot use"
    return Finding(sentence=sentence, advice="Use a tuple or a NumPy array, and a loop.", node=owner)


def _returned(failure: Failure) -> ast.Return | None:
    """Return the statement by which the innermost function returns a value, unless a call of the failing line does."""
    if failure.places[-1].exact and not any(isinstance(node, ast.Return) for node in failure.source.nodes):
        return None
    function = failure.source.function
    returns = (node for node in ast.walk(function) if isinstance(node, ast.Return)) if function else ()
    return next((node for node in returns if node.value is not None), None)


def _returned_array(failure: Failure, node: ast.Return) -> Finding:
    function = failure.source.function
    return Finding(
        sentence=f"{function.name if function else 'a function'} returns an array that it made itself",
        advice="Make the array where the function is called, and pass it: the function writes its items.",
        node=node,
    )


def _copied(failure: Failure) -> Finding | None:
    """Return the finding on an array that is assigned to items of another array."""
    for node in failure.source.of(ast.Assign):
        target, value = node.targets[0], node.value
        is_copy = isinstance(target, ast.Subscript) and isinstance(value, ast.Name | ast.Subscript)
        if is_copy and not any(isinstance(one, ast.Call | ast.Compare) for one in ast.walk(node)):
            into, source = text_of(target), text_of(value)
            loop = f"for k in range(len({source})): {into}[k] = {source}[k]"
            return Finding(
                sentence=f"{into} = {source} copies an array by way of new memory, and kernels do not allocate any",
                advice=f"Write a loop over the items: {loop}. {_ENABLE}.",
                node=target,
            )
    return None


def _allocates(failure: Failure) -> ast.AST | None:
    """Return the expression of a line that makes an array: a call, a mask as an index, a list, or an operator."""
    if (call := called(failure)) is not None:
        return call
    if (items := _masked(failure)) is not None:
        return items
    kinds = ast.BinOp | ast.UnaryOp | ast.List | ast.Compare
    return next((node for node in failure.source.nodes if isinstance(node, kinds)), None)


def _masked(failure: Failure) -> ast.Subscript | None:
    """Return the expression that takes the items of an array for which a comparison is true."""
    return next((one for one in failure.source.of(ast.Subscript) if isinstance(one.slice, ast.Compare)), None)
