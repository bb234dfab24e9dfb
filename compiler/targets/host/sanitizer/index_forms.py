"""Index forms: an index as a sum of products of a thread's coordinates and of values that all threads share.

A form is exact modulo 2**64. What cannot be followed is a part of its own, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gridjit.compiler.targets.host.analysis.affine import plus
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES, OURS, SREG
from gridjit.compiler.targets.host.ir.parse import parse

# How often each product counts, by its factors in order; the constant by none.
IndexForm = dict[tuple[str, ...], int]

# A value that a loop raises by as much each time as there are places where it may begin: it stays the thread's own.
# By what it begins with, and what is added: the grid's threads along an axis, a block's threads, the grid's blocks.
TURNS = ("grid", "block", "blocks")
_SUMS = frozenset(("add", "sub", "mul", "shl", "or"))
_COORDINATE = OURS + SREG


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
        one = parse(line)
        if wide := one.cast_of("i32", "i64"):
            return self._narrow(wide, one.opcode) or unknown
        if _is_sum(one, "i64"):
            if one.opcode == "add" and (kept := self._from_the_start(*one.values)) is not None:
                return kept
            made = _combined(one, *map(self.of, one.values))
            return unknown if made is None else made
        return (self._turning(one) if one.opcode == "phi" and one.type == "i64" else None) or unknown

    def _narrow(self, value: str, how: str) -> IndexForm | None:
        """Return the form of 32 bits that are widened, if no sum or product in them wraps around."""
        if not value.startswith("%"):
            return constant(int(value)) if value.isdigit() else None
        line = self._definitions.get(value)
        if line is None:
            return {(f"{how} {value}",): 1}
        one = parse(line)
        if one.callee_name.startswith(_COORDINATE):
            coordinate = one.callee_name.removeprefix(_COORDINATE)
            return {(coordinate,): 1} if coordinate in COORDINATES else None
        if not _is_sum(one, "i32") or ("nuw" if how == "zext" else "nsw") not in one.flags:
            return None
        a, b = (self._narrow(part, how) for part in one.values)
        return None if a is None or b is None else _combined(one, a, b)

    def _from_the_start(self, value: str, wrapped: str) -> IndexForm | None:
        """Return the form of an index that counts from the end if it is negative, but never is."""
        chosen = parse(self._definitions.get(wrapped, ""))
        if chosen.opcode != "select" or chosen.values[2:] != ("0",) or chosen.notes:
            return None
        asked = parse(self._definitions.get(chosen.values[0], ""))
        if (asked.opcode, asked.flags, asked.values, asked.notes) != ("icmp", ("slt",), (value, "0"), ""):
            return None
        form = self.of(value)
        return form if all(count >= 0 and all(map(_is_natural, part)) for part, count in form.items()) else None

    def _turning(self, phi: Instruction) -> IndexForm | None:
        """Return the form of a value that a loop raises, if it stays a thread's own."""
        starts, steps = [], []
        for arm in phi.values:
            one = parse(self._definitions.get(arm, ""))
            if _is_sum(one, "i64") and one.opcode == "add" and phi.result in one.values:
                a, b = one.values
                steps.append(self.of(b if a == phi.result else a))
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


def _is_sum(one: Instruction, kind: str) -> bool:
    """Return whether an instruction makes a form of two integers of a type."""
    return one.opcode in _SUMS and one.kind == kind and one.is_binary


def _combined(one: Instruction, a: IndexForm, b: IndexForm) -> IndexForm | None:
    if one.opcode == "or" and "disjoint" not in one.flags:
        return None
    if one.opcode == "shl":
        if not _is_number(b) or not 0 <= b.get((), 0) < 32:
            return None
        return {part: count << b.get((), 0) for part, count in a.items()}
    if one.opcode == "mul":
        return _product(a, b)
    return plus(a, b, -1 if one.opcode == "sub" else 1)


def _is_number(form: Collection[tuple[str, ...]]) -> bool:
    return set(form) <= {()}


def _product(a: IndexForm, b: IndexForm) -> IndexForm:
    made: IndexForm = {}
    for one, count in a.items():
        for other, times in b.items():
            part = tuple(sorted((*one, *other)))
            made[part] = made.get(part, 0) + count * times
    return {part: count for part, count in made.items() if count}
