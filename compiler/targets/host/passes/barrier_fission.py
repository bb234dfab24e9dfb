"""Barrier fission: a kernel cut at its barriers into regions that a thread can run to the end without waiting.

cuda.syncthreads ends one region and begins the next. One loop runs a region for all threads of a block, the next loop
the region that they all wait for. What a thread still needs beyond a barrier is computed again (coordinates,
addresses), kept once in the block's bank if all threads share it, or kept in the block's slab, one array per value, so
that the loop over the threads stays a plain, vectorizable loop. The kernel's own control flow decides which region
comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.barriers import SplitBlocks, goes_on, split
from gridjit.compiler.targets.host.analysis.convergence import has_convergent_exit, loose_regions
from gridjit.compiler.targets.host.analysis.exit_edges import without_exit_edges
from gridjit.compiler.targets.host.analysis.induction_variables import induction_variables
from gridjit.compiler.targets.host.analysis.postdominators import postdominators
from gridjit.compiler.targets.host.analysis.uniformity import lasting_values, uniform_values
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.ir.contexts import Slot, ValueType, lay_out
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.ir.warp_operations import Collective, cells
from gridjit.compiler.targets.host.passes.index_set_splitting import IndexSetSplit, SplitRegion, split_region
from gridjit.compiler.targets.host.passes.loop_versioning import Versioned, version_text
from gridjit.compiler.targets.host.passes.outlining import OutlinedBlocks, outlined
from gridjit.compiler.targets.host.passes.peeling import Peeled
from gridjit.compiler.targets.host.passes.region_text import CutKernel, RegionWriter, names_made, names_used
from gridjit.compiler.targets.host.passes.rematerialization import rematerialized
from gridjit.compiler.targets.host.passes.sinking import sunk_text

# Bytes of the bank where progress is noted.
_PROGRESS = 16
# Bytes of local arrays that may lie on a stack; a small thread's has 32 KB.
_MOST_ON_STACK = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """A kernel cut at its barriers. regions[0] starts the kernel; regions[k] goes on after barrier k.

    texts: one function definition per region, and behind them those that regions share. count: how many regions there
    are.
    slab: bytes per thread. align: what local arrays in that memory need.
    bank: its bytes. uniforms: the values in it, in the order of the regions' parameters. renewed: for each region, the
    uniforms that it may leave changed.
    parallel: whether LLVM may take the threads' memory accesses for independent.
    convergent: for each region, whether all threads of a block end it at one place.
    first_of_grid, first_turn: the number of the first cut at which the grid waits, and of the first that ends a turn of
    a spin loop; the number of regions if there is none. progress: where in the bank threads note that they
    changed something in a turn.
    collectives: what threads do together before each region; None for the first. cells: where the slab keeps what they
    give and get. loose: for each region, whether threads that wait for it may be in different iterations of a loop.
    versions: for each region, the function that tells whether a row of threads can run its version for contiguous
    access; "" if it has none. splits: the function that finds where the parts of a row end; "" if rows are not run in
    parts. sunk: the function that does what peeled threads do by themselves, after their row; "" if they do it in its
    midst.
    """

    texts: tuple[str, ...]
    count: int
    slab: int
    uniforms: tuple[Slot, ...]
    renewed: tuple[tuple[Slot, ...], ...]
    bank: int
    parallel: bool
    convergent: tuple[bool, ...]
    first_of_grid: int
    first_turn: int
    progress: int
    collectives: tuple[Collective | None, ...]
    cells: Mapping[str, int]
    loose: tuple[bool, ...]
    align: int
    versions: tuple[str, ...]
    splits: tuple[str, ...]
    sunk: tuple[str, ...]


def cut_at_barriers(
    body: Body,
    types: Mapping[str, ValueType],
    arrays: Mapping[str, ValueType],
    staying: Callable[[Collection[Block]], tuple[Block, ...]] = tuple,
    versioning: Versioned | None = None,
    splitting: IndexSetSplit | None = None,
    peeling: Peeled | None = None,
) -> Regions:
    """Return body cut into regions. types: of its values. arrays: of its local arrays.

    versioning: what body tests unless a row of threads is plain. splitting: what it tests for parts of rows. peeling:
    what it tests for peeled threads alone. staying: returns blocks without the ways on which threads end, and their
    grid with them, if any are known.
    """
    parts = split(body)
    many = len(parts.starts) > 1
    own = cells([one for one in parts.collectives if one])
    arrays = {**arrays, **own}
    given = {parameter.name for parameter in (*PLACE, *body.parameters)}
    used = outlined(parts.blocks, parts.starts, _known(body, given, types, arrays))
    live = used.live
    crossing = sorted(set().union(*(live[start] for start in (*parts.starts[1:], *used.starts))) - given)
    again = rematerialized(body, crossing, given | set(arrays))
    kept = [name for name in crossing if name not in again and name not in arrays]
    # Threads are in different iterations of spin loops, so they share no value.
    stays = replace(body, blocks=_staying(staying(body.blocks), parts))
    same = uniform_values(stays) if many and parts.first_turn == len(parts.starts) else frozenset()
    lasting = lasting_values(body, same)
    pieces = staying(tuple(parts.blocks.values()))
    apart = replace(parts, blocks={block.label: block for block in _staying(pieces, parts)})
    loose = loose_regions(stays, apart, same)
    changing = _changing(parts, loose, live, lasting)
    places = _places(
        {name: types[name] for name in kept}, arrays if many else {}, same - changing, induction_variables(body)
    )
    in_turn, bank = lay_out({} if many or _fit_stack(arrays) else arrays)
    whole = _cut(body, parts, used, again, places, in_turn)
    writers = [RegionWriter(whole=whole, number=number) for number in range(len(whole.starts))]
    texts = [_split_region(splitting, writer, used) for writer in writers]
    parallel = (many or not arrays) and parts.first_turn == len(parts.starts)
    return Regions(
        texts=tuple(one.region for one in texts),
        count=len(parts.starts),
        slab=places.slab,
        uniforms=whole.uniforms,
        renewed=_renewed(writers, whole)[: len(parts.starts)],
        bank=places.bank + bank + (_PROGRESS if whole.takes_turns else 0),
        parallel=parallel,
        convergent=_convergent(parts, [lasting if alone else same for alone in loose])
        if many and parts.first_of_grid == len(parts.starts)
        else (False,) * len(parts.starts),
        first_of_grid=parts.first_of_grid,
        first_turn=parts.first_turn,
        progress=whole.progress,
        collectives=parts.collectives,
        cells={name: places.arrays[name].offset for name in own},
        loose=loose,
        align=max([1, *(array.align for array in arrays.values())]),
        versions=tuple(_version(versioning, writer, used) for writer in writers[: len(parts.starts)]),
        splits=tuple(one.ends for one in texts[: len(parts.starts)]),
        sunk=tuple(
            _sunk(peeling, writer, text.region, used) if peeling and parallel else ""
            for writer, text in zip(writers[: len(parts.starts)], texts, strict=False)
        ),
    )


def _split_region(splitting: IndexSetSplit | None, writer: RegionWriter, used: OutlinedBlocks) -> SplitRegion:
    """Return a region's text, with the function that finds the parts of its rows."""
    text = writer.text()
    if splitting is None:
        return SplitRegion(region=text)
    return split_region(splitting, writer.number, text, writer.values(), writer.whole.every, alone=not used.starts)


