"""Privatized entry: groups of a kernel's blocks add to copies of arrays, which are merged when the group ends.

It stands before the entry that runs blocks, and hands it the kernel's parameters: those it was given, or with copies in
the place of the arrays. It does the latter where arrays are small, so many threads are run that it is worth it, and
the arrays lie apart from each other and from all others. Copies are merged whenever a group of blocks has run, and a
group takes a fraction of a millisecond, if its blocks do: so what other threads of the program see of an array is never
far behind. If blocks are abandoned after an interrupt, what their group gathered is lost with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.emit.frame import launch_loads, parameter_offsets
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.privatized_operations import begin_name, merge_name
from gridjit.compiler.targets.host.ir.cold_code import COLD
from gridjit.compiler.targets.host.passes.privatization import PrivatizedArray

# The entry that runs blocks.
BLOCKS = "gridjit.blocks"
# Bytes of all copies: they stay in a core's own cache.
_MOST = 1 << 16
# A copy is worth it from so many threads on for each item.
_WORTH = 4
# What a group of blocks is to take, in nanoseconds. Its blocks are learned, from group to group and launch to launch.
_TIME_NS = 200_000
_MOST_BLOCKS = 1 << 31
_GROUP = "gridjit.gathered.group"
# Of an array's parameters, this many before its address is how many items it has, and one before is their size.
_ITEMS, _ITEM_SIZE = 2, 1
_VALUES = "ptr %own, ptr %launch"


def privatized_entry(plan: LoopPlan) -> str:
    """Return the entry of a kernel with privatized arrays."""
    offsets = parameter_offsets(plan.parameters)
    arrays, size = plan.privatized, offsets[-1]
    return "\n".join(
        [
            f"define i32 @{plan.entry}(ptr noalias %params, ptr noalias %launch, i64 %first, i64 %last, "
            f"ptr noalias %status) nounwind {COLD} {{",
            "entry:",
            f"  %own = alloca [{size + 1} x i8], align 16",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %own, ptr %params, i64 {size}, i1 false)",
            f"  %alone.at = getelementptr inbounds i8, ptr %own, i64 {size}",
            "  store i8 0, ptr %alone.at",
            *launch_loads(),
            *(line for one in arrays for line in _array(one, offsets)),
            *_worth(arrays),
            "  br i1 %worth, label %compare, label %directly",
            "compare:",
            *_apart(arrays, plan.others, offsets),
            "  br i1 %together, label %directly, label %take",
            *_take(arrays, offsets),
            *_groups(arrays),
            "directly:",
            f"  %only = call i32 @{BLOCKS}({_VALUES}, i64 %first, i64 %last, ptr %status)",
            "  ret i32 %only",
            "}",
            _SUPPORT,
        ]
    )


def _load(name: str, offset: int, kind: str = "i64") -> list[str]:
    return [
        f"  %{name}.at = getelementptr inbounds i8, ptr %params, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}.at, align 8",
    ]


def _array(array: PrivatizedArray, offsets: Sequence[int]) -> list[str]:
    """Return the code that finds an array's items, bytes and ends, and whether a copy of it is small."""
    n, most = array.address, _MOST // array.size
    return [
        *_load(f"items.{n}", offsets[n - _ITEMS]),
        *_load(f"itemsize.{n}", offsets[n - _ITEM_SIZE]),
        *_load(f"array.{n}", offsets[n], "ptr"),
        f"  %less.{n} = sub i64 %items.{n}, 1",
        f"  %few.{n} = icmp ult i64 %less.{n}, {most}",
        f"  %plain.{n} = icmp eq i64 %itemsize.{n}, {array.size}",
        f"  %small.{n} = and i1 %few.{n}, %plain.{n}",
        f"  %length.{n} = mul i64 %items.{n}, {array.size}",
        f"  %low.{n} = ptrtoint ptr %array.{n} to i64",
        f"  %high.{n} = add i64 %low.{n}, %length.{n}",
        f"  %some.{n} = add i64 %length.{n}, 63",
        f"  %bytes.{n} = and i64 %some.{n}, -64",
    ]


