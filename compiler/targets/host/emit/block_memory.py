"""Block memory: shared arrays, contexts and states of a block, and where the parts of it lie."""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.plan import LoopPlan

# Bytes of a block: twice what 1,024 threads have on a GPU, with 512 KB of local memory each.
MOST_MEMORY = 1 << 30
# Bytes of a thread's state, and of where a row of threads begins and ends; there are at least as many threads as rows.
_STATE, ROW = 4, 8


def memory_size(plan: LoopPlan) -> list[str]:
    """Return the code that computes %size, the bytes of a block's memory."""
    return [
        f"  %state.bytes = mul nuw nsw i64 %threads, {_STATE + plan.narrowed * ROW if plan.watched else 0}",
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
    ]


def memory_parts(plan: LoopPlan) -> list[str]:
    """Return the code that finds the parts of a block's memory."""
    return [
        "  %slab = getelementptr inbounds i8, ptr %memory, i64 %shared.bytes",
        "  %bank = getelementptr inbounds i8, ptr %slab, i64 %slab.end",
        f"  %states = getelementptr inbounds i8, ptr %bank, i64 {2 * plan.bank_bytes}",
    ]
