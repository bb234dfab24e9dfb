"""Shared addresses: where in shared memory the threads of a block load and store, as far as the code tells.

An address is a place that all threads share, plus multiples of values, plus a number of bytes, or a range of numbers if
a loop counts through it. Indices are assumed not to be negative and not to overflow. A value of which only the name is
known may be any number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from math import gcd

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.loop_steps import compared_with
from gridjit.compiler.targets.host.ir.body import Body, definitions_of, used
from gridjit.compiler.targets.host.ir.instructions import Instruction, is_value
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.types import size_of

_CASTS = frozenset(("sext", "zext", "trunc", "freeze"))
_LANES = 32
_FAR = 1 << 40
# Operations with numbers that are not negative that give such a number, unless it overflows.
_KEEP_SIGN = frozenset(
    ["add", "and", "ashr", "freeze", "mul", "or", "sdiv", "sext", "shl", "srem", "trunc", "udiv", "urem", "xor"]
)
_IN_A_ROW = frozenset(("%gj.tid.x", "%gj.thread"))
_SHARED = "%gj.shared"


@dataclass(frozen=True, slots=True)
class _Sum:
    """Multiples of values, by their names, plus a number from low to high."""

    terms: tuple[tuple[str, int], ...] = ()
    low: int = 0
    high: int = 0

    def plus(self, other: _Sum, factor: int = 1) -> _Sum:
        """Return this sum plus another one, multiplied by a factor."""
        terms = dict(self.terms)
        for name, count in other.terms:
            terms[name] = terms.get(name, 0) + factor * count
        ends = factor * other.low, factor * other.high
        kept = tuple(sorted((name, count) for name, count in terms.items() if count))
        return _Sum(kept, self.low + min(ends), self.high + max(ends))


@dataclass(frozen=True, slots=True)
class Address:
    """An address: from base, which all threads share, by a sum of bytes."""

    base: str
    by: _Sum


class Addresses:
    """The addresses in a kernel. same: the values that its threads share. changing: those that loops give anew."""

    def __init__(self, body: Body, same: Collection[str], changing: Collection[str]) -> None:
        self.lines: Mapping[str, str] = definitions_of(body.lines)
        self.same = same
        self.changing = changing
        self.counted = _counted(body, self.lines)
        self.known: dict[str, _Sum] = {}
        self.first: dict[tuple[str, _Sum, str], str] = {}  # the first of the values that are computed in one way
        self.parts: dict[str, Address] = {}  # the addresses that parts begin at, by the names of the parts

    def of(self, pointer: str) -> Address | None:
        """Return the address of a pointer; None if it is not a pointer into shared memory."""
        found = parse(self.lines.get(pointer, ""))
        if not _steps(found):
            leads = pointer == _SHARED or self._may_lead_to_shared(pointer)
            return Address(pointer if pointer == _SHARED else "", _Sum()) if leads else None
        before = self._part(found.pointer)
        kind, index = _index(found)
        size = size_of(kind)
        if before is None:
            return None
        by = self._sum(index) if size and index else _Sum(((pointer, 1),))
        inner = parse(self.lines.get(found.pointer, ""))
        if _steps(inner) and self._is_wrapped(_index(inner)[1], index):
            by = _Sum()
        if found.pointer == _SHARED and not by.terms:
            return Address(f"{_SHARED}+{by.low * (size or 1)}", _Sum())  # where an array begins
        return Address(before.base, before.by.plus(by, size or 1))

    def _part(self, pointer: str) -> Address | None:
        """Return what is known of a pointer that items are counted from: a part of the memory, if all threads do."""
        address = self.of(pointer)
        if address is None or not address.by.terms or pointer not in self.same:
            return address
        part = f"{address.base}+{address.by}"
        self.parts[part] = address
        return Address(part, _Sum())

    def _may_lead_to_shared(self, pointer: str) -> bool:
        """Return whether a pointer is made of the one to the shared memory, or of one that was stored."""
        seen = reached([pointer], lambda name: used(self.lines.get(name, "")))
        made = (parse(self.lines.get(name, "")) for name in seen)
        return _SHARED in seen or any(one.opcode == "load" and "ptr" in one.type for one in made)

    def meet(self, one: Address, other: Address, *, turns: bool = False) -> frozenset[int] | None:
        """Return where in its warp a thread is at other while another thread is at one, if both are at the same place.

        1 if it is a later lane, -1 if an earlier one; both if either; None if that is not known. turns: whether they
        may be in different iterations of a loop. Parts of one array that begin at different places are taken to be
        apart, but not from the array; an item that threads find in one way is apart from those of others.
        """
        if "" in (one.base, other.base):
            return None
        one, other = self._in_one_part(one, other)
        if one.base != other.base:
            return None if turns and self._may_become(one.base, other.base) else frozenset()
        changes = turns and self._changes(one)
        if one == other and not changes and not self.is_one_place(one):
            return frozenset()
        stride, rest = _apart(one.by)
        other_stride, other_rest = _apart(other.by)
        alike = {term for term in {*rest} & {*other_rest} if self._is_same(term[0])}
        alike -= {(name, count) for name, count in alike if turns and name in self.changing}
        least, most = other.by.low - one.by.high, other.by.high - one.by.low
        signs = {self._sign(term, turns) for term in {*other_rest} - alike}
        signs |= {-self._sign(term, turns) for term in {*rest} - alike}
        if signs in ({1}, {-1}):
            return _directions(stride, other_stride, *((least, _FAR) if signs == {1} else (-_FAR, most)), 0)
        step = gcd(*(count for _, count in {*rest, *other_rest} - alike))
        found = _directions(stride, other_stride, least, most, step)
        return None if found and step else found

    def _sign(self, term: tuple[str, int], turns: bool) -> int:
        """Return 1 or -1 if a term is the same for all lanes, and never below or above 0; else 0."""
        name, count = term
        same = self._is_same(name) and not (turns and name in self.changing)
        return (1 if count > 0 else -1) if same and self._never_negative(name) else 0

    def _never_negative(self, value: str) -> bool:
        """Return whether a value is made only of numbers that are not negative; it may still overflow."""
        seen, waiting = set[str](), [value]
        while waiting:
            if (name := waiting.pop()) in seen or name.isdecimal() or name.startswith("%gj."):
                continue
            seen.add(name)
            found = parse(self.lines.get(name, ""))
            if found.opcode == "phi":
                waiting += found.values
            elif found.opcode in _KEEP_SIGN and not found.is_vector:
                waiting += [one for one in found.values if is_value(one)]
            elif found.opcode not in ("zext", "lshr"):
                return False
        return True

    def _in_one_part(self, one: Address, other: Address) -> tuple[Address, Address]:
        """Return two addresses; if one is in a part of the other's part, both from where the larger one begins."""
        if one.base in self._around(other.base):
            return one, self._from(one.base, other)
        return self._from(other.base, one) if other.base in self._around(one.base) else one, other

    def _from(self, base: str, address: Address) -> Address:
        while address.base != base:
            part = self.parts[address.base]
            address = Address(part.base, part.by.plus(address.by))
        return address

    def _may_become(self, one: str, other: str) -> bool:
        """Return whether the place of one of two parts may become the other's in another turn of a loop."""
        whole, other_whole = self._around(one), self._around(other)
        changes = any(self._changes(self.parts[part]) for part in {*whole, *other_whole} if part in self.parts)
        return changes and whole[-1] == other_whole[-1]

    def _around(self, part: str) -> list[str]:
        """Return a part, the one that it is a part of, and so on."""
        names = [part]
        while names[-1] in self.parts:
            names.append(self.parts[names[-1]].base)
        return names

    def _changes(self, address: Address) -> bool:
        return any(name in self.changing for name, _ in address.by.terms)

    def is_one_place(self, address: Address) -> bool:
        """Return whether an address is the same for all threads."""
        return all(self._is_same(name) for name, _ in address.by.terms)

    def _is_same(self, name: str) -> bool:
        return name in self.same if name in self.lines else name not in _IN_A_ROW | {"%gj.tid.y", "%gj.tid.z"}

    def _sum(self, value: str) -> _Sum:
        """Return an index as a sum."""
        if not value.startswith("%"):
            return _Sum((), int(value), int(value))
        if value not in self.known:
            self.known[value] = _Sum(((value, 1),))  # only the name is known of a value that goes round a loop
            self.known[value] = self._of_line(value, self.lines.get(value, ""))
        return self.known[value]

    def _of_line(self, name: str, line: str) -> _Sum:
        if name in self.counted:
            return _Sum((), *self.counted[name])
        found = parse(line)
        a, b = (*found.values, "", "")[:2]
        if found.opcode in _CASTS and is_value(a) and not found.is_vector:
            return self._sum(a)
        if is_value(a) and is_value(b) and found.kind.startswith("i"):
            if found.opcode == "add" and (self._is_wrapped(a, b) or self._is_wrapped(b, a)):
                return self._sum(a if self._is_wrapped(a, b) else b)
            if found.opcode in ("lshr", "and") and b.isdecimal():
                counted = self._sum(a)
                by = int(b) if found.opcode == "lshr" else 0
                known = not counted.terms and counted.low >= 0 and (by or counted.high == 0)
                first = self.first.setdefault((found.opcode, counted, b), name)
                return _Sum((), counted.low >> by, counted.high >> by) if known else _Sum(((first, 1),))
            if found.opcode in ("add", "sub") or (found.opcode == "or" and "disjoint" in found.flags):
                return self._sum(a).plus(self._sum(b), -1 if found.opcode == "sub" else 1)
            if found.opcode in ("mul", "shl") and not b.startswith("%"):
                return _Sum().plus(self._sum(a), 1 << int(b) if found.opcode == "shl" else int(b))
        if _chooses(found):
            condition, *values = found.values
            one, other = map(self._sum, values)
            if self._negative(condition) == other:
                return other
            if one.terms == other.terms:
                return _Sum(one.terms, min(one.low, other.low), max(one.high, other.high))
        return _Sum(((name, 1),))

    def _negative(self, condition: str) -> _Sum | None:
        """Return the sum that a condition compares with 0, to learn whether an index counts from the end."""
        found = parse(self.lines.get(condition, ""))
        if found.opcode != "icmp" or not found.is_binary or found.predicate not in ("slt", "ult"):
            return None
        return self._sum(found.values[0]).plus(self._sum(found.values[1]), -1)

    def _is_wrapped(self, index: str, size: str) -> bool:
        """Return whether an index that may be negative gets an array's size then."""
        found = parse(self.lines.get(size, ""))
        chooses = _chooses(found) and found.values[2] == "0"
        return chooses and self._negative(found.values[0]) == self._sum(index)


