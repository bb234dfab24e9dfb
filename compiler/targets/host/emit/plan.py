"""Plan: the properties that the loops around a kernel's regions depend on, and the codes with which they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridjit.compiler.targets.host.analysis.collapsible import CollapsibleAxis
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Parameter
from gridjit.compiler.targets.host.ir.contexts import Slot
from gridjit.compiler.targets.host.ir.warp_operations import Collective
from gridjit.compiler.targets.host.passes.peeling import Stop
from gridjit.compiler.targets.host.passes.privatization import PrivatizedArray
from gridjit.compiler.values.launch_config import Dim3

ROWS, PLANES = "rows", "planes"
# Codes that no kernel returns. With the last three, the status has other numbers where the thread's place would be: its
# number in the block, lanes as bits, and the number of an operation's kind (ir/warp_kinds.py).
DIVERGENT = -1
NO_MEMORY = -2
# Blocks wait for the grid, and others have ended.
STRANDED = -3
# No thread can continue; less the number of the cut that ends the loop's turns of the thread that is named.
SPINS = -100_000
# Lanes of a mask that did not come; a lane that is not in its own mask; a lane that is read but takes no part.
MISSING = -11
OUTSIDE = -12
ABSENT = -13


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPlan:
    """The properties that the loops around a kernel's regions depend on.

    regions: how many there are.
    guarded: whether the kernel has a guard. bounded: whether there is a function that finds where in a row the guard
    holds. quiet: whether threads that do not pass it only end.
    culling: whether there is a function that tells which blocks do nothing.
    strided: whether the kernel is one iteration of a grid-stride loop. inner: the axis of a row. collapsed: the axes
    along which blocks may be run as one.
    fails: whether a thread can return an exception code. checked: whether what CUDA leaves undefined is an error.
    parallel: whether the threads' accesses are independent between barriers.
    shared, slab: static shared bytes of a block, and slab bytes of a thread. dynamic: whether dynamic shared memory is
    used. align: of a block's memory, and of each thread's arrays in it.
    bank: bytes of the values that all threads share. uniforms: these. renewed: those that each region may change.
    convergent: for each region, whether all threads of a block end it in one state.
    collectives: what threads do together before each region; None for the first. cells: where in the slab is what they
    give and get. loose: for each region, whether threads that wait for it may be in different iterations of a loop.
    first_of_grid: the first cut at which the grid waits. first_turn: the first that ends a turn of a spin loop.
    progress: where in the bank threads note that they changed something in a turn. cluster: the blocks that waits for
    the grid are for, if not for all.
    recursive: whether there are functions that call themselves, and so look at the stack.
    widest: whether vectors of 512 bits are worth using.
    versioned: for each region, whether its rows have a version for contiguous access (passes/loop_versioning.py).
    split: whether its rows are run in parts between the places where its conditions change
    (passes/index_set_splitting.py). straight: whether these places are the same in all of its rows.
    stops: for each region, the places along a row where threads are run by themselves; empty if no region has any.
    sunk: for each region, whether these threads are run after their row (passes/sinking.py).
    divided: whether there are divisions that some threads of a row skip (passes/divisions.py).
    privatized: the arrays that a run of blocks adds to in a copy. others: the addresses and dimensions of the other
    arrays that it uses.
    unread: the axes along which no thread asks for its place. scattered: for each region, whether its loops over
    threads are not worth vectors.
    """

    entry: str
    parameters: tuple[Parameter, ...]
    regions: int
    guarded: bool
    culling: bool
    bounded: bool
    quiet: bool
    strided: bool
    inner: str
    collapsed: tuple[CollapsibleAxis, ...]
    fails: bool
    parallel: bool
    shared: int
    slab: int
    bank: int
    uniforms: tuple[Slot, ...]
    renewed: tuple[tuple[Slot, ...], ...]
    convergent: tuple[bool, ...]
    dynamic: bool
    first_of_grid: int
    first_turn: int
    progress: int
    collectives: tuple[Collective | None, ...] = (None,)
    cells: Mapping[str, int] = field(default_factory=dict)
    loose: tuple[bool, ...] = (False,)
    checked: bool = False
    align: int = 64
    widest: bool = False
    recursive: bool = False
    versioned: tuple[bool, ...] = ()
    split: tuple[bool, ...] = ()
    straight: tuple[bool, ...] = ()
    divided: bool = False
    stops: tuple[tuple[Stop, ...], ...] = ()
    sunk: tuple[bool, ...] = ()
    cluster: Dim3 = (1, 1, 1)
    privatized: tuple[PrivatizedArray, ...] = ()
    others: tuple[tuple[int, int], ...] = ()
    unread: frozenset[str] = frozenset()
    scattered: tuple[bool, ...] = ()

    @property
    def attributes(self) -> str:
        """The attributes of functions that loop over threads: they are optimized once, where they are.

        They begin with a line of the processor's cache: short loops are slower in some places of it than in others.
        """
        width = ' "prefer-vector-width"="512"' if self.widest else ""
        return f"nounwind noinline{width} align 64"

    @property
    def outside(self) -> str:
        """The unit for which functions that loop over threads are called: ROWS, PLANES, or "" for whole blocks.

        Along an axis that no thread asks for, blocks nearly always have one thread. A loop over it would take LLVM as
        long as any other, in each of the functions.
        """
        if self.resident or "z" not in self.unread:
            return ""
        return ROWS if self.inner == "x" and "y" in self.unread else PLANES

    @property
    def resident(self) -> bool:
        """Whether blocks wait for other blocks, so that they are left before they have ended."""
        return self.first_of_grid < self.regions

    @property
    def watched(self) -> bool:
        """Whether the result of each thread must be looked at."""
        return self.regions > 1 or self.fails

    @property
    def narrowed(self) -> bool:
        """Whether the threads that do not pass the guard are left out of the loops after it, where others only wait."""
        alone = self.bounded and self.quiet and not self.convergent[0] and not self.checked
        alone = alone and 1 < self.regions == self.first_turn and not self.resident
        return alone and all(one is None or one.kind == warp_kinds.BARRIER for one in self.collectives)

    @property
    def scratch(self) -> bool:
        """Whether a run needs memory of its own."""
        return self.watched or self.shared > 0 or self.bank > 0 or self.dynamic

    @property
    def bank_bytes(self) -> int:
        """The bytes of a bank. There are two: one that a region's threads read, and one that they fill for the next."""
        return -(-self.bank // 64) * 64

    @property
    def parts(self) -> bool:
        """Whether some threads of a block may wait where others do not, or do something together that takes a part."""
        return not all(self.convergent) or any(
            one is not None and one.kind != warp_kinds.BARRIER for one in self.collectives
        )

    @property
    def reports(self) -> bool:
        """Whether a block that ends early may have to be searched for the thread to report."""
        return self.fails or (self.regions > 1 and self.parts)

    def alike(self, number: int) -> int:
        """Return the first region before which threads do the same together: they share its functions."""
        return self.collectives.index(self.collectives[number])

    @property
    def of_warps(self) -> bool:
        """Whether lanes of a warp do something together."""
        return any(one is not None and not warp_kinds.of_block(one.kind) for one in self.collectives)
