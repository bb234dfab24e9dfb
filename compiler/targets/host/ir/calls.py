"""Calls: the calls of functions by their names, and of inline assembly, in LLVM IR text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gridjit.compiler.targets.host.ir.module import name_of, symbol
from gridjit.compiler.targets.host.ir.types import closing_bracket, split_commas

_CALL, _ASM = "call ", " asm "


class FunctionCall(NamedTuple):
    """A call: the line that it stands in, the function's name as it is written, and where its arguments begin."""

    line: str
    symbol: str
    start: int

    @property
    def name(self) -> str:
        """The function's name without quotes."""
        return name_of(self.symbol)

    @property
    def type(self) -> str:
        """The type of the result, if that is one word."""
        return self.line[: self.start].rpartition(" @")[0].rpartition(" ")[2]

    @property
    def arguments(self) -> str:
        """The arguments with their types and attributes."""
        return self.line[self.start : closing_bracket(self.line, self.start - 1)]


def call_in(line: str) -> FunctionCall | None:
    """Return the call of a function by its name that a line is; None for another line."""
    before, _, called = line.partition(_CALL)
    name = symbol(called) if "@" in called else ""
    start = len(before) + len(_CALL) + called.find("@") + 1 + len(name)
    return FunctionCall(line, name, start + 1) if name and line.startswith("(", start) else None


def calls(text: str) -> Iterator[FunctionCall]:
    """Yield the calls of functions by their names in a text."""
    lines = (line for line in text.split("\n") if _CALL in line) if _CALL in text else ()
    return filter(None, map(call_in, lines))


class AsmCall(NamedTuple):
    """A call of inline assembly: its place in the text, the type of its result, its instructions, its arguments."""

    start: int
    end: int
    type: str
    instructions: str
    arguments: str


def asm_calls(text: str) -> Iterator[AsmCall]:
    """Yield the calls of inline assembly in a text; their instructions may be several lines."""
    at = text.find(_ASM)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        start = text.rfind(_CALL, line, at)
        if start >= 0 and not text.count('"', line, start) % 2 and '"' not in text[start:at]:
            _, instructions, _, _, rest = text[at:].split('"', 4)
            begin = text.index("(", len(text) - len(rest))
            end = closing_bracket(text, begin)
            kind = text[start + len(_CALL) : at].partition("(")[0].strip()
            yield AsmCall(start, end + 1, kind, instructions, text[begin + 1 : end])
        at = text.find(_ASM, at + 1)


def split_arguments(arguments: str) -> list[str]:
    """Return each argument of a call: a comma within brackets or quotes does not end it."""
    return split_commas(arguments) if arguments.strip() else []