def _steps(found: Instruction) -> bool:
    """Return whether an instruction steps from a pointer to an item."""
    return found.opcode == "getelementptr" and not found.is_vector


def _chooses(found: Instruction) -> bool:
    """Return whether an instruction chooses one of two integers, by a named condition."""
    if found.opcode != "select" or not found.operands[1].type.startswith("i"):
        return False
    return found.values[0].startswith("%") and all(map(is_value, found.values[1:]))


def _index(found: Instruction) -> tuple[str, str]:
    """Return the type of the items that a pointer is moved by, and how many, "" if no number says it."""
    indices, kind = list(found.values[1:]), found.type
    while len(indices) > 1 and indices[0] == "0" and kind.startswith("["):
        indices, kind = indices[1:], kind[1:-1].partition(" x ")[2]
    return kind, indices[0] if len(indices) == 1 and is_value(indices[0]) else ""


def _apart(by: _Sum) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Return how many bytes a sum is further for the next lane, and its other terms."""
    rest = tuple((name, count) for name, count in by.terms if name not in _IN_A_ROW)
    return sum(count for name, count in by.terms if name in _IN_A_ROW), rest


@cache
def _directions(stride: int, other: int, low: int, high: int, step: int) -> frozenset[int]:
    """Return the directions in which lanes `stride` bytes apart meet, if the other is low to high bytes away.

    step: any multiple of which may be added.
    """
    pairs = ((lane, far) for lane in range(_LANES) for far in range(_LANES) if lane != far)
    ways = ((1 if far > lane else -1, lane * stride - far * other) for lane, far in pairs)
    if not step:
        return frozenset(way for way, by in ways if low <= by <= high)
    return frozenset(way for way, by in ways if (high - by) // step * step >= low - by)


def _counted(body: Body, lines: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return the values that loops over constant ranges count through, each with its first and its last."""
    found: dict[str, tuple[int, int]] = {}
    for block in body.blocks:
        turns = _turns(block.end.condition, lines)
        for phi in map(parse, block.phis if turns else ()):
            if (first := _start(phi, 1, lines)) is not None:
                found[phi.result] = first, first + turns - 1
    return found


def _turns(condition: str, lines: Mapping[str, str]) -> int:
    """Return how many turns a loop takes that counts a number down while it is positive; 0 if unknown."""
    left = compared_with(condition, "sgt", "0", lines)
    return max(0, _start(parse(lines.get(left.value, "")), -1, lines) or 0) if left else 0


def _start(phi: Instruction, step: int, lines: Mapping[str, str]) -> int | None:
    """Return the number from which a phi counts by step, or None."""
    numbers = [value for value, _ in phi.arms if not value.startswith("%")]
    others = (parse(lines.get(value, "")) for value, _ in phi.arms if value.startswith("%"))
    counts = all(one.opcode == "add" and one.values == (phi.result, str(step)) for one in others)
    return int(numbers[0]) if len(numbers) == 1 and counts else None
