"""Terms of the kernel language: names of one use, with an example that the tests compile."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

BOTH, NEITHER = ("host", "cuda"), ()
_BRACES = re.compile(r"\{([^}]*)\}")
_FIELDS = re.compile(r"\{(?:last|x)?\}")
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


class Term(NamedTuple):
    """Names of one use, with an example of it: {} is each name, {last} is it without its module, {x} is each array."""

    # Separated by spaces; a name without a dot has the prefix of the name before it, and {a,b} stands for a and b.
    named: str
    types: str
    meaning: str
    example: str
    # The arrays that {x} stands for: their types are shown before types.
    over: str = ""
    targets: tuple[str, ...] = BOTH
    # Whether it needs NUMBA_CUDA_ENABLE_NRT=1, which lets kernels allocate.
    allocates: bool = False
    # Whether named is a piece of syntax, which no module defines.
    syntax: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the full names."""
        return (self.named,) if self.syntax else tuple(_names(self.named))

    @property
    def examples(self) -> list[list[str]]:
        """Return the example's lines of Python, for each name and each array that it has a place for."""
        if _FIELDS.search(self.example) is None:
            return [self.example.splitlines()]
        names = self.names if re.search(r"\{(?:last)?\}", self.example) else self.names[:1]
        filled = (
            self.example.format(name, last=name.rpartition(".")[2], x=array)
            for name, array in itertools.product(names, self.over.split() or ("",))
        )
        return [text.splitlines() for text in filled]

    @property
    def all_types(self) -> str:
        """Return the types of arrays and results as text."""
        return "; ".join(filter(None, (", ".join(map(_type_of, self.over.split())), self.types)))


class Chapter(NamedTuple):
    """Terms about one subject, below a title and a text of Markdown."""

    title: str
    text: str
    terms: tuple[Term, ...]


def _names(named: str) -> Iterator[str]:
    prefix = ""
    for word in named.split():
        head, dot, last = word.rpartition(".")
        prefix = f"{head}{dot}" if dot else prefix
        yield from (prefix + name for name in _alternatives(last))


def _alternatives(word: str) -> Iterator[str]:
    parts = _BRACES.split(word)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return map("".join, itertools.product(*choices))


def _type_of(array: str) -> str:
    return "bool" if array == "b1" else _KINDS[array[0]] + array[1:]
