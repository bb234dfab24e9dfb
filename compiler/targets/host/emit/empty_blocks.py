"""Empty-block culling: the blocks of a range that do nothing, found by arithmetic on the kernel's first condition.

Blocks are counted as the entry counts them. A range stands for the smallest box of blocks around it: a part of a row of
the grid, whole rows of a plane, or whole planes. A larger range has a larger box, so a binary search finds its ends.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import arguments, launch_loads, parameter_loads
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.ir.cold_code import COLD
from gridjit.compiler.targets.host.passes.empty_blocks import OUTSIDE

# Fewer blocks are run without being searched.
_FEW = 32
# The most blocks that are run before the next ones are searched again.
_LOOK = 64
_SEARCH = "gridjit.idle.end"
_RANGE = "ptr noalias %params, ptr noalias %launch, i64 %from, i64 %to"
_NOWHERE = {
    **{f"tid_{axis}": "0" for axis in "xyz"},
    **{f"ctaid_{axis}": "0" for axis in "xyz"},
    **dict.fromkeys(("shared", "slab", "bank"), "null"),
    "thread": "0",
}


def culling_functions(plan: LoopPlan) -> list[str]:
    """Return the functions that search a range of blocks; none if it is not known which blocks do nothing."""
    return [_all_idle(plan), _search()] if plan.culling else []


def empty_block_ends(plan: LoopPlan) -> list[str]:
    """Return the entry's answer to a range that ends before it begins: where the blocks between that do anything lie.

    They are from the first to before the second of two numbers of 64 bits that it stores in place of a status.
    Other kernels leave there what the caller stored.
    """
    if not plan.culling:
        return []
    values = "ptr %params, ptr %launch"
    return [
        "  %asks = icmp slt i64 %last, %first",
        "  br i1 %asks, label %ends, label %runs",
        "ends:",
        f"  %ends.from = call i64 @{_SEARCH}({values}, i64 %last, i64 %first, i1 false)",
        f"  %ends.to = call i64 @{_SEARCH}({values}, i64 %ends.from, i64 %first, i1 true)",
        "  %ends.at = getelementptr inbounds i8, ptr %status, i64 8",
        "  store i64 %ends.from, ptr %status, align 4",
        "  store i64 %ends.to, ptr %ends.at, align 4",
        "  ret i32 0",
        "runs:",
    ]


def culling_steps(plan: LoopPlan) -> list[str]:
    """Return the start of the loop over blocks, which leaves in %b the next one that may do anything.

    Each time, twice as many blocks are run without a search.
    """
    if not plan.culling:
        return ["block:", "  %b = phi i64 [ %first, %ready ], [ %b.next, %passed ]"]
    return [
        "block:",
        "  %b = phi i64 [ %first, %ready ], [ %b.next, %passed ], [ %b.after, %skip ]",
        "  %stride = phi i64 [ 1, %ready ], [ %stride.now, %passed ], [ 1, %skip ]",
        "  %due = phi i64 [ %first, %ready ], [ %due.now, %passed ], [ %b.after, %skip ]",
        "  %ahead = sub nuw nsw i64 %last, %b",
        f"  %many = icmp uge i64 %ahead, {_FEW}",
        "  %is.due = icmp uge i64 %b, %due",
        "  %looks = and i1 %many, %is.due",
        "  br i1 %looks, label %look, label %go",
        "look:",
        f"  %b.after = call i64 @{_SEARCH}(ptr %params, ptr %launch, i64 %b, i64 %last, i1 false)",
        "  %found = icmp ugt i64 %b.after, %b",
        "  br i1 %found, label %skip, label %on",
        "skip:",
        "  %b.stays = icmp ult i64 %b.after, %last",
        "  br i1 %b.stays, label %block, label %done",
        "on:",
        "  %twice = shl nuw nsw i64 %stride, 1",
        f"  %longer = call i64 @llvm.umin.i64(i64 %twice, i64 {_LOOK})",
        "  %later = add nuw nsw i64 %b, %stride",
        "  br label %go",
        "go:",
        "  %stride.now = phi i64 [ %stride, %block ], [ %longer, %on ]",
        "  %due.now = phi i64 [ %due, %block ], [ %later, %on ]",
    ]


def _all_idle(plan: LoopPlan) -> str:
    """Return the function that tells whether all blocks of a range, which is not empty, do nothing."""
    along, across = plan.inner, "y" if plan.inner == "x" else "x"
    given = arguments(plan.parameters, "false", **_NOWHERE)
    box = ", ".join(f"i32 %{end}.{axis}" for axis in "xyz" for end in ("first", "last"))
    return "\n".join(
        [
            f"define internal i1 @gridjit.idle({_RANGE}) noinline nounwind {COLD} {{",
            "entry:",
            *launch_loads(),
            *parameter_loads(plan.parameters),
            f"  %wide = zext nneg i32 %nctaid.{along} to i64",
            f"  %high = zext nneg i32 %nctaid.{across} to i64",
            "  %end = sub nuw nsw i64 %to, 1",
            *_position("from"),
            *_position("end"),
            "  %in.row = icmp eq i64 %from.row, %end.row",
            "  %in.plane = icmp eq i64 %from.plane, %end.plane",
            "  %row.end = sub nuw nsw i64 %wide, 1",
            "  %plane.end = sub nuw nsw i64 %high, 1",
            *_sides(along, "in.row", "along", "row.end"),
            *_sides(across, "in.plane", "across", "plane.end"),
            "  %first.z = trunc nuw nsw i64 %from.plane to i32",
            "  %last.z = trunc nuw nsw i64 %end.plane to i32",
            f"  %idle = call i1 @{OUTSIDE}({box}, {given})",
            "  ret i1 %idle",
            "}\n",
        ]
    )


def _position(number: str) -> list[str]:
    """Return the lines that find where in the grid a block is."""
    return [
        f"  %{number}.along = urem i64 %{number}, %wide",
        f"  %{number}.row = udiv i64 %{number}, %wide",
        f"  %{number}.across = urem i64 %{number}.row, %high",
        f"  %{number}.plane = udiv i64 %{number}.row, %high",
    ]


def _sides(axis: str, within: str, place: str, most: str) -> list[str]:
    """Return the lines that find the box's ends along an axis: those of the range, or all that there are."""
    return [
        f"  %{axis}.low = select i1 %{within}, i64 %from.{place}, i64 0",
        f"  %{axis}.high = select i1 %{within}, i64 %end.{place}, i64 %{most}",
        f"  %first.{axis} = trunc nuw nsw i64 %{axis}.low to i32",
        f"  %last.{axis} = trunc nuw nsw i64 %{axis}.high to i32",
    ]


