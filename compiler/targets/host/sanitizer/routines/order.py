"""Order as LLVM IR: what barriers, warps' meetings, grid synchronization and atomic operations do to threads' clocks.

A thread has six numbers: its clock; the clock below which its block is ordered before it, and that of other blocks; the
lanes that it met last, which are ordered before its own clock; whether it passed a fence; and its turn. Threads that
meet share a join: the highest of the first three numbers of those that arrived, twice. The two are used in turn,
because the first threads may arrive at the next barrier before the last have passed this one. The next turn begins with
the first arrival after a thread passed. A block has a join, and each of its warps has one for each mask of lanes.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.nvvm.retarget import SharedArray
from gridjit.compiler.targets.host.sanitizer.routines import record

CLOCK = "[6 x i32]"
# Offsets in a clock.
PAST, KNOWN, LANES, FENCED, TURN = 4, 8, 12, 16, 20
JOIN_BYTES = 32
# How many masks a warp's barriers may have before the last ones share a join.
_MASKS = 8
# Where the threads of a block, and of its warps, note that they arrive.
ALL_JOINS_BYTES = (1 + 32 * _MASKS) * JOIN_BYTES
JOINS = SharedArray(name="gridjit.joins", type=f"[{ALL_JOINS_BYTES} x i8]", align=16, dynamic=False)

_BEGIN = f"""
declare <3 x i32> @llvm.umax.v3i32(<3 x i32>, <3 x i32>)

; A thread begins. The first of a block, and of a warp, begins their joins.
define internal void @gridjit.check.begin(ptr %clock, ptr %joins, i32 %thread) nounwind {{
entry:
  store {CLOCK} zeroinitializer, ptr %clock
  %lane = and i32 %thread, 31
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %lead, label %done
lead:
  %join = call ptr @gj.warp.joins(ptr %joins, i32 %thread)
  call void @llvm.memset.p0.i64(ptr %join, i8 0, i64 {_MASKS * JOIN_BYTES}, i1 false)
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %begin.block, label %done
begin.block:
  call void @llvm.memset.p0.i64(ptr %joins, i8 0, i64 {JOIN_BYTES}, i1 false)
  br label %done
done:
  ret void
}}

define internal ptr @gj.warp.joins(ptr %joins, i32 %thread) nounwind alwaysinline {{
  %warp = lshr i32 %thread, 5
  %before = mul i32 %warp, {_MASKS}
  %number = add i32 %before, 1
  %first = getelementptr [{JOIN_BYTES} x i8], ptr %joins, i32 %number
  ret ptr %first
}}

; Return the join of a thread's warp for a mask.
define internal ptr @gridjit.check.lanes(ptr %joins, i32 %thread, i32 %lanes) nounwind noinline {{
entry:
  %first = call ptr @gj.warp.joins(ptr %joins, i32 %thread)
  %last = getelementptr i8, ptr %first, i64 {(_MASKS - 1) * JOIN_BYTES}
  br label %look
look:
  %join = phi ptr [ %first, %entry ], [ %next, %look ]
  %next = getelementptr i8, ptr %join, i64 {JOIN_BYTES}
  %its = load i32, ptr %join
  %free = icmp eq i32 %its, 0
  %same = icmp eq i32 %its, %lanes
  %over = icmp eq ptr %join, %last
  %fits = or i1 %free, %same
  %ends = or i1 %fits, %over
  br i1 %ends, label %found, label %look
found:
  store i32 %lanes, ptr %join
  ret ptr %join
}}

define internal void @gridjit.check.passes(ptr %clock) nounwind {{
  %old = load i32, ptr %clock
  %next = add i32 %old, 1
  ; A clock that is at its end stays there: nothing is looked at any more.
  %new = call i32 @llvm.umin.i32(i32 %next, i32 {(1 << record.CLOCK_BITS) - 1})
  store i32 %new, ptr %clock
  ret void
}}
"""

_MEETING = f"""
; lanes: those of its warp that a thread meets. What it knows of others it knows from here on as of the whole block.
define internal void @gridjit.check.arrive(ptr %clock, ptr %join, i32 %lanes) nounwind {{
  %met.at = getelementptr i8, ptr %clock, i64 {LANES}
  %met = load i32, ptr %met.at
  %absent = xor i32 %lanes, -1
  %left = and i32 %met, %absent
  %none.left = icmp eq i32 %left, 0
  %past.at = getelementptr i8, ptr %clock, i64 {PAST}
  %past.from = select i1 %none.left, ptr %past.at, ptr %clock
  call void @gj.raise(ptr %past.at, ptr %past.from)
  %turn.at = getelementptr i8, ptr %join, i64 4
  %left.at = getelementptr i8, ptr %join, i64 6
  %last = load i16, ptr %turn.at
  %is.left = load i16, ptr %left.at
  %turn = xor i16 %last, %is.left
  store i16 %turn, ptr %turn.at
  store i16 0, ptr %left.at
  %mine.at = getelementptr i8, ptr %clock, i64 {TURN}
  %mine = zext i16 %turn to i32
  store i32 %mine, ptr %mine.at
  %highest = call ptr @gj.highest(ptr %join, i32 %mine)
  call void @gj.raise.all(ptr %highest, ptr %clock)
  ret void
}}

