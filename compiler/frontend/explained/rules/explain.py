"""explain: the diagnosis of a failed compile, for every error of the front end."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Final

from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.explained.diagnosis import Diagnosis, Step
from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.plain import shows_insides, speaks_to_users
from gridjit.compiler.frontend.explained.rules import (
    calls,
    constructs,
    functions,
    items,
    libraries,
    names,
    operations,
    shapes,
)
from gridjit.compiler.frontend.explained.rules.finding import Finding
from gridjit.compiler.frontend.explained.source import columns_of, function_at, text_of
from gridjit.compiler.frontend.explained.types_said import call_text
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target

# The first rule that knows the failure explains it: rules on one name or value before rules on a whole line.
_RULES: Final[tuple[Callable[[Failure], Finding | None], ...]] = (
    calls.mismatch,
    names.undefined,
    shapes.without_axes,
    *libraries.RULES,
    *names.RULES,
    *constructs.RULES,
    *shapes.RULES,
    *functions.RULES,
    *calls.RULES,
    constructs.construct,
    *items.RULES,
    items.unaligned,
    items.divided_in_place,
    *operations.RULES,
    *operations.LAST,
    constructs.around,
    functions.lambda_given,
)
_TELLING: Final = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.Attribute)
_FULL = "GRIDJIT_TRACEBACK=full shows what the compiler said."


def explain(function: Callable[..., Any], signature: Signature, target: Target, error: BaseException) -> Diagnosis:
    """Return why a kernel does not compile. If a rule fails, the diagnosis is a plain one."""
    failure = Failure.of(function, error, signature)
    found = _found(failure)
    return Diagnosis(
        kernel=call_text(_name(function), signature),
        target=str(target),
        steps=tuple(_steps(failure, found.node)),
        sentence=found.sentence,
        advice=found.advice,
    )


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.rpartition("<locals>.")[2]


def _found(failure: Failure) -> Finding:
    for rule in _RULES:
        try:
            found = rule(failure)
        except Exception as error:  # of a rule: the words of numba are still worth something
            let_through(error)
            continue
        if found is not None and not shows_insides(found.sentence, failure):
            return found
    return _general(failure)


def _general(failure: Failure) -> Finding:
    """Return a finding on a failure without a rule: the error's words if they are for users, or the line itself."""
    told = not shows_insides(failure.words, failure)
    if failure.refused and told:
        return Finding(sentence=failure.words)
    node = _telling(failure)
    if failure.failed:
        kind = type(failure.error).__name__
        if told:
            return Finding(sentence=f"{kind}: {failure.words}", node=node)
        return Finding(sentence=f"{text_of(node) or 'this line'} raises {kind}", advice=_FULL, node=node)
    if speaks_to_users(failure):
        return Finding(sentence=failure.words, advice="" if isinstance(failure.error, GridjitError) else _FULL)
    if (known := operations.not_supported(failure)) is not None:
        return known
    sentence = f"the compiler does not support {text_of(node) or 'this'}"
    return Finding(sentence=sentence, advice=_FULL, node=node or next(failure.source.of(ast.stmt), None))


def _telling(failure: Failure) -> ast.AST | None:
    """Return the expression that a line without a rule is most likely about."""
    missing = getattr(failure.error, "name", None) if isinstance(failure.error, AttributeError) else None
    found = next((node for node in failure.source.of(ast.Attribute) if node.attr == missing), None)
    return found or next((node for kind in _TELLING for node in failure.source.of(kind) if _is_read(node)), None)


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _steps(failure: Failure, node: ast.AST | None) -> Iterator[Step]:
    *outer, inner = failure.places
    line = node.lineno if isinstance(node, ast.expr | ast.stmt | ast.arg) else inner.line
    shown = {(inner.path, inner.line), (inner.path, line)}
    once = dict.fromkeys(place for place in outer if (place.path, place.line) not in shown)
    for place in once:  # functions that call themselves are there many times
        yield Step(path=place.path, line=place.line, function=function_at(place.path, place.line))
    columns = columns_of(inner.path, node) if node is not None else None
    yield Step(path=inner.path, line=line, function=function_at(inner.path, line), columns=columns)