def _version(versioning: Versioned | None, writer: RegionWriter, used: OutlinedBlocks) -> str:
    """Return the function that tells whether a row of threads is plain; "" if none can, or another region goes on."""
    if versioning is None or used.starts:
        return ""
    return version_text(versioning, writer.number, writer.values(), writer.whole.every)


def _sunk(peeling: Peeled, writer: RegionWriter, text: str, used: OutlinedBlocks) -> str:
    """Return the function of a region's peeled threads; "" if code goes on elsewhere."""
    stops = peeling.of(text)
    return sunk_text(writer, peeling.axis, stops) if stops and not used.starts else ""


def _staying(blocks: tuple[Block, ...], parts: SplitBlocks) -> tuple[Block, ...]:
    """Return blocks without the ways on which threads only end, if the others then go on together.

    They do unless warps, or co-resident blocks, continue by themselves.
    """
    together = all(one is None or one.kind < warp_kinds.GRID for one in parts.collectives)
    return without_exit_edges(blocks) if together else blocks


def _changing(
    parts: SplitBlocks, loose: Sequence[bool], live: Mapping[str, frozenset[str]], lasting: frozenset[str]
) -> frozenset[str]:
    """Return the values in loose regions of which each thread keeps its own: their bank may not have them yet.

    A warp takes several steps there before the bank is renewed, so what one of these steps makes is the warp's own, and
    so is what an iteration changes.
    """
    starts = [start for start, alone in zip(parts.starts, loose, strict=True) if alone]
    inside = reached(starts, lambda label: goes_on(parts.blocks[label]))
    there = frozenset[str]().union(*names_made({label: parts.blocks[label] for label in inside}).values())
    return frozenset[str]().union(*(live[start] for start in starts)) - (lasting - there)


