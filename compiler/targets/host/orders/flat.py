"""flat: axes along which a kernel only asks where a thread is in the grid, not where it is in its block.

Along such an axis, a row of blocks is one row of threads: thread t of block 0 of the row stands for thread t % blockDim
of block t // blockDim. So the sum blockIdx * blockDim + threadIdx, which is all that the kernel uses, is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridjit.compiler.targets.host.regions.body import NAME, Body, used, without_labels
from gridjit.regexes import regex

_OPERAND = rf"({NAME}|-?\d+)"
_COPY = regex(rf"({NAME}) = add i32 (%gj\.\S+), 0$")
_CAST = regex(rf"({NAME}) = [sz]ext (?:nneg )?i32 ({NAME}) to i64$")
_PRODUCT = regex(rf"({NAME}) = (?:mul nuw nsw (i32|i64) {_OPERAND}, {_OPERAND}|shl nuw nsw (i32|i64) ({NAME}), (\d+))$")
_SUM = regex(rf"({NAME}) = add (?:nuw |nsw )*(i32|i64) {_OPERAND}, {_OPERAND}$")
# What threads of a block ask of each other, or of where they are in it.
_OF_A_BLOCK = frozenset(("%gj.thread", "%gj.shared", "%gj.slab"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """An axis along which blocks may be run as one row. size: the block's, if the kernel takes it to be a constant."""

    axis: str
    size: int = 0


def flat_axes(body: Body) -> dict[str, Flat]:
    """Return those of the axes x and y of body, a kernel without barriers, that are flat."""
    lines = [line for block in body.blocks for line in block.lines]
    if any(not _OF_A_BLOCK.isdisjoint(used(line)) for line in lines):
        return {}
    return {axis: found for axis in "xy" if (found := _flat(axis, lines)) is not None}


def _flat(axis: str, lines: list[str]) -> Flat | None:
    """Return an axis as a flat one, or None."""
    parts = _Parts(axis)
    others = [line for line in lines if not parts.take(line)]
    if len(parts.sizes) > 1 or any(not parts.own.isdisjoint(_reads(line)) for line in others):
        return None
    return Flat(axis=axis, size=next(iter(parts.sizes), 0))


def _reads(line: str) -> frozenset[str]:
    return used(without_labels(line))


class _Parts:
    """Collects the values that are only parts of a thread's place in the grid along an axis.

    own: all of them. sizes: the blocks' sizes that blockIdx is multiplied by; 0 is blockDim.
    """

    def __init__(self, axis: str) -> None:
        self.threads = {f"%gj.tid.{axis}"}
        self.blocks = {f"%gj.ctaid.{axis}"}
        self.dimensions = {f"%gj.ntid.{axis}"}
        self.starts: dict[str, int] = {}
        self.sizes: set[int] = set()

    @property
    def own(self) -> set[str]:
        """The values that must not be used in any other way."""
        return self.threads | self.blocks | set(self.starts)

    def take(self, line: str) -> bool:
        """Return whether an instruction makes a part, or a place in the grid, of parts."""
        if copied := _COPY.match(line) or _CAST.match(line):
            return self._copy(copied[1], copied[2])
        if product := _PRODUCT.match(line):
            return self._multiply(product)
        return (found := _SUM.match(line)) is not None and self._add(found[3], found[4])

    def _copy(self, name: str, source: str) -> bool:
        for kind in (self.threads, self.blocks, self.dimensions):
            if source in kind:
                kind.add(name)
                return kind is not self.dimensions
        if source in self.starts:
            self.starts[name] = self.starts[source]
            return True
        return False

    def _multiply(self, found: re.Match[str]) -> bool:
        name, _, a, b, _, shifted, places = found.groups()
        if shifted:
            a, b = shifted, str(1 << int(places))
        if b in self.blocks:
            a, b = b, a
        if a not in self.blocks or not (b in self.dimensions or b.isdigit()):
            return False
        self.starts[name] = int(b) if b.isdigit() else 0
        return True

    def _add(self, a: str, b: str) -> bool:
        for start, thread in ((a, b), (b, a)):
            if start in self.starts and thread in self.threads:
                self.sizes.add(self.starts[start])
                return True
        return False
