"""Shapes: of shared and local arrays, which must be known when a kernel is compiled."""

from __future__ import annotations

import ast
import re
from typing import Final, TypeGuard

import numpy as np

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import WHOLE, Finding
from gridjit.compiler.frontend.explained.source import text_of
from gridjit.compiler.values.errors import a_class

# The front end's words on a shape with zero or fewer items.
_EMPTY: Final = "array length <= 0"
_WITHOUT_AXES: Final = re.compile(r"[\w.]+\[\]")
# The error's words on a constant of the launch where there is none.
_NEEDED: Final = re.compile(r"gridjit\.(?P<name>static\.[\w.]+) needs a launch configuration")
_ASKED: Final = "No launch config set for this thread"  # numba-cuda's own words
_WITH_LAUNCH: Final = "A configuration is (grid, block[, sharedmem]); gridjit warm takes --config grid=4,block=128."
_MAKERS: Final = {"cuda.shared.array": "shared", "cuda.local.array": "local"}
_LAUNCH: Final = ("blockDim", "gridDim")
_DYNAMIC = "or shape 0 for the launch's dynamic shared memory: kernel[grid, block, stream, bytes]."
_MAY_BE = (
    "A shape may be a number, a global constant, gridjit.static.blockDim.x, arithmetic with these, or a tuple of these"
)


def shape(failure: Failure) -> Finding | None:
    """A shared or local array whose shape is only known while the kernel runs."""
    operation = failure.operation
    space = _MAKERS.get(operation.name) if operation is not None else None
    call = _call(failure) if space is not None else None
    if operation is None or call is None or space is None or failure.reasons:
        return None
    given = _shape_of(call)
    if _is_known(given):
        sentence = f"{text_of(call)} is given a dtype that it does not support"
        return Finding(sentence=sentence, advice="Give one like np.float32, or its name, 'float32'.", node=call)
    sentence = f"the shape of a {space} array must be known when the kernel is compiled, and {_what(failure, given)}"
    return Finding(sentence=sentence, advice=_advice(space, given), node=given)


def empty(failure: Failure) -> Finding | None:
    """A shared or local array without items, or with less than none."""
    if failure.words != _EMPTY:
        return None
    calls = (
        call for call in failure.source.of(ast.Call) if text_of(call.func).endswith((".shared.array", "local.array"))
    )
    call = min(calls, key=lambda call: not _is_negative(failure, _shape_of(call)), default=None)
    given = _shape_of(call) if call is not None else None
    sentence = f"the shape of {text_of(call.func) if call is not None else 'an array'} is {text_of(given) or 'empty'}"
    shared = call is not None and "shared" in text_of(call.func)
    advice = (
        "Each dimension is at least 1." + " Shape 0 is the launch's dynamic shared memory, as one dimension." * shared
    )
    return Finding(sentence=f"{sentence}, and an array has at least one item", advice=advice, node=given)


def _is_negative(failure: Failure, given: ast.AST | None) -> bool:
    """Return whether a shape is seen to be negative: by its sign, or as the value of a global."""
    value = failure.value(given) if given is not None else None
    return "-" in text_of(given) or (isinstance(value, int) and value < 0)


def _shape_of(call: ast.Call) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == "shape"), call.args[0] if call.args else None)


def _call(failure: Failure) -> ast.Call | None:
    return next((call for call in failure.source.of(ast.Call) if text_of(call.func).endswith("array")), None)


def _is_known(given: ast.AST | None) -> bool:
    items = given.elts if isinstance(given, ast.Tuple) else [given]
    return all(isinstance(one, ast.Constant) and type(one.value) is int for one in items)


def _what(failure: Failure, given: ast.AST | None) -> str:
    """Return words for the part of a shape that is not known."""
    if given is None:
        return "none is given"
    if isinstance(given, ast.Constant):
        return f"{text_of(given)} is not a whole number"
    if isinstance(given, ast.List):
        return f"{text_of(given)} is a list: write a tuple"
    if (field := _launch_field(given)) is not None:
        return f"{text_of(field)} is read while it runs"
    for node in ast.walk(given):
        if isinstance(node, ast.Attribute) and node.attr in ("size", "shape"):
            return f"{text_of(node)} belongs to an array that differs between launches"
        if isinstance(node, ast.Call) and text_of(node.func) == "len":
            return f"{text_of(node)} differs between launches"
        if isinstance(node, ast.Name) and node.id in failure.source.parameters:
            return f"{node.id!r} is an argument"
        value = failure.value(node) if isinstance(node, ast.Name) else None
        if isinstance(value, np.integer):
            return f"{text_of(node)!r} is {a_class(type(value))}: write int(...) where it is assigned"
        if isinstance(value, float | np.floating):
            return f"{text_of(node)!r} is {a_class(type(value))}, {value}: divide with //, or write int(...)"
    return f"{text_of(given)!r} is computed while it runs"


