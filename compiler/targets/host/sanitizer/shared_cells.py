"""SharedCells: how the shared memory of a block is divided into the cells in which checks remember accesses.

If it is known which array each access goes to, each array has cells of the size of its items. Otherwise all arrays have
cells of one size, so that each address has one place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout
from gridjit.compiler.targets.host.analysis.pointers import UNKNOWN, Root, Roots, SharedRoot
from gridjit.compiler.targets.host.ir.accesses import Access
from gridjit.compiler.targets.host.sanitizer.routines.order import JOINS


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCells:
    """The cells of shared memory. dense: whether they are in tables of a block's own; atomic: whether there are atomic
    accesses; any: whether there are arrays at all. sizes: binary logarithms of the sizes of cells, by where arrays
    start; empty if all are of one size, shift. counted: the bytes of the arrays whose unwritten cells are counted,
    since reads ask for that first; -1: of one whose size comes at launch."""

    dense: bool
    atomic: bool
    any: bool
    shift: int
    sizes: dict[int, int]
    counted: dict[int, int]

    def is_counted(self, start: int) -> bool:
        """Return whether the unwritten cells of the array that starts there are counted."""
        return start in self.counted and bool(self.sizes)

    def counters(self) -> list[tuple[int, int, int]]:
        """Return where each counted array starts, the binary logarithm of its cells' size, and its bytes."""
        return [(start, self.sizes[start], size) for start, size in self.counted.items() if self.is_counted(start)]

    def cells(self, roots: Collection[Root]) -> tuple[int, int]:
        """Return where the cells of an array begin, and the binary logarithm of their size."""
        starts = [root.start for root in roots if isinstance(root, SharedRoot)]
        return (starts[0], self.sizes[starts[0]]) if self.sizes and len(starts) == 1 else (0, self.shift)


def shared_cells(
    found: Collection[Access], roots: Roots, quiet: Collection[Access], layout: SharedLayout, *, dense: bool
) -> SharedCells:
    """Return the cells for the accesses of a kernel. quiet: the reads of what nobody writes at the time."""
    starts = {root.start for access in quiet for root in roots.of(access.at) if isinstance(root, SharedRoot)}
    touching = [(access, roots.of(access.at)) for access in found]
    touching = [(access, of) for access, of in touching if UNKNOWN in of or any(isinstance(r, SharedRoot) for r in of)]
    single = all(len(of) == 1 and UNKNOWN not in of for _, of in touching)
    grains: dict[int, int] = {}
    for access, of in touching if single else ():
        for root in of:
            if isinstance(root, SharedRoot):
                start = root.start
                grains[start] = min(grains.get(start, (start & -start) or 8), access.grain)
    return SharedCells(
        dense=dense,
        atomic=any(access.kind == "atomic" for access, _ in touching),
        any=any(name != JOINS.name for name in roots.offsets),
        shift=_log(min((access.grain for access, _ in touching), default=8)),
        counted={start: layout.sizes.get(start, -1) for start in sorted(starts)} if dense else {},
        sizes={start: _log(grain) for start, grain in grains.items()},
    )


def _log(grain: int) -> int:
    return min(grain, 8).bit_length() - 1
