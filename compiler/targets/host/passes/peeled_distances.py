"""Distances: how far a peeled thread's places in shared memory are from the places of all threads of its row.

An address in shared memory is a multiple of the thread's place along the row plus an offset that is the same for the
whole row. If the difference of two addresses depends on the row's length alone, it is compared at both ends of the
shortest row and of the longest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gridjit.compiler.targets.host.analysis.affine import ONE, PLACE, Affine, Row, plus
from gridjit.compiler.targets.host.ir.accesses import Access
from gridjit.compiler.targets.host.ir.instructions import is_value
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.types import size_of
from gridjit.compiler.targets.host.passes.peeling import LARGEST_BLOCK, Stop, beyond_size

_SHARED = "%gj.shared"
# A row's length, as a part of a value.
_LENGTH = "length"


class Distances:
    """Where a kernel's accesses are in shared memory. lines: its instructions. stops: places of peeled threads."""

    def __init__(self, lines: Mapping[str, str], axis: str, stops: Sequence[Stop]) -> None:
        self.row = Row(lines, axis, ())
        self.stops = stops

    def are_apart(self, rare: Access, other: Access) -> bool:
        """Return whether no thread's access `other` touches memory that the row's peeled threads access by `rare`."""
        mine, its = self._bytes(rare.at), self._bytes(other.at)
        if mine is None or its is None or not rare.scalar or not other.scalar:
            return False
        return all(self._clear(self._at(mine, stop), its, rare.scalar, other.scalar) for stop in self.stops)

    def _bytes(self, pointer: str) -> Affine | None:
        """Return how many bytes an address is from the beginning of shared memory."""
        if pointer == _SHARED:
            return {}
        step = parse(self.row.lines.get(pointer, ""))
        index, size = step.moved_by, size_of(step.type)
        if not is_value(index) or not size or step.operands[1].type not in ("i32", "i64"):
            return None
        by = self.row.value(index) if step.operands[1].type == "i64" else self.row.widened(index, "sext")
        before = self._bytes(step.pointer)
        return None if before is None or by is None else plus(before, self._measured(by), size)

    def _measured(self, value: Affine) -> Affine:
        """Return a value with the row's length as one part, however that was computed."""
        made: Affine = {}
        for part, count in value.items():
            more = None if part in (PLACE, ONE) else beyond_size(part, self.row)
            made = plus(made, {part: 1} if more is None else {_LENGTH: 1, ONE: more}, count)
        return made

    def _at(self, value: Affine, stop: Stop) -> Affine:
        """Return a value as the thread at a stop has it."""
        rest = {part: count for part, count in value.items() if part != PLACE}
        place = {ONE: stop.place, **({_LENGTH: 1} if stop.from_end else {})}
        return plus(rest, place, value.get(PLACE, 0))

    def _clear(self, mine: Affine, its: Affine, size: int, other: int) -> bool:
        """Return whether `size` bytes at one place never overlap `other` bytes at another, in any thread of any row."""
        gap = plus(its, mine, -1)
        if gap.keys() - {PLACE, ONE, _LENGTH}:
            return False
        ends = [
            gap.get(PLACE, 0) * place + gap.get(_LENGTH, 0) * length + gap.get(ONE, 0)
            for length in (1, LARGEST_BLOCK)
            for place in (0, length - 1)
        ]
        return min(ends) >= size or max(ends) <= -other