def _worth(arrays: Sequence[PrivatizedArray]) -> list[str]:
    """Return the code that finds %bytes, and whether copies are worth it."""
    lines, items, size, small = list[str](), "0", "0", "true"
    for one in arrays:
        n = one.address
        lines += [
            f"  %items.to.{n} = add i64 {items}, %items.{n}",
            f"  %bytes.to.{n} = add i64 {size}, %bytes.{n}",
            f"  %small.to.{n} = and i1 {small}, %small.{n}",
        ]
        items, size, small = f"%items.to.{n}", f"%bytes.to.{n}", f"%small.to.{n}"
    return [
        *lines,
        f"  %bytes = add i64 {size}, 0",
        f"  %fits = icmp ule i64 %bytes, {_MOST}",
        "  %blocks = sub i64 %last, %first",
        f"  %wanted = mul i64 {items}, {_WORTH}",
        "  %needed.some = udiv i64 %wanted, %threads",
        "  %needed = add i64 %needed.some, 1",
        "  %many = icmp sge i64 %blocks, %needed",
        f"  %small = and i1 {small}, %fits",
        "  %worth = and i1 %small, %many",
    ]


def _apart(arrays: Sequence[PrivatizedArray], others: Sequence[tuple[int, int]], offsets: Sequence[int]) -> list[str]:
    """Return the code that finds whether an array lies %together with another that is used."""
    lines, so_far = list[str](), "false"
    pairs = [(one.address, two.address) for place, one in enumerate(arrays) for two in arrays[place + 1 :]]
    for number, ndim in others:
        lines += _ends(number, ndim, offsets)
        pairs += [(one.address, number) for one in arrays]
    for one, two in pairs:
        pair = f"{one}.{two}"
        lines += [
            f"  %begins.{pair} = icmp ult i64 %low.{one}, %high.{two}",
            f"  %ends.{pair} = icmp ult i64 %low.{two}, %high.{one}",
            f"  %meets.{pair} = and i1 %begins.{pair}, %ends.{pair}",
            f"  %met.{pair} = or i1 {so_far}, %meets.{pair}",
        ]
        so_far = f"%met.{pair}"
    return [*lines, f"  %together = or i1 {so_far}, false"]


def _ends(number: int, ndim: int, offsets: Sequence[int]) -> list[str]:
    """Return the code that finds where an array with any strides begins and ends."""
    lines = [*_load(f"array.{number}", offsets[number], "ptr"), *_load(f"itemsize.{number}", offsets[number - 1])]
    lines += [
        f"  %low.{number}.0 = ptrtoint ptr %array.{number} to i64",
        f"  %high.{number}.0 = add i64 %low.{number}.0, %itemsize.{number}",
    ]
    for axis in range(ndim):
        at, after = f"{number}.{axis}", f"{number}.{axis + 1}"
        lines += [
            *_load(f"side.{at}", offsets[number + 1 + axis]),
            *_load(f"stride.{at}", offsets[number + 1 + ndim + axis]),
            f"  %steps.{at} = sub i64 %side.{at}, 1",
            f"  %way.{at} = mul i64 %steps.{at}, %stride.{at}",
            f"  %down.{at} = call i64 @llvm.smin.i64(i64 %way.{at}, i64 0)",
            f"  %up.{at} = call i64 @llvm.smax.i64(i64 %way.{at}, i64 0)",
            f"  %low.{after} = add i64 %low.{at}, %down.{at}",
            f"  %high.{after} = add i64 %high.{at}, %up.{at}",
        ]
    return [
        *lines,
        f"  %low.{number} = add i64 %low.{number}.{ndim}, 0",
        f"  %high.{number} = add i64 %high.{number}.{ndim}, 0",
    ]


