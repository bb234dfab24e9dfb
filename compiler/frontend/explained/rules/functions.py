"""Functions: their results, functions as values, functions defined in kernels; names bound in expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding
from gridjit.compiler.frontend.explained.source import FunctionNode, text_of

_RETURNS = re.compile(r"^Can't unify return type from the following types: (?P<types>.+?)(?: Return of:|$)")
_UNTYPED = re.compile(r"^(?:Type of variable .*cannot be determined|Undecided type)")
_ASSIGNED = re.compile(r"^No definition for lowering (?P<type>\w+)\.(?P<name>\w+) = ")
_CELL: Final = "Unsupported use of cell variable"
_OUTSIDE: Final = "Write it outside of the kernel, under @cuda.jit(device=True), and pass it what it needs."


def returned_types(failure: Failure) -> Finding | None:
    """A function that returns values of several types."""
    if (found := _RETURNS.match(failure.words)) is None:
        return None
    function = failure.source.function
    name = function.name if function is not None else "a function"
    returns = [node for node in _all(failure) if isinstance(node, ast.Return)]
    return Finding(
        sentence=f"{name!r} returns values of several types: {found['types'].rstrip(',')}",
        advice="A function has one type of result in a kernel: convert them to one, or write two functions.",
        node=next(iter(returns), None),
    )


def bound(failure: Failure) -> Finding | None:
    """A name that is bound within an expression, where the types of its parts cannot be found."""
    if not _UNTYPED.match(failure.words):
        return None
    node = next((one for one in (*failure.source.nodes, *_all(failure)) if isinstance(one, ast.NamedExpr)), None)
    if node is None:
        return None
    return Finding(
        sentence=f"the type of {text_of(node.target)} cannot be found where := assigns it",
        advice=f"Write {text_of(node.target)} = {text_of(node.value)} on a line before.",
        node=node,
    )


def inner(failure: Failure) -> Finding | None:
    """A function that is defined in a kernel, and calls itself or assigns variables around it."""
    if not failure.words.startswith(_CELL):
        return None
    functions = [
        node for node in _all(failure) if isinstance(node, FunctionNode) and node is not failure.source.function
    ]
    recursive = next((node for node in functions if _calls_itself(node)), None)
    if recursive is not None:
        sentence = f"{recursive.name!r} is defined in a kernel, and such a function cannot call itself"
        return Finding(sentence=sentence, advice=_OUTSIDE, node=recursive)
    node = next(iter(functions), None)
    named = f"{node.name!r}" if node is not None else "a function"
    sentence = f"{named} is defined in a kernel, and uses variables around it in a way that kernels do not support"
    return Finding(sentence=sentence, advice=_OUTSIDE, node=node)


def _calls_itself(function: FunctionNode) -> bool:
    return any(isinstance(node, ast.Name) and node.id == function.name for node in ast.walk(function))


def attribute_assigned(failure: Failure) -> Finding | None:
    """An attribute that can be read only, such as cuda.threadIdx.x."""
    if (found := _ASSIGNED.match(failure.words)) is None:
        return None
    targets = (one for one in failure.source.of(ast.Attribute) if isinstance(one.ctx, ast.Store))
    node = next((one for one in targets if one.attr == found["name"]), None)
    return Finding(
        sentence=f"{text_of(node) or found['name']} can be read, and not assigned",
        advice="Assign a variable of your own.",
        node=node,
    )


def lambda_given(failure: Failure) -> Finding | None:
    """A function without a name that is given to another, or kept in a list."""
    for node in failure.source.of(ast.Call):
        given = (*node.args, *(one.value for one in node.keywords))
        if any(isinstance(one, ast.Lambda) for one in given):
            sentence = f"{text_of(node.func)} cannot be given a function in a kernel"
            return Finding(sentence=sentence, advice="Write a loop.", node=node)
    return None


def _all(failure: Failure) -> Iterator[ast.AST]:
    return ast.walk(failure.source.function or ast.Module([], []))


RULES = (returned_types, bound, inner, attribute_assigned)
