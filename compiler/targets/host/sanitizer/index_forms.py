"""Index forms: an index as a sum of products of a thread's coordinates and of values that all threads share.

A form is exact modulo 2**64. What cannot be followed is a part of its own, of which nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.analysis.affine import plus
from gridjit.compiler.targets.host.ir.body import NAME, arms
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES, OURS, SREG

# How often each product counts, by its factors in order; the constant by none.
IndexForm = dict[tuple[str, ...], int]

# A value that a loop raises by as much each time as there are places where it may begin: it stays the thread's own.
# By what it begins with, and what is added: the grid's threads along an axis, a block's threads, the grid's blocks.
TURNS = ("grid", "block", "blocks")
_OPERAND = rf"({NAME}|-?\d+)"
_BINARY = regex(rf"{NAME} = (add|sub|mul|shl|or) ((?:nuw |nsw |disjoint )*)(i32|i64) {_OPERAND}, {_OPERAND}$")
_WIDENED = regex(rf"{NAME} = (zext|sext) (?:nneg )?i32 ({NAME}) to i64$")
_PHI = regex(rf"{NAME} = phi i64 ")
_COORDINATE = regex(rf'{NAME} = (?:tail )?call [^@]*@"?{re.escape(OURS + SREG)}([a-z]+\.[xyz])"?\(\)')
_NEGATIVE = regex(rf"{NAME} = icmp slt i64 ({NAME}), 0$")
_CHOICE = regex(rf"{NAME} = select i1 ({NAME}), i64 \S+, i64 0$")


class Forms:
    """Finds the forms of a kernel's values. definitions: the instructions that make them, by their names."""

    def __init__(self, definitions: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._known: dict[str, IndexForm] = {}

    def of(self, value: str) -> IndexForm:
        """Return the form of an integer of 64 bits."""
        if not value.startswith("%"):
            return constant(int(value)) if value.lstrip("-").isdigit() else {(f"?{value}",): 1}
        if value not in self._known:
            self._known[value] = {(f"?{value}",): 1}  # what goes round a loop
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: str) -> IndexForm:
        unknown: IndexForm = {(f"?{value}",): 1}
        line = self._definitions.get(value)
        if line is None:
            return {(value,): 1}  # a parameter of the kernel
        if found := _WIDENED.match(line):
            return self._narrow(found[2], found[1]) or unknown
        if (found := _BINARY.match(line)) and found[3] == "i64":
            if found[1] == "add" and (kept := self._from_the_start(found[4], found[5])) is not None:
                return kept
            made = _combined(found[1], found[2], self.of(found[4]), self.of(found[5]))
            return unknown if made is None else made
        return (self._turning(value, line) if _PHI.match(line) else None) or unknown

    def _narrow(self, value: str, how: str) -> IndexForm | None:
        """Return the form of 32 bits that are widened, if no sum or product in them wraps around."""
        if not value.startswith("%"):
            return constant(int(value)) if value.isdigit() else None
        line = self._definitions.get(value)
        if line is None:
            return {(f"{how} {value}",): 1}
        if found := _COORDINATE.match(line):
            return {(found[1],): 1} if found[1] in COORDINATES else None
        found = _BINARY.match(line)
        if found is None or found[3] != "i32" or ("nuw" if how == "zext" else "nsw") not in found[2]:
            return None
        a, b = self._narrow(found[4], how), self._narrow(found[5], how)
        return None if a is None or b is None else _combined(found[1], found[2], a, b)

    def _from_the_start(self, value: str, wrapped: str) -> IndexForm | None:
        """Return the form of an index that counts from the end if it is negative, but never is."""
        chosen = _CHOICE.match(self._definitions.get(wrapped, ""))
        asked = _NEGATIVE.match(self._definitions.get(chosen[1], "")) if chosen else None
        if asked is None or asked[1] != value:
            return None
        form = self.of(value)
        return form if all(count >= 0 and all(map(_is_natural, part)) for part, count in form.items()) else None

    def _turning(self, value: str, line: str) -> IndexForm | None:
        """Return the form of a value that a loop raises, if it stays a thread's own."""
        starts, steps = [], []
        for arm, _ in arms(line):
            found = _BINARY.match(self._definitions.get(arm, ""))
            if found is not None and found[1] == "add" and value in (found[4], found[5]):
                steps.append(self.of(found[5] if found[4] == value else found[4]))
            else:
                starts.append(self.of(arm))
        if len(starts) != 1 or not steps or any(step != steps[0] for step in steps):
            return None
        for axis in "xyz":
            for kind, start, step in _turns(axis):
                rest = plus(starts[0], start, -1)
                if steps[0] == step and is_shared(rest):
                    return plus(rest, {(f"{kind}.{axis}",): 1})
        return None


def constant(value: int) -> IndexForm:
    """Return the form of a number."""
    return {(): value} if value else {}


def is_shared(form: IndexForm) -> bool:
    """Return whether a form is made only of values that all threads share."""
    return all(is_shared_part(factor) for part in form for factor in part)


def is_shared_part(factor: str) -> bool:
    """Return whether a factor is the same for all threads: a number of the launch's or a parameter of the kernel's."""
    return factor.startswith(("ntid.", "nctaid.")) or ("%arg." in factor and not factor.startswith("?"))


def place(axis: str) -> IndexForm:
    """Return the form of a thread's place in the grid along an axis."""
    return {(f"ctaid.{axis}", f"ntid.{axis}"): 1, (f"tid.{axis}",): 1}


def _turns(axis: str) -> list[tuple[str, IndexForm, IndexForm]]:
    """Return the kinds of turns along an axis, what they begin with, and what is added."""
    thread: IndexForm = {(f"tid.{axis}",): 1}
    threads: IndexForm = {(f"ntid.{axis}",): 1}
    block: IndexForm = {(f"ctaid.{axis}",): 1}
    blocks: IndexForm = {(f"nctaid.{axis}",): 1}
    starts = (place(axis), thread, block)
    every: IndexForm = {(f"nctaid.{axis}", f"ntid.{axis}"): 1}
    steps = (every, threads, blocks)
    return [(f"turn.{kind}", start, step) for kind, start, step in zip(TURNS, starts, steps, strict=True)]


def _is_natural(factor: str) -> bool:
    return factor in COORDINATES or factor.startswith("turn.")


def _combined(operation: str, flags: str, a: IndexForm, b: IndexForm) -> IndexForm | None:
    if operation == "or" and "disjoint" not in flags:
        return None
    if operation == "shl":
        if not _is_number(b) or not 0 <= b.get((), 0) < 32:
            return None
        return {part: count << b.get((), 0) for part, count in a.items()}
    if operation == "mul":
        return _product(a, b)
    return plus(a, b, -1 if operation == "sub" else 1)


def _is_number(form: Collection[tuple[str, ...]]) -> bool:
    return set(form) <= {()}


def _product(a: IndexForm, b: IndexForm) -> IndexForm:
    made: IndexForm = {}
    for one, count in a.items():
        for other, times in b.items():
            part = tuple(sorted((*one, *other)))
            made[part] = made.get(part, 0) + count * times
    return {part: count for part, count in made.items() if count}