def _take(arrays: Sequence[PrivatizedArray], offsets: Sequence[int]) -> list[str]:
    """Return the code that makes the copies, and has the parameters name them."""
    lines = [
        "take:",
        "  %copies = call noalias ptr @aligned_alloc(i64 64, i64 %bytes)",
        "  %missing = icmp eq ptr %copies, null",
        "  br i1 %missing, label %directly, label %begin",
        "begin:",
        "  store i8 1, ptr %alone.at",
    ]
    before = "0"
    for one in arrays:
        n = one.address
        lines += [
            f"  %copy.{n} = getelementptr inbounds i8, ptr %copies, i64 {before}",
            f"  call void @{begin_name(one)}(ptr %copy.{n}, i64 %items.{n})",
            f"  %own.{n} = getelementptr inbounds i8, ptr %own, i64 {offsets[n]}",
            f"  store ptr %copy.{n}, ptr %own.{n}, align 8",
        ]
        before = f"%bytes.to.{n}"
    return lines


def _groups(arrays: Sequence[PrivatizedArray]) -> list[str]:
    """Return the loop that runs a group of blocks and merges the copies; a group has as many as fit into its time."""
    return [
        f"  %learned = load atomic i64, ptr @{_GROUP} monotonic, align 8",
        "  %begun = call i64 @gridjit.gathered.now()",
        "  br label %next",
        "next:",
        "  %from = phi i64 [ %first, %begin ], [ %to, %on ]",
        "  %count = phi i64 [ %learned, %begin ], [ %count.next, %on ]",
        "  %since = phi i64 [ %begun, %begin ], [ %now, %on ]",
        "  %left = sub i64 %last, %from",
        "  %taken = call i64 @llvm.umin.i64(i64 %left, i64 %count)",
        "  %to = add i64 %from, %taken",
        f"  %code = call i32 @{BLOCKS}({_VALUES}, i64 %from, i64 %to, ptr %status)",
        *(
            f"  call void @{merge_name(one)}(ptr %copy.{n}, ptr %array.{n}, i64 %items.{n})"
            for one in arrays
            for n in [one.address]
        ),
        "  %now = call i64 @gridjit.gathered.now()",
        "  %took = sub i64 %now, %since",
        "  %divisor = call i64 @llvm.smax.i64(i64 %took, i64 1)",
        f"  %weighed = mul i64 %taken, {_TIME_NS}",
        "  %fitting = udiv i64 %weighed, %divisor",
        "  %most = shl i64 %count, 2",
        "  %no.more = call i64 @llvm.umin.i64(i64 %fitting, i64 %most)",
        f"  %in.all = call i64 @llvm.umin.i64(i64 %no.more, i64 {_MOST_BLOCKS})",
        "  %some = call i64 @llvm.umax.i64(i64 %in.all, i64 1)",
        # Of a few blocks that were left, most of the time is that of merging.
        "  %whole = icmp eq i64 %taken, %count",
        f"  %long = icmp sgt i64 %took, {_TIME_NS}",
        "  %tells = or i1 %whole, %long",
        "  %count.next = select i1 %tells, i64 %some, i64 %count",
        "  %well = icmp eq i32 %code, 0",
        "  %more = icmp slt i64 %to, %last",
        "  %goes.on = and i1 %well, %more",
        "  br i1 %goes.on, label %on, label %over",
        "on:",
        "  br label %next",
        "over:",
        f"  store atomic i64 %count.next, ptr @{_GROUP} monotonic, align 8",
        "  call void @free(ptr %copies)",
        "  ret i32 %code",
    ]


_SUPPORT = f"""
@{_GROUP} = internal global i64 1

; Nanoseconds of the clock that only goes forward.
define internal i64 @gridjit.gathered.now() alwaysinline nounwind {COLD} {{
entry:
  %time = alloca [2 x i64], align 8
  %failed = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr inbounds i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %all = mul i64 %seconds, 1000000000
  %now = add i64 %all, %rest
  ret i64 %now
}}

declare i32 @clock_gettime(i32, ptr)
"""
