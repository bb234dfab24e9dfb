"""Entry: the function that runs blocks of a kernel - loops over blocks, regions and threads - as LLVM IR text.

    i32 entry(ptr params, ptr launch, i64 first, i64 last, ptr status)

params: the kernel's parameters, each at its natural alignment. launch: {i32 griddim[3]; i32 blockdim[3]; i32 dynamic
shared bytes}. It runs blocks first to last-1 (x fastest) and returns 0, the first exception code (1 and up) or a
reserved negative code; unless 0, status = {i32 code; i32 block[3]; i32 thread[3]} is filled. The memory that blocks
need is allocated by the C library and freed before the return. If last is less than first, no block is run, and the
entry may tell which blocks do anything (empty_blocks.py). Blocks that wait for other blocks are run by another
entry (coresident_entry.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridjit.compiler.targets.host.blocks.collapsing import block_loop
from gridjit.compiler.targets.host.blocks.coresident_block import resident_block
from gridjit.compiler.targets.host.blocks.coresident_entry import resident_entry
from gridjit.compiler.targets.host.blocks.coresident_runs import resident_run, resident_runs
from gridjit.compiler.targets.host.blocks.privatized_entry import BLOCKS, privatized_entry
from gridjit.compiler.targets.host.blocks.scheduler import watched_block
from gridjit.compiler.targets.host.emit.block_memory import MOST_MEMORY, memory_parts, memory_size
from gridjit.compiler.targets.host.emit.empty_blocks import culling_functions, empty_block_ends
from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES, launch_loads, note_stack
from gridjit.compiler.targets.host.emit.metadata import metadata
from gridjit.compiler.targets.host.emit.plan import NO_MEMORY, LoopPlan
from gridjit.compiler.targets.host.emit.privatized_operations import privatized_operations
from gridjit.compiler.targets.host.emit.region_runs import plain_block, region_run
from gridjit.compiler.targets.host.emit.reports import report
from gridjit.compiler.targets.host.emit.work_item_loops import ThreadLoops
from gridjit.compiler.targets.host.warps.divergent_warps import divergent_warps
from gridjit.compiler.targets.host.warps.exchange import exchange, tables
from gridjit.compiler.targets.host.warps.lanes import lane_runs
from gridjit.compiler.targets.host.warps.warp_step import warp_step
from gridjit.compiler.targets.host.warps.whole_blocks import meeting, meets
from gridjit.compiler.targets.host.warps.whole_warps import warp_waits, whole


def entry_text(plan: LoopPlan) -> str:
    """Return the functions that run plan's kernel, and the metadata they use."""
    loops = ThreadLoops(divided=plan.divided, outside=plan.outside)
    if plan.resident:
        runs = [resident_run(plan, loops, number, kind) for number, kind in resident_runs(plan)]
        parts = [resident_entry(plan), resident_block(plan), *runs, report(), *_waits(plan)]
        return "\n".join([*parts, metadata(loops.vectorized, parallel=plan.parallel, lanes=plan.regions)])
    if plan.watched:
        blocks = _watched(plan, loops)
    else:
        loops = replace(loops, inner=plan.inner, width="%width", depth="%depth")
        blocks = [plain_block(plan, loops)]
    declared = ["declare ptr @aligned_alloc(i64, i64)", "declare void @free(ptr)"]
    return "\n".join(
        [
            *_entries(plan),
            *culling_functions(plan),
            *blocks,
            *declared,
            metadata(loops.vectorized, parallel=plan.parallel, lanes=plan.regions),
        ]
    )


def _watched(plan: LoopPlan, loops: ThreadLoops) -> list[str]:
    first, *others = [region_run(plan, loops, number) for number in range(plan.regions)]
    reports = [report()] if plan.reports else []
    waits = _waits(plan) if plan.regions > 1 and plan.parts else []
    return [first, watched_block(plan), *reports, *others, *waits]


def _waits(plan: LoopPlan) -> list[str]:
    """Return the functions for operations of warps and blocks."""
    meetings = (meeting(plan, number) for number in _unlike(plan, meets(plan)))
    waits = [tables(plan), lane_runs(plan), divergent_warps(plan), *meetings]
    lanes = [exchange(plan), warp_step(plan), *(whole(plan, number) for number in _unlike(plan, warp_waits(plan)))]
    return [*waits, *(lanes if plan.of_warps else [])]


def _unlike(plan: LoopPlan, numbers: Sequence[int]) -> list[int]:
    """Return the regions before which threads do something that they do not do before any earlier region."""
    return [number for number in numbers if plan.alike(number) == number]


def _entries(plan: LoopPlan) -> list[str]:
    """Return the entry; where arrays are gathered, one that does that and calls the other, with their operations."""
    if not plan.privatized:
        return [_entry(plan, f"define i32 @{plan.entry}", "nounwind")]
    blocks = _entry(plan, f"define internal i32 @{BLOCKS}", "nounwind noinline")
    return [privatized_entry(plan), blocks, privatized_operations(plan.privatized)]


def _entry(plan: LoopPlan, head: str, attributes: str) -> str:
    return "\n".join(
        [
            f"{head}(ptr noalias %params, ptr noalias %launch, i64 %first, i64 %last, "
            f"ptr noalias %status) {attributes} {{",
            "entry:",
            *empty_block_ends(plan),
            *note_stack(plan),
            *launch_loads(),
            *(_take_memory(plan) if plan.scratch else ["  br label %ready", "ready:"]),
            *block_loop(plan, _block_values(plan)),
            *(["  call void @free(ptr %memory)"] if plan.scratch else []),
            "  ret i32 %result",
            "}",
            "",
        ]
    )


def _take_memory(plan: LoopPlan) -> list[str]:
    """Return the code that allocates a block's memory - shared, slab, two banks, states - or returns NO_MEMORY."""
    return [
        *memory_size(plan),
        # The system may promise more memory than it has, and end the process that uses it.
        f"  %fits = icmp ule i64 %size, {MOST_MEMORY}",
        "  br i1 %fits, label %take, label %no.memory",
        "take:",
        f"  %memory = call noalias ptr @aligned_alloc(i64 {plan.align}, i64 %size)",
        "  %missing = icmp eq ptr %memory, null",
        "  br i1 %missing, label %no.memory, label %ready",
        "no.memory:",
        f"  store i32 {NO_MEMORY}, ptr %status, align 4",
        f"  ret i32 {NO_MEMORY}",
        "ready:",
        *memory_parts(plan),
    ]


def _block_values(plan: LoopPlan) -> str:
    """Return the arguments of the block function; without memory of its own they are null pointers."""
    if plan.scratch:
        return CONTEXT_VALUES.replace("%shared", "%memory")
    values = CONTEXT_VALUES
    for name in ("%shared", "%slab", "%bank", "%states"):
        values = values.replace(name, "null")
    return values