; block, grid: whether what all threads of the block, and all blocks, did before is known.
define internal void @gridjit.check.pass(ptr %clock, ptr %join, i32 %lanes, i1 %block, i1 %grid) nounwind {{
  %mine.at = getelementptr i8, ptr %clock, i64 {TURN}
  %mine = load i32, ptr %mine.at
  %highest = call ptr @gj.highest(ptr %join, i32 %mine)
  call void @gj.raise.all(ptr %clock, ptr %highest)
  call void @gridjit.check.passes(ptr %clock)
  %turn.at = getelementptr i8, ptr %join, i64 4
  %left.at = getelementptr i8, ptr %join, i64 6
  %turn = load i16, ptr %turn.at
  %turn.wide = zext i16 %turn to i32
  %is.this = icmp eq i32 %turn.wide, %mine
  %leaves = zext i1 %is.this to i16
  %was.left = load i16, ptr %left.at
  %is.left = or i16 %was.left, %leaves
  store i16 %is.left, ptr %left.at
  %met.at = getelementptr i8, ptr %clock, i64 {LANES}
  store i32 %lanes, ptr %met.at
  %past.at = getelementptr i8, ptr %clock, i64 {PAST}
  %past.from = select i1 %block, ptr %clock, ptr %past.at
  call void @gj.raise(ptr %past.at, ptr %past.from)
  %known.at = getelementptr i8, ptr %clock, i64 {KNOWN}
  %known.from = select i1 %grid, ptr %clock, ptr %known.at
  call void @gj.raise(ptr %known.at, ptr %known.from)
  ret void
}}

define internal ptr @gj.highest(ptr %join, i32 %turn) nounwind alwaysinline {{
  %first = getelementptr i8, ptr %join, i64 8
  %highest = getelementptr [3 x i32], ptr %first, i32 %turn
  ret ptr %highest
}}

define internal void @gj.raise.all(ptr %to, ptr %from) nounwind alwaysinline {{
  %old = load <3 x i32>, ptr %to, align 4
  %other = load <3 x i32>, ptr %from, align 4
  %new = call <3 x i32> @llvm.umax.v3i32(<3 x i32> %old, <3 x i32> %other)
  store <3 x i32> %new, ptr %to, align 4
  ret void
}}

define internal void @gj.raise(ptr %to, ptr %from) nounwind alwaysinline {{
  %old = load i32, ptr %to
  %other = load i32, ptr %from
  %new = call i32 @llvm.umax.i32(i32 %old, i32 %other)
  store i32 %new, ptr %to
  ret void
}}
"""

_SYNC = f"""
define internal void @gridjit.check.fence(ptr %clock) nounwind {{
  %at = getelementptr i8, ptr %clock, i64 {FENCED}
  store i32 1, ptr %at
  ret void
}}

; An atomic operation acquires what was released at its address, which its cell remembers. It releases if it can be a
; lock's (cas, exch), or after a fence.
define internal void @gridjit.check.sync(ptr %word, ptr %clock, i1 %lock) nounwind {{
entry:
  %left.at = getelementptr i8, ptr %word, i64 16
  %past.at = getelementptr i8, ptr %clock, i64 {PAST}
  %known.at = getelementptr i8, ptr %clock, i64 {KNOWN}
  call void @gj.raise(ptr %past.at, ptr %left.at)
  call void @gj.raise(ptr %known.at, ptr %left.at)
  call void @gj.raise(ptr %clock, ptr %left.at)
  %fenced.at = getelementptr i8, ptr %clock, i64 {FENCED}
  %fenced = load i32, ptr %fenced.at
  %has.fenced = icmp ne i32 %fenced, 0
  %releases = or i1 %has.fenced, %lock
  br i1 %releases, label %release, label %done
release:
  call void @gridjit.check.passes(ptr %clock)
  call void @gj.raise(ptr %left.at, ptr %clock)
  br label %done
done:
  ret void
}}
"""


def order_ir() -> str:
    """Return the functions that keep threads' clocks."""
    return _BEGIN + _MEETING + _SYNC
