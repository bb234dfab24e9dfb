"""Entry: the function that runs blocks of a kernel - loops over blocks, regions and threads - as LLVM IR text.

    i32 entry(ptr params, ptr launch, i64 first, i64 last, ptr status)

params: the kernel's parameters, each at its natural alignment. launch: {i32 griddim[3]; i32 blockdim[3]; i32 dynamic
shared bytes}. It runs blocks first to last-1 (x fastest) and returns 0, the first exception code (1 and up) or a
reserved negative code; unless 0, status = {i32 code; i32 block[3]; i32 thread[3]} is filled. The memory that blocks
need is allocated by the C library and freed before the return.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.collectives.apart import apart
from gridjit.compiler.targets.host.collectives.exchange import exchange, tables
from gridjit.compiler.targets.host.collectives.full import meeting, meets
from gridjit.compiler.targets.host.collectives.lanes import lane_runs
from gridjit.compiler.targets.host.collectives.step import warp_step
from gridjit.compiler.targets.host.collectives.whole import warp_waits, whole
from gridjit.compiler.targets.host.loops.block import watched_block
from gridjit.compiler.targets.host.loops.boxes import block_loop
from gridjit.compiler.targets.host.loops.frame import CONTEXT_VALUES, launch_loads
from gridjit.compiler.targets.host.loops.metadata import metadata
from gridjit.compiler.targets.host.loops.plan import NO_MEMORY, LoopPlan
from gridjit.compiler.targets.host.loops.reports import report
from gridjit.compiler.targets.host.loops.runs import plain_block, region_run
from gridjit.compiler.targets.host.loops.threads import ThreadLoops

# Bytes of a block: twice what 1,024 threads have on a GPU, with 512 KB of local memory each.
_MOST_MEMORY = 1 << 30


def entry_text(plan: LoopPlan) -> str:
    """Return the functions that run plan's kernel, and the metadata they use."""
    if plan.watched:
        loops = ThreadLoops()
        blocks = _watched(plan, loops)
    else:
        loops = ThreadLoops(inner=plan.inner, width="%width", depth="%depth")
        blocks = [plain_block(plan, loops)]
    declared = ["declare ptr @aligned_alloc(i64, i64)", "declare void @free(ptr)"]
    return "\n".join(
        [_entry(plan), *blocks, *declared, metadata(loops.vectorized, parallel=plan.parallel, lanes=plan.regions)]
    )


def _watched(plan: LoopPlan, loops: ThreadLoops) -> list[str]:
    first, *others = [region_run(plan, loops, number) for number in range(plan.regions)]
    waits = [tables(plan), lane_runs(plan), apart(plan), *(meeting(plan, number) for number in meets(plan))]
    lanes = [exchange(plan), warp_step(plan), *(whole(plan, number) for number in warp_waits(plan))]
    return [
        first,
        watched_block(plan),
        report(),
        *others,
        *(waits if plan.regions > 1 and plan.parts else []),
        *(lanes if plan.of_warps else []),
    ]


def _entry(plan: LoopPlan) -> str:
    return "\n".join(
        [
            f"define i32 @{plan.entry}(ptr noalias %params, ptr noalias %launch, i64 %first, i64 %last, "
            "ptr noalias %status) nounwind {",
            "entry:",
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
        "  %state.bytes = mul nuw nsw i64 %threads, 4" if plan.watched else "  %state.bytes = add i64 0, 0",
        f"  %slab.bytes = mul nuw nsw i64 %threads, {plan.slab}",
        "  %dynamic.bytes = zext i32 %dynamic to i64",
        f"  %shared.some = add nuw nsw i64 %dynamic.bytes, {plan.shared + plan.align - 1}",
        f"  %shared.bytes = and i64 %shared.some, -{plan.align}",
        f"  %slab.some = add nuw nsw i64 %slab.bytes, {plan.align - 1}",
        f"  %slab.end = and i64 %slab.some, -{plan.align}",
        "  %both = add nuw nsw i64 %shared.bytes, %slab.end",
        "  %sum = add nuw nsw i64 %both, %state.bytes",
        f"  %sum.some = add nuw nsw i64 %sum, {63 + plan.align + 2 * plan.bank_bytes}",
        f"  %size = and i64 %sum.some, -{plan.align}",
        # The system may promise more than it has, and end the process that uses it.
        f"  %fits = icmp ule i64 %size, {_MOST_MEMORY}",
        "  br i1 %fits, label %take, label %no.memory",
        "take:",
        f"  %memory = call noalias ptr @aligned_alloc(i64 {plan.align}, i64 %size)",
        "  %missing = icmp eq ptr %memory, null",
        "  br i1 %missing, label %no.memory, label %ready",
        "no.memory:",
        f"  store i32 {NO_MEMORY}, ptr %status, align 4",
        f"  ret i32 {NO_MEMORY}",
        "ready:",
        "  %slab = getelementptr inbounds i8, ptr %memory, i64 %shared.bytes",
        "  %bank = getelementptr inbounds i8, ptr %slab, i64 %slab.end",
        f"  %states = getelementptr inbounds i8, ptr %bank, i64 {2 * plan.bank_bytes}",
    ]


def _block_values(plan: LoopPlan) -> str:
    """Return the arguments of the block function; without memory of its own they are null pointers."""
    if plan.scratch:
        return CONTEXT_VALUES.replace("%shared", "%memory")
    values = CONTEXT_VALUES
    for name in ("%shared", "%slab", "%bank", "%states"):
        values = values.replace(name, "null")
    return values
