"""Order as LLVM IR: what barriers, warps' meetings, grid synchronization and atomic operations do to threads' clocks.

A thread has four numbers: its clock, the highest that it acquired, how many barriers it passed, and whether it passed a
fence. Threads that meet share a join: two pairs of the highest numbers of those that arrived. The pairs are used in
turn, because the first threads may arrive at the next barrier before the last have passed this one.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.checks import record
from gridjit.compiler.targets.host.retarget import SharedArray

CLOCK = "[6 x i32]"
JOIN_BYTES = 16
# Where the threads of a block, and of its warps, note that they arrive: a join of the block and one of each warp.
JOINS = SharedArray(name="gridjit.joins", type=f"[{(1 + 32) * JOIN_BYTES} x i8]", align=16, dynamic=False)
# Offsets in a clock.
FENCED = 8
PASSED = {"block": 12, "warp": 16, "grid": 20}

_BEGIN = f"""
; A thread begins. The first of a block, and of a warp, begins their joins.
define internal void @gridjit.check.begin(ptr %clock, ptr %joins, i32 %thread) nounwind {{
entry:
  store {CLOCK} zeroinitializer, ptr %clock
  %none = icmp eq ptr %joins, null
  br i1 %none, label %done, label %look
look:
  %lane = and i32 %thread, 31
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %lead, label %done
lead:
  %warp = lshr i32 %thread, 5
  %number = add i32 %warp, 1
  %at = getelementptr [{JOIN_BYTES} x i8], ptr %joins, i32 %number
  store [4 x i32] zeroinitializer, ptr %at
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %begin.block, label %done
begin.block:
  store [4 x i32] zeroinitializer, ptr %joins
  br label %done
done:
  ret void
}}

; A barrier that nothing but barriers comes between: all threads' clocks are equal.
define internal void @gridjit.check.passes(ptr %clock) nounwind {{
  %old = load i32, ptr %clock
  %next = add i32 %old, 1
  ; A clock that is at its end stays there: nothing is looked at any more.
  %new = call i32 @llvm.umin.i32(i32 %next, i32 {(1 << record.CLOCK_BITS) - 1})
  store i32 %new, ptr %clock
  ret void
}}
"""

_MEETING = """
define internal void @gridjit.check.arrive(ptr %clock, ptr %join, i64 %counter) nounwind {
  %count.at = getelementptr i8, ptr %clock, i64 %counter
  %count = load i32, ptr %count.at
  %turn = and i32 %count, 1
  %pair = getelementptr [2 x i32], ptr %join, i32 %turn
  %pair.second = getelementptr i8, ptr %pair, i64 4
  %known.at = getelementptr i8, ptr %clock, i64 4
  call void @gj.raise(ptr %pair, ptr %clock)
  call void @gj.raise(ptr %pair.second, ptr %known.at)
  ret void
}

; grid: whether what all blocks did before is known.
define internal void @gridjit.check.pass(ptr %clock, ptr %join, i64 %counter, i1 %grid) nounwind {
  %count.at = getelementptr i8, ptr %clock, i64 %counter
  %count = load i32, ptr %count.at
  %turn = and i32 %count, 1
  %count.next = add i32 %count, 1
  store i32 %count.next, ptr %count.at
  %pair = getelementptr [2 x i32], ptr %join, i32 %turn
  %pair.second = getelementptr i8, ptr %pair, i64 4
  %known.at = getelementptr i8, ptr %clock, i64 4
  call void @gj.raise(ptr %clock, ptr %pair)
  call void @gj.raise(ptr %known.at, ptr %pair.second)
  call void @gridjit.check.passes(ptr %clock)
  br i1 %grid, label %all, label %done
all:
  call void @gj.raise(ptr %known.at, ptr %clock)
  br label %done
done:
  ret void
}

define internal void @gj.raise(ptr %to, ptr %from) nounwind alwaysinline {
  %old = load i32, ptr %to
  %other = load i32, ptr %from
  %new = call i32 @llvm.umax.i32(i32 %old, i32 %other)
  store i32 %new, ptr %to
  ret void
}
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
  %known.at = getelementptr i8, ptr %clock, i64 4
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
