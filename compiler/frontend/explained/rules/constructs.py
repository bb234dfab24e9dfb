"""Constructs: parts of Python that kernels do not have, known by the tree of the function that does not compile."""

from __future__ import annotations

import ast
import re
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding, ways_round
from gridjit.compiler.frontend.explained.source import text_of

_LOCAL_ARRAY = ways_round("list")
_TRY: Final = getattr(ast, "TryStar", ast.Try)
# Node -> its name, and the way on.
_CONSTRUCTS: Final[tuple[tuple[tuple[type[ast.AST], ...], str, str], ...]] = (
    (
        (ast.Yield, ast.YieldFrom),
        "'yield' makes a generator, which kernels do not have",
        "Write the values to an array, out[i] = value, or write the loop where they are used.",
    ),
    ((ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith), "a kernel cannot be asynchronous", ""),
    (
        (ast.ListComp,),
        "a list comprehension makes a list, which kernels do not have",
        f"{_LOCAL_ARRAY} Fill it in a loop.",
    ),
    ((ast.DictComp, ast.Dict), "a dict cannot be made in a kernel", "Use arrays or tuples, indexed by numbers."),
    ((ast.SetComp, ast.Set), "a set cannot be made in a kernel", _LOCAL_ARRAY),
    ((ast.GeneratorExp,), "a generator expression does not work in kernels", "Write a loop."),
    (
        (ast.JoinedStr,),
        "an f-string makes a string, which kernels cannot do",
        "Give print several values: print('thread', i). Messages of exceptions must be constants.",
    ),
    (
        (ast.Try, _TRY),
        "try is not supported in kernels",
        "Test for the condition with if. With debug=True, what a kernel raises is raised by the launch.",
    ),
    ((ast.With,), "with is not supported in kernels", "Do what it does before or after the launch."),
    ((ast.ClassDef,), "a class cannot be defined in a kernel", "Use tuples, or a structured dtype."),
    ((ast.Import, ast.ImportFrom), "import is not possible in a kernel", "Import at the top of the module."),
    ((ast.Global,), "a kernel cannot assign a global", "Write results to an array that is an argument."),
    ((ast.Nonlocal,), "nonlocal is not supported in kernels", "Return the value and assign it."),
    (
        (ast.MatchMapping, ast.MatchClass, ast.MatchSequence, ast.MatchStar),
        "match compares with constants only in kernels",
        "Use if and elif.",
    ),
)
_OPCODE = re.compile(r"unsupported opcode|Unsupported|not supported|has no attribute", re.IGNORECASE)


def construct(failure: Failure) -> Finding | None:
    """A construct that kernels do not have, on the line that failed, or anywhere if the line is not known."""
    return _found(failure, failure.source.nodes)


def around(failure: Failure) -> Finding | None:
    """A construct around the line that failed: numba often stops within a construct that it could not begin."""
    if failure.source.function is None or not _OPCODE.search(failure.words):
        return None
    line = failure.source.line
    whole = (node for node in ast.walk(failure.source.function) if _spans(node, line))
    return _found(failure, tuple(whole)) or _found(failure, tuple(ast.walk(failure.source.function)))


def _spans(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0)


def _found(failure: Failure, nodes: tuple[ast.AST, ...]) -> Finding | None:
    for kinds, sentence, advice in _CONSTRUCTS:
        for node in nodes:
            if isinstance(node, kinds):
                return Finding(sentence=sentence, advice=advice, node=node)
    return None


def deleted(failure: Failure) -> Finding | None:
    """Something other than a variable that is deleted."""
    for node in failure.source.of(ast.Delete):
        if not all(isinstance(target, ast.Name) for target in node.targets):
            return Finding(
                sentence="del is for variables only in a kernel", advice="Arrays keep their size.", node=node
            )
    return None


def starred(failure: Failure) -> Finding | None:
    """A target with a star: it would be a list."""
    node = next((node for node in failure.source.of(ast.Starred) if isinstance(node.ctx, ast.Store)), None)
    if node is None:
        return None
    sentence = f"{text_of(node)} would be a list, which kernels do not have"
    return Finding(sentence=sentence, advice="Assign the items one by one.", node=node)


def returned(failure: Failure) -> Finding | None:
    """A value that a kernel returns."""
    found = re.match(r"^No conversion from (.+) to None\b", failure.words)
    if found is None:
        return None
    node = next((node for node in failure.source.of(ast.Return) if node.value is not None), None)
    return Finding(
        sentence=f"a kernel cannot return a value, and this one returns {found[1]}",
        advice="Write it to an array that is an argument: out[i] = value. Functions made with device=True may return.",
        node=node,
    )


def raised(failure: Failure) -> Finding | None:
    """An exception made of values that are only known while the kernel runs, or a raise of another object."""
    text = next((node for node in failure.source.of(ast.Raise) if isinstance(node.exc, ast.Constant)), None)
    if text is not None:
        advice = f"Raise an exception: raise ValueError({text_of(text.exc)})."
        return Finding(sentence="a string is raised, and only exceptions can be", advice=advice, node=text)
    if "unsupported constant type used for exception" in failure.words:
        return Finding(
            sentence="what is raised is not an exception",
            advice="Raise a class of exceptions, or one with constant arguments: raise ValueError('too large').",
            node=next(failure.source.of(ast.Raise), None),
        )
    if "return_dynamic_user_exc" not in failure.text:
        return None
    node = next(failure.source.of(ast.Raise), None) or next(
        (node for node in ast.walk(failure.source.function or ast.Module([], [])) if _raises_what_varies(node)), None
    )
    return Finding(
        sentence="the arguments of an exception must be constants in a kernel",
        advice="Raise it with a constant message, and print(...) the values.",
        node=node,
    )


def _raises_what_varies(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and not all(isinstance(one, ast.Constant) for one in node.exc.args)
    )


RULES = (returned, raised, deleted, starred)
LAST = (construct, around)
