"""The entry of a kernel whose blocks wait for each other, as LLVM IR text.

Such a block is left before it has ended, and resumed later: each has memory of its own until it ends. All blocks
that the entry is given run in turns on one thread, from the first to the last and back. A new one begins when those
before it have ended or wait; if none gets on, twice as many begin as the last time. The entry returns what that of
other kernels returns, or STRANDED or SPINS; launch has one more field, {i64 nanoseconds} at 32: how long threads may
wait in vain, 0 for ever.
"""

from __future__ import annotations

import math

from gridjit.compiler.targets.host.blocks.coresident_rounds import MOST_BLOCKS, RECORD, rounds
from gridjit.compiler.targets.host.emit.block_memory import MOST_MEMORY, memory_parts, memory_size
from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES, launch_loads, note_stack
from gridjit.compiler.targets.host.emit.plan import NO_MEMORY, LoopPlan
from gridjit.compiler.values.launch_config import Dim3

# Blocks of a grid that synchronizes are all there at once, and may have more memory.
_MOST_OF_A_GRID = 1 << 33
_CLUSTER = "gridjit.cluster.of.blocks"
_STATE = ("next", "live", "ended", "wave", "idle", "since", "back")


def resident_entry(plan: LoopPlan) -> str:
    """Return the entry, and the functions it calls of the C library."""
    alone = math.prod(plan.cluster) == 1
    head = f"define i32 @{plan.entry}" if alone else f"define internal i32 @{_CLUSTER}"
    return "\n".join(
        [
            *([] if alone else _each_cluster(plan)),
            f"{head}(ptr %params, ptr %launch, i64 %first, i64 %last, ptr %status) nounwind {{",
            "entry:",
            *note_stack(plan),
            *launch_loads(),
            *(f"  %{name} = alloca i64" for name in _STATE),
            "  %moved = alloca i8",
            "  %opened = alloca i8",
            "  %time = alloca [2 x i64]",
            *(f"  store i64 0, ptr %{name}" for name in _STATE),
            "  store i64 %first, ptr %next",
            "  store i64 1, ptr %wave",
            *_room(plan),
            *rounds(plan, alone=alone),
            "}",
            *_one_block(plan),
            "declare ptr @aligned_alloc(i64, i64)",
            "declare ptr @malloc(i64)",
            "declare void @free(ptr)",
            "declare i32 @clock_gettime(i32, ptr)",
            "",
        ]
    )


def _room(plan: LoopPlan) -> list[str]:
    """Return the code that makes room for the records of the blocks that may be there at once."""
    together = plan.first_turn > plan.first_of_grid
    return [
        *memory_size(plan),
        "  %count = sub i64 %last, %first",
        "  %whole.size = add i64 %size, 64",
        f"  %by.memory = udiv i64 {_MOST_OF_A_GRID if together else MOST_MEMORY}, %whole.size",
        f"  %one.fits = icmp ule i64 %size, {MOST_MEMORY}",
        "  %all.fit = icmp ule i64 %count, %by.memory",
        f"  %fits = and i1 %one.fits, {'%all.fit' if together else 'true'}",
        f"  %most = call i64 @llvm.umin.i64(i64 %by.memory, i64 {_MOST_OF_A_GRID if together else MOST_BLOCKS})",
        "  %some = call i64 @llvm.umin.i64(i64 %most, i64 %count)",
        "  %capacity = call i64 @llvm.umax.i64(i64 %some, i64 1)",
        "  br i1 %fits, label %take, label %no.memory",
        "take:",
        f"  %table.bytes = mul i64 %capacity, {RECORD}",
        "  %table = call ptr @malloc(i64 %table.bytes)",
        "  %missing = icmp eq ptr %table, null",
        "  br i1 %missing, label %no.memory, label %round",
        "no.memory:",
        f"  store i32 {NO_MEMORY}, ptr %status, align 4",
        f"  ret i32 {NO_MEMORY}",
    ]


def _each_cluster(plan: LoopPlan) -> list[str]:
    """Return the entry of a kernel whose clusters wait: it runs one after the other, each as a grid of its own."""
    return [
        f"define i32 @{plan.entry}(ptr %params, ptr %launch, i64 %first, i64 %last, ptr %status) nounwind {{",
        "entry:",
        "  br label %next",
        "next:",
        "  %from = phi i64 [ %first, %entry ], [ %to, %one ]",
        "  %more = icmp slt i64 %from, %last",
        "  br i1 %more, label %one, label %well",
        "one:",
        f"  %to = add i64 %from, {math.prod(plan.cluster)}",
        f"  %code = call i32 @{_CLUSTER}(ptr %params, ptr %launch, i64 %from, i64 %to, ptr %status)",
        "  %failed = icmp ne i32 %code, 0",
        "  br i1 %failed, label %ill, label %next",
        "ill:",
        "  ret i32 %code",
        "well:",
        "  ret i32 0",
        "}",
    ]


def _place(cluster: Dim3) -> list[str]:
    """Return the code that finds a block's place from its number: blocks are numbered cluster by cluster."""
    x, y, z = cluster
    return [
        *(f"  %grid.{a} = zext nneg i32 %nctaid.{a} to i64" for a in "xy"),
        f"  %wide = udiv i64 %grid.x, {x}",
        f"  %high = udiv i64 %grid.y, {y}",
        f"  %c = udiv i64 %b, {x * y * z}",
        f"  %rank = urem i64 %b, {x * y * z}",
        "  %c.row = udiv i64 %c, %wide",
        "  %c.x = urem i64 %c, %wide",
        "  %c.y = urem i64 %c.row, %high",
        "  %c.z = udiv i64 %c.row, %high",
        f"  %rank.row = udiv i64 %rank, {x}",
        f"  %rank.x = urem i64 %rank, {x}",
        f"  %rank.y = urem i64 %rank.row, {y}",
        f"  %rank.z = udiv i64 %rank.row, {y}",
        *(
            line
            for a, size in zip("xyz", cluster, strict=True)
            for line in (f"  %first.{a} = mul i64 %c.{a}, {size}", f"  %b.{a} = add i64 %first.{a}, %rank.{a}")
        ),
    ]


def _one_block(plan: LoopPlan) -> list[str]:
    """Return the function that finds a block's place and memory, and has it take its turn."""
    return [
        "define internal i32 @gridjit.turn.of(ptr %params, ptr %launch, ptr %record, ptr %status, i32 %how) nounwind {",
        "entry:",
        *launch_loads(),
        *memory_size(plan),
        "  %memory = load ptr, ptr %record",
        "  %number.at = getelementptr i8, ptr %record, i64 8",
        "  %b = load i64, ptr %number.at",
        *memory_parts(plan),
        *_place(plan.cluster),
        "  %ctaid.x = trunc nuw nsw i64 %b.x to i32",
        "  %ctaid.y = trunc nuw nsw i64 %b.y to i32",
        "  %ctaid.z = trunc nuw nsw i64 %b.z to i32",
        f"  %code = call i32 @gridjit.block({CONTEXT_VALUES.replace('%shared', '%memory')}, i32 %how)",
        "  ret i32 %code",
        "}",
    ]