def _fit_stack(arrays: Mapping[str, ValueType]) -> bool:
    """Return whether local arrays fit on the stack. Else, without barriers, threads use the same memory in turn."""
    return sum(array.stride for array in arrays.values()) <= _MOST_ON_STACK


def _convergent(parts: SplitBlocks, same: Sequence[frozenset[str]]) -> tuple[bool, ...]:
    """Return whether all threads end each region at one place; same: the values that they share when they begin it."""
    meet = postdominators(parts.blocks)
    return tuple(has_convergent_exit(parts.blocks, *begun, meet) for begun in zip(parts.starts, same, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The slots of the kept values and arrays. slab: bytes of a thread, bank: bytes of a block."""

    slots: Mapping[str, Slot]
    arrays: Mapping[str, Slot]
    slab: int
    bank: int


def _places(
    kept: Mapping[str, ValueType], arrays: Mapping[str, ValueType], same: frozenset[str], counting: frozenset[str]
) -> _Places:
    """Return the slots of kept values and arrays: in the bank for uniform values (same), in the slab for the rest."""
    apart = {name: kind for name, kind in kept.items() if name not in same}
    slots, slab = lay_out({**apart, **arrays})
    outlined, bank = lay_out({name: kind for name, kind in kept.items() if name in same})
    slots |= {
        name: replace(slot, number=number, counts=name in counting)
        for number, (name, slot) in enumerate(outlined.items())
    }
    return _Places(
        slots={name: slots[name] for name in kept},
        arrays={name: slots[name] for name in arrays},
        slab=slab,
        bank=bank,
    )


def _cut(
    body: Body,
    parts: SplitBlocks,
    used: OutlinedBlocks,
    again: Mapping[str, str],
    places: _Places,
    in_turn: Mapping[str, Slot],
) -> CutKernel:
    made, read = names_made(used.blocks), names_used(used.blocks)
    starts = (*parts.starts, *used.starts)
    return CutKernel(
        parameters=(*PLACE, *body.parameters),
        blocks=used.blocks,
        starts=starts,
        cuts=len(parts.starts),
        live=tuple(used.live[start] for start in starts),
        again=again,
        slots=places.slots,
        arrays=places.arrays,
        in_turn=in_turn,
        first_turn=parts.first_turn,
        progress=places.bank,
        mentioned={label: read[label] | made[label] for label in used.blocks},
        made=made,
    )


def _known(
    body: Body, given: Collection[str], types: Mapping[str, ValueType], arrays: Mapping[str, ValueType]
) -> Callable[[Collection[str]], bool]:
    """Return a function that tells whether regions can get all of some values: kept, or rematerialized."""

    def known(names: Collection[str]) -> bool:
        rest = set(names).difference(given, types, arrays)
        return not rest or rest <= set(rematerialized(body, sorted(rest), set(given) | set(arrays)))

    return known


def _renewed(writers: Sequence[RegionWriter], whole: CutKernel) -> tuple[tuple[Slot, ...], ...]:
    """Return, for each function, the values in the bank that it or those that it goes on with give new values."""
    makes = [set(writer.makes()) for writer in writers]
    goes_on = [writer.passes_to() for writer in writers]
    changed = True
    while changed:
        changed = False
        for names, after in zip(makes, goes_on, strict=True):
            before = len(names)
            names.update(*(makes[number] for number in after))
            changed |= len(names) > before
    return tuple(tuple(slot for slot in whole.uniforms if slot.name in names) for names in makes)
