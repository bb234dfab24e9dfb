"""Collapsible axes: axes along which a kernel asks where a thread is in the grid, but not where it is in its block.

Along such an axis, a row of blocks is one row of threads: thread t of block 0 of the row stands for thread t % blockDim
of block t // blockDim. So the sum blockIdx * blockDim + threadIdx, which is all that the kernel uses, is right.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridjit.compiler.targets.host.ir.body import Body, reads, used
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.parse import parse

# What threads of a block ask of each other, or of where they are in it.
_OF_A_BLOCK = frozenset(("%gj.thread", "%gj.shared", "%gj.slab"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollapsibleAxis:
    """An axis along which blocks may be run as one row. size: the block's, if the kernel takes it to be a constant."""

    axis: str
    size: int = 0


def collapsible_axes(body: Body) -> dict[str, CollapsibleAxis]:
    """Return the collapsible axes, of x and y, of body, a kernel without barriers."""
    lines = list(body.lines)
    if any(not _OF_A_BLOCK.isdisjoint(used(line)) for line in lines):
        return {}
    return {axis: found for axis in "xy" if (found := _flat(axis, lines)) is not None}


def _flat(axis: str, lines: list[str]) -> CollapsibleAxis | None:
    """Return an axis as a flat one, or None."""
    parts = _Parts(axis)
    others = [line for line in lines if not parts.take(line)]
    if len(parts.sizes) > 1 or any(not parts.own.isdisjoint(reads(line)) for line in others):
        return None
    return CollapsibleAxis(axis=axis, size=next(iter(parts.sizes), 0))


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
        found = parse(line)
        if found.kind not in ("i32", "i64"):
            return False
        if wide := found.cast_of("i32", "i64"):
            return self._copy(found.result, wide)
        if not found.is_binary:
            return False
        a, b = found.values
        if found.opcode == "add":
            copies = not found.flags and found.kind == "i32" and a.startswith("%gj.") and b == "0"
            return self._copy(found.result, a) if copies else self._add(a, b)
        return found.flags == ("nuw", "nsw") and self._multiply(found)

    def _copy(self, name: str, source: str) -> bool:
        for kind in (self.threads, self.blocks, self.dimensions):
            if source in kind:
                kind.add(name)
                return kind is not self.dimensions
        if source in self.starts:
            self.starts[name] = self.starts[source]
            return True
        return False

    def _multiply(self, found: Instruction) -> bool:
        a, b = found.values
        if found.opcode == "shl" and b.isdecimal():
            b = str(1 << int(b))
        elif found.opcode != "mul":
            return False
        if b in self.blocks:
            a, b = b, a
        if a not in self.blocks or not (b in self.dimensions or b.isdigit()):
            return False
        self.starts[found.result] = int(b) if b.isdigit() else 0
        return True

    def _add(self, a: str, b: str) -> bool:
        for start, thread in ((a, b), (b, a)):
            if start in self.starts and thread in self.threads:
                self.sizes.add(self.starts[start])
                return True
        return False
