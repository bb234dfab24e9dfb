"""Failure: the front end's error, taken apart once: its words, the operation that they are about, and the place."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Mapping
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.frontend.explained.places import SourceLine, errors_inwards, names_of, places, raised_at
from gridjit.compiler.frontend.explained.source import Source
from gridjit.compiler.frontend.explained.types_said import cleaned, parts, said
from gridjit.compiler.frontend.isolated.launch_visibility import said_by
from gridjit.compiler.values.signature import ArgType, Signature

# Lines of numba's messages that do not name the fault.
_EMPTY_WORDS = re.compile(
    r"^(?:Failed in \w+ mode pipeline|- Resolution failure|During: |Internal error at|Known signatures|raised from )"
)
_END_OF_WORDS = re.compile(r'\n\s*(?:File "|During: |There are \d+ candidate|\* )')
_OPERATION = re.compile(
    r"No implementation of function (.+?) found for signature:\s*>>> (\S+?|<unknown function>)\(", re.S
)
# In numba's list of implementations that it tried: why one refused.
_REASON = re.compile(
    r"raised a specific error:\s*(\S.*?)(?=\n\s*raised from|\n\s*- Of which|\n\s*Overload |\Z)", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedOperation:
    """An operation without an implementation in numba: its name and its arguments' types, as users write them.

    is_written: a function of Python, which may have the name of an operator's.
    """

    name: str
    arguments: tuple[str, ...]
    is_written: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed compile. text: all that numba said; words: its part on the fault; reasons: why candidates refused.

    places: from the kernel inwards. source: of the innermost. signature: the kernel's, where it is known.
    refused: code of the user that ran while compiling, such as an overload, raised the error; failed: it is a mistake
    of such code.
    """

    error: BaseException
    function: Callable[..., Any]
    text: str
    words: str
    operation: FailedOperation | None
    reasons: tuple[str, ...]
    places: tuple[SourceLine, ...]
    source: Source
    signature: Signature | None = None
    refused: bool = False
    failed: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], error: BaseException, signature: Signature | None = None) -> Failure:
        """Return the failure of an error of compiling a kernel's function."""
        errors = errors_inwards(error)
        error = errors[-1]
        text = said_by(error)
        where = places(function, errors)
        refused, failed = False, False
        if (raised := raised_at(error)) is not None:
            source = Source.at(raised.path, raised.line, exact=True)
            refused = not source.nodes or any(source.of(ast.Raise))
            failed = not refused
            where = (*where, raised) if failed else where
        inner = where[-1]
        return cls(
            error=error,
            function=function,
            text=text,
            words=_words(text) or type(error).__name__,
            operation=_operation(text),
            reasons=_reasons(text),
            places=where,
            source=Source.at(inner.path, inner.line, exact=inner.exact),
            signature=signature,
            refused=refused,
            failed=failed,
        )

    @property
    def names(self) -> Mapping[str, Any]:
        """The globals and the values of closures that the innermost function sees, as far as they are known."""
        inner = self.places[-1]
        function = inner.code or (self.function if self.function.__code__.co_filename == inner.path else None)
        if function is None:
            return {}
        return names_of(function)

    @property
    def in_kernel(self) -> bool:
        """Whether the innermost function is the kernel itself."""
        node, code = self.source.function, self.function.__code__
        return node is None or (node.name == code.co_name and self.places[-1].path == code.co_filename)

    def argument(self, name: str) -> ArgType | None:
        """Return the type of an argument of the kernel; None for all else."""
        code = self.function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        if self.signature is None or not self.in_kernel or name not in parameters:
            return None
        return dict(zip(parameters, self.signature.arguments, strict=False)).get(name)

    def value(self, node: ast.AST) -> Any:
        """Return the Python value of a dotted name; None if it has none before the kernel runs."""
        if isinstance(node, ast.Name):
            local = node.id in self.source.local_names
            return None if local else self.names.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute) and (owner := self.value(node.value)) is not None:
            try:
                return getattr(owner, node.attr, None)
            except Exception as error:  # the program's own
                let_through(error)
                return None
        return None


def _words(text: str) -> str:
    """Return the fault in numba's words as users can read them."""
    lines = [line for line in text.strip().splitlines() if not _EMPTY_WORDS.match(line.strip())]
    block = _END_OF_WORDS.split("\n" + "\n".join(lines).strip(), maxsplit=1)[0]
    return " ".join(cleaned(block).split())


def _operation(text: str) -> FailedOperation | None:
    found = _OPERATION.search(text)
    if found is None:
        return None
    name = said(found[1]) if found[2] == "<unknown function>" or "." in said(found[1]) else found[2]
    arguments = _balanced(text, found.end())
    given = parts(said(" ".join(arguments.split())))
    return FailedOperation(name=name, arguments=given, is_written="<function " in found[1])


def _balanced(text: str, begun: int) -> str:
    """Return the text from begun to the bracket that closes the one open there."""
    depth = 1
    for at in range(begun, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return text[begun:at]
    return text[begun:].partition("\n")[0]


def _reasons(text: str) -> tuple[str, ...]:
    """Return why candidates refused, where their words are about the user's code and not about numba's."""
    found = (re.sub(r"^\w+: ", "", reason.strip()) for reason in _REASON.findall(text))
    plain = (_words(reason) for reason in found if not _OPERATION.match(reason.strip()))
    return tuple(dict.fromkeys(one for one in plain if one and not one.startswith("No implementation of")))