def _launch_field(given: ast.AST) -> ast.Attribute | None:
    """Return cuda.blockDim.x in a shape, or another fact of the launch that is not a constant."""
    for node in ast.walk(given):
        text = text_of(node) if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Attribute) and "static." not in text and any(name in text for name in _LAUNCH):
            return node
    return None


def _advice(space: str, given: ast.AST | None) -> str:
    field = _launch_field(given) if given is not None else None
    if field is not None:
        name = next(name for name in _LAUNCH if name in text_of(field))
        axis = f".{field.attr}" if field.attr in ("x", "y", "z") else ".x"
        return f"Write gridjit.static.{name}{axis}, which is the launch's own as a constant (import gridjit)."
    return f"{_MAY_BE}; {_DYNAMIC}" if space == "shared" else f"{_MAY_BE}. Give the largest size that may be needed."


def launch_needed(failure: Failure) -> Finding | None:
    """A constant or a field of the launch, in a kernel that is compiled without one."""
    if failure.words == _ASKED:
        sentence = "this line needs a launch configuration: launch the kernel, or pass compile(..., config=...)"
        return Finding(sentence=sentence, advice=_WITH_LAUNCH)
    if (found := _NEEDED.match(failure.words)) is None:
        return None
    node = next((one for one in failure.source.of(ast.Attribute) if text_of(one).endswith(found["name"])), None)
    return Finding(sentence=failure.words, advice=_WITH_LAUNCH, node=node)


def without_axes(failure: Failure) -> Finding | None:
    """An array without axes where its value is meant."""
    node = _argument_without_axes(failure) or _operand_without_axes(failure)
    if node is None:
        return None
    name = text_of(node)
    sentence = f"{name!r} is an array without axes, and not a number"
    return Finding(sentence=sentence, advice=f"Write {name}[()] for its value.", node=node)


def operator_without_axes(failure: Failure) -> Finding | None:
    """An operator of arrays without axes, which numba-cuda takes for a ufunc that it does not have."""
    error = failure.error
    node = next(failure.source.of(ast.BinOp), None) or next(failure.source.of(ast.UnaryOp), None)
    if not (isinstance(error, KeyError) and error.args and isinstance(error.args[0], np.ufunc)) or node is None:
        return None
    named = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    if any(getattr(failure.argument(name), "ndim", 0) for name in named):  # of kernels that may allocate
        return Finding(sentence=f"{text_of(node)} would make a whole array", advice=WHOLE, node=node)
    sentence = f"{text_of(node)} has an array without axes, and not a number, as an operand"
    return Finding(sentence=sentence, advice="Write x[()] for the value of such an array x.", node=node)


def _argument_without_axes(failure: Failure) -> ast.AST | None:
    """Return the place where the line uses an argument without axes by its name alone."""
    if not failure.places[-1].exact:
        return None
    apart = [node.value for node in failure.source.nodes if isinstance(node, ast.Attribute) or _is_of_value(node)]
    named = (node for node in failure.source.of(ast.Name) if node not in apart)
    return next((node for node in named if getattr(failure.argument(node.id), "ndim", None) == 0), None)


def _is_of_value(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and not node.slice.elts


def _operand_without_axes(failure: Failure) -> ast.AST | None:
    """Return the operand that is an array without axes, by the types that the operation was given."""
    kinds = failure.operation.arguments if failure.operation is not None else ()
    at = next((at for at, kind in enumerate(kinds) if _WITHOUT_AXES.fullmatch(kind)), len(kinds))
    operands = (_operands(node) for node in failure.source.nodes)
    return next((found[at] for found in operands if len(found) == len(kinds) > at), None)


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.AugAssign():
            return [node.target, node.value]
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call():
            return node.args
    return []


RULES = (launch_needed, shape, empty, operator_without_axes)