def _search() -> str:
    """Return the function that returns how far the blocks at one end of a range are idle: at its end if %back is true.

    Between %near, up to which all blocks are idle, and %far, it looks at the half next to %near.
    """
    return "\n".join(
        [
            f"define internal i64 @{_SEARCH}({_RANGE}, i1 %back) noinline nounwind {COLD} {{",
            "entry:",
            "  %begin = select i1 %back, i64 %to, i64 %from",
            "  %end = select i1 %back, i64 %from, i64 %to",
            "  %any = icmp ult i64 %from, %to",
            "  br i1 %any, label %one, label %over",
            "one:",
            "  %from.next = add i64 %from, 1",
            "  %to.last = sub i64 %to, 1",
            "  %one.from = select i1 %back, i64 %to.last, i64 %from",
            "  %one.to = select i1 %back, i64 %to, i64 %from.next",
            "  %first.idle = call i1 @gridjit.idle(ptr %params, ptr %launch, i64 %one.from, i64 %one.to)",
            "  br i1 %first.idle, label %all, label %none",
            "none:",
            "  ret i64 %begin",
            "all:",
            "  %every = call i1 @gridjit.idle(ptr %params, ptr %launch, i64 %from, i64 %to)",
            "  br i1 %every, label %over, label %halve",
            "halve:",
            "  %near = phi i64 [ %begin, %all ], [ %near.next, %ask ]",
            "  %far = phi i64 [ %end, %all ], [ %far.next, %ask ]",
            "  %low = select i1 %back, i64 %far, i64 %near",
            "  %high = select i1 %back, i64 %near, i64 %far",
            "  %gap = sub nuw nsw i64 %high, %low",
            "  %close = icmp ule i64 %gap, 1",
            "  br i1 %close, label %found, label %ask",
            "ask:",
            "  %half = lshr i64 %gap, 1",
            "  %middle = add nuw nsw i64 %low, %half",
            "  %half.from = select i1 %back, i64 %middle, i64 %from",
            "  %half.to = select i1 %back, i64 %to, i64 %middle",
            "  %idle = call i1 @gridjit.idle(ptr %params, ptr %launch, i64 %half.from, i64 %half.to)",
            "  %near.next = select i1 %idle, i64 %middle, i64 %near",
            "  %far.next = select i1 %idle, i64 %far, i64 %middle",
            "  br label %halve",
            "found:",
            "  ret i64 %near",
            "over:",
            "  ret i64 %end",
            "}\n",
        ]
    )
