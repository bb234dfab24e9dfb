"""Loop collapsing: the loop over a chunk's blocks, which runs as many of them as the kernel allows as if they were one.

Blocks that lie side by side along a flat axis are run as one row of threads, up to the end of a row of the grid. If the
other axis is flat as well, all whole rows of the grid are run at once. Blocks are counted along the axis of a row of
threads first, so that a chunk is long in that direction.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.analysis.collapsible import CollapsibleAxis
from gridjit.compiler.targets.host.emit.empty_blocks import culling_steps
from gridjit.compiler.targets.host.emit.plan import ROWS, LoopPlan

# The threads of a row must be countable in 32 bits with a sign, with some to spare.
_MOST_BLOCKS = 1 << 20


def block_loop(plan: LoopPlan, values: str) -> list[str]:
    """Return the loop over the blocks first to last-1, which ends at the first that fails. values: the block's."""
    flat = {one.axis: one for one in plan.collapsed}
    along, across = plan.inner, "y" if plan.inner == "x" else "x"
    run = [] if plan.watched else [*_columns(flat.get(along)), *_rows(flat.get(across)), *_extent(along, across)]
    extent = "" if plan.watched else ", i32 %width, i32 %depth"
    step = "1" if plan.watched else "%b.count"
    outer, last = _outside(plan, values + extent, "go" if plan.culling else "block")
    ends = f"[ %code, %{last} ]{', [ 0, %skip ]' if plan.culling else ''}"
    return [
        f"  %wide = zext nneg i32 %nctaid.{along} to i64",
        f"  %high = zext nneg i32 %nctaid.{across} to i64",
        "  %any = icmp slt i64 %first, %last",
        "  br i1 %any, label %block, label %done",
        *culling_steps(plan),
        "  %b.along = urem i64 %b, %wide",
        "  %b.row = udiv i64 %b, %wide",
        "  %b.across = urem i64 %b.row, %high",
        "  %b.z = udiv i64 %b.row, %high",
        f"  %ctaid.{along} = trunc nuw nsw i64 %b.along to i32",
        f"  %ctaid.{across} = trunc nuw nsw i64 %b.across to i32",
        "  %ctaid.z = trunc nuw nsw i64 %b.z to i32",
        *run,
        *outer,
        "  %failed = icmp ne i32 %code, 0",
        "  br i1 %failed, label %done, label %passed",
        "passed:",
        f"  %b.next = add nuw nsw i64 %b, {step}",
        "  %more = icmp slt i64 %b.next, %last",
        "  br i1 %more, label %block, label %done",
        "done:",
        f"  %result = phi i32 [ 0, %ready ], [ 0, %passed ], {ends}",
    ]


def _outside(plan: LoopPlan, values: str, before: str) -> tuple[list[str], str]:
    """Return the lines that call the block function, for each row or plane if it is for one, and their last label."""
    if plan.watched or not plan.outside:
        return [f"  %code = call i32 @gridjit.block({values})"], before
    place = "%row.number" if plan.outside == ROWS else "%tid.z"
    rows = "%depth" if plan.outside == ROWS else "1"
    return [
        f"  %outside.rows = zext nneg i32 {rows} to i64",
        "  %outside.planes = zext nneg i32 %ntid.z to i64",
        "  %outside.count = mul nuw nsw i64 %outside.rows, %outside.planes",
        "  br label %outside",
        "outside:",
        f"  %outer = phi i64 [ 0, %{before} ], [ %outer.next, %outside ]",
        f"  {place} = trunc i64 %outer to i32",
        f"  %code = call i32 @gridjit.block({values}, i32 {place})",
        "  %outer.next = add nuw nsw i64 %outer, 1",
        "  %outer.more = icmp ult i64 %outer.next, %outside.count",
        "  br i1 %outer.more, label %outside, label %outside.over",
        "outside.over:",
    ], "outside.over"


def _columns(flat: CollapsibleAxis | None) -> list[str]:
    """Return the lines that leave in %b.columns how many blocks of a row of the grid are run as one."""
    if flat is None:
        return ["  %b.columns = add i64 1, 0"]
    return [
        "  %b.left = sub nuw nsw i64 %last, %b",
        "  %b.beside = sub nuw nsw i64 %wide, %b.along",
        "  %b.some = call i64 @llvm.umin.i64(i64 %b.left, i64 %b.beside)",
        f"  %b.most = call i64 @llvm.umin.i64(i64 %b.some, i64 {_MOST_BLOCKS})",
        *_if_sized(flat, "columns", "%b.most"),
    ]


def _rows(flat: CollapsibleAxis | None) -> list[str]:
    """Return the lines that leave in %b.rows how many rows of the grid are run as one; only whole ones are."""
    if flat is None:
        return ["  %b.rows = add i64 1, 0"]
    return [
        "  %b.whole = icmp eq i64 %b.columns, %wide",
        "  %b.ahead = sub nuw nsw i64 %last, %b",
        "  %b.fit = udiv i64 %b.ahead, %wide",
        "  %b.below = sub nuw nsw i64 %high, %b.across",
        "  %b.lines = call i64 @llvm.umin.i64(i64 %b.fit, i64 %b.below)",
        f"  %b.no.more = call i64 @llvm.umin.i64(i64 %b.lines, i64 {_MOST_BLOCKS})",
        "  %b.several = select i1 %b.whole, i64 %b.no.more, i64 1",
        *_if_sized(flat, "rows", "%b.several"),
    ]


def _if_sized(flat: CollapsibleAxis, name: str, count: str) -> list[str]:
    """Return the lines that leave count, or 1 if blocks do not have the size that the kernel takes them to have."""
    if not flat.size:
        return [f"  %b.{name} = add i64 {count}, 0"]
    return [
        f"  %b.{name}.fit = icmp eq i32 %ntid.{flat.axis}, {flat.size}",
        f"  %b.{name} = select i1 %b.{name}.fit, i64 {count}, i64 1",
    ]


def _extent(along: str, across: str) -> list[str]:
    """Return the lines that leave in %width and %depth how many threads are run along x and y."""
    extent = {"x": "%width", "y": "%depth"}
    return [
        "  %b.count = mul nuw nsw i64 %b.columns, %b.rows",
        "  %columns = trunc nuw nsw i64 %b.columns to i32",
        "  %rows = trunc nuw nsw i64 %b.rows to i32",
        f"  {extent[along]} = mul nuw nsw i32 %columns, %ntid.{along}",
        f"  {extent[across]} = mul nuw nsw i32 %rows, %ntid.{across}",
    ]
