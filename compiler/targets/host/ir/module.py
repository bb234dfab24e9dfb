"""Module: the functions that a module of LLVM IR text defines and declares, and the lines beside them.

numba writes such a text, and LLVM, and gridjit. A function begins with `define`, and ends where a line is a brace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gridjit.base.regexes import regex

_DEFINE, _DECLARE = ("\ndefine ", "\n}"), ("\ndeclare ", "\n")
# What other lines of functions begin with: instructions, comments, braces.
_NO_LABEL = (" ", "\t", ";", "{", "}")
_VALUE = regex(r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)')
_GROUP = "attributes "
_BYTE = regex(rb"\\([0-9A-Fa-f]{2})")


class FunctionText(NamedTuple):
    """A function: its definition, up to the brace that ends it, or the line that declares it."""

    text: str

    @property
    def head(self) -> str:
        """The first line, without the brace that begins the body."""
        return self.text.partition("\n")[0].removesuffix(" {")

    @property
    def symbol(self) -> str:
        """The name as it is written."""
        return symbol(self.text)

    @property
    def name(self) -> str:
        """The name without quotes."""
        return name_of(symbol(self.text))

    @property
    def body(self) -> str:
        """The blocks, with the end of the last line."""
        return self.text.partition("{\n")[2].removesuffix("}")


def definitions(text: str) -> Iterator[FunctionText]:
    """Yield the functions that a text defines."""
    return _functions(text, *_DEFINE)


def declarations(text: str) -> Iterator[FunctionText]:
    """Yield the functions that a text declares."""
    return _functions(text, *_DECLARE)


def with_definitions(text: str, change: Callable[[FunctionText], str]) -> str:
    """Return a text with another text in place of each function that it defines."""
    return _changed(text, *_DEFINE, change)


def with_declarations(text: str, change: Callable[[FunctionText], str]) -> str:
    """Return a text with another text in place of each function that it declares."""
    return _changed(text, *_DECLARE, change)


def with_each_line(text: str, word: str, change: Callable[[str], str]) -> str:
    """Return a text with another text in place of each line that has a word."""
    if word not in text:
        return text
    return "\n".join(change(line) if word in line else line for line in text.split("\n"))


def attribute_groups(text: str) -> dict[str, str]:
    """Return the groups of attributes of a text, by the names ("#0") that functions refer to them with."""
    lines = (line.removeprefix(_GROUP) for line in text.split("\n") if line.startswith(_GROUP))
    return {name: attributes.strip("{}") for name, _, attributes in (line.partition(" = ") for line in lines)}


def label_of(line: str) -> str:
    """Return the label of the block that a line of a function begins; "" for another line."""
    if ":" not in line or line.startswith(_NO_LABEL):
        return ""
    return line[: line.find('"', 1) + 1] if line.startswith('"') else line.partition(":")[0]


def values(text: str) -> list[str]:
    """Return the names of local values in a text, each as often as it is there."""
    return _VALUE.findall(text)


def symbol(text: str) -> str:
    """Return the first name of a function or variable in a text, as it is written; "" if there is none."""
    name = text.partition("@")[2]
    return name[: name.find('"', 1) + 1] if name.startswith('"') else name.partition("(")[0].partition(" ")[0]


def name_of(symbol: str) -> str:
    """Return a name without its quotes, in which a byte may be written as two digits."""
    if "\\" not in symbol:
        return symbol.strip('"')
    return _BYTE.sub(lambda byte: bytes.fromhex(byte[1].decode()), symbol.strip('"').encode()).decode()


def _functions(text: str, begins: str, ends: str) -> Iterator[FunctionText]:
    return (function for function, _ in _split(text, begins, ends)[1])


def _changed(text: str, begins: str, ends: str, change: Callable[[FunctionText], str]) -> str:
    first, others = _split(text, begins, ends)
    return "".join([first, *(part for function, rest in others for part in (change(function), rest))])


def _split(text: str, begins: str, ends: str) -> tuple[str, Iterator[tuple[FunctionText, str]]]:
    """Return the text before the first function, and each function with the text behind it."""
    *parts, last = f"\n{text}".split(begins)
    first, *others = [*(f"{part}\n" for part in parts), last]
    cut = (other.partition(ends) for other in others)
    return first[1:], ((FunctionText(f"{begins[1:]}{own}{end}"), rest) for own, end, rest in cut)
