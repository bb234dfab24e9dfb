"""Instructions: what an instruction that computes with numbers says, read once for all who ask.

Patterns for each kind of question would take longer to compile than a small kernel's code takes to read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# Of how many instructions it is remembered what they say: passes ask the same of each several times.
_REMEMBERED = 1 << 13
_WRAPS = frozenset(("nuw", "nsw"))
# What types begin with that consist of several words: those of vectors and structures.
_COMPOUND = frozenset("<{")


class Instruction(NamedTuple):
    """An instruction: the name of its result, its operation, flags or predicate, and its operands.

    type: that of the first operand. operands: as they are written; those after the first may begin with a type, and
    what is noted about the instruction comes last. to: the type that a cast makes.
    """

    name: str
    operation: str
    flags: tuple[str, ...]
    type: str
    operands: tuple[str, ...]
    to: str = ""

    @property
    def is_binary(self) -> bool:
        """Whether it has two operands, each a value or a whole number, and nothing is noted about it."""
        return len(self.operands) == 2 and is_value(self.operands[0]) and is_value(self.operands[1])

    @property
    def wraps(self) -> bool:
        """Whether no flag but those on wrapping around is set."""
        return _WRAPS.issuperset(self.flags)


@lru_cache(_REMEMBERED)
def instruction(line: str) -> Instruction | None:
    """Return what an instruction says; None if it has no result, or several numbers in one.

    Of one that does not compute, it says little.
    """
    name, equals, made = line.partition(" = ")
    head, *others = made.split(", ")
    words = head.split(" ")
    if (
        not equals
        or len(words) < 3
        or not _COMPOUND.isdisjoint(head)
        or ('"' in line and _is_parted(name, *words, *others))
    ):
        return None
    if words[-2] == "to":
        return Instruction(name, words[0], tuple(words[1:-4]), words[-4], (words[-3], *others), words[-1])
    return Instruction(name, words[0], tuple(words[1:-2]), words[-2], (words[-1], *others))


class Element(NamedTuple):
    """A pointer that is moved to an item: the type of what it is counted in, the pointer, and what follows it."""

    kind: str
    base: str
    indices: tuple[str, ...]


@lru_cache(_REMEMBERED)
def element(line: str) -> Element | None:
    """Return what an instruction says that moves a pointer; None for any other."""
    _, moves, made = line.partition(" = getelementptr ")
    head, points, rest = made.rpartition(", ptr ")
    base, *indices = rest.split(", ")
    if not moves or not points or ('"' in made and _is_parted(head, base, *indices)):
        return None
    start = min((head.index(bracket) for bracket in "[{" if bracket in head), default=head.rfind(" ") + 1)
    return Element(head[start:], base, tuple(indices))


def accessed(line: str) -> str:
    """Return the named pointer that an instruction loads or stores through; "" if it does neither."""
    if not (line.startswith("store ") or " = load " in line):
        return ""
    name = line.rpartition("ptr ")[2].partition(", ")[0]
    return name if name.startswith("%") else ""


def is_value(text: str) -> bool:
    """Return whether an operand is a named value or a whole number."""
    return text.startswith("%") or text.removeprefix("-").isdecimal()


def _is_parted(*parts: str) -> bool:
    """Return whether one of the parts ends within a name in quotes, which may have any characters."""
    return any(part.count('"') % 2 for part in parts)
