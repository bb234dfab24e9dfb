"""Tests as LLVM IR: whether two accesses race, and which accesses are remembered.

Two accesses race if one of them writes, not both are atomic, and nothing orders them: neither the same thread, nor a
barrier, nor a word that one thread released and the other acquired. Writes of the value that is there already do not
race with other writes, as their order makes no difference. Each thread has a clock, which barriers and
releases advance: what came before a barrier or a release is below the clock of whoever is after it. Of the lanes that
it last met at a warp's barrier, a thread knows what was below its own clock; of others in its block, what was below
its clock at the last barrier of the block or acquisition; of other blocks, what was below the highest clock that it
acquired. Clocks are numbers and not vectors, so an order between threads that hold locks, or that meet other lanes at
one warp's barrier than at the next, may be assumed where there is none, but no order is ever overlooked.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.sanitizer.routines.record import (
    BLOCK_AT,
    CLOCK_AT,
    CLOCK_BITS,
    THREAD_AT,
    THREAD_BITS,
)

# The highest clock with which accesses are looked at.
MOST_CLOCK = (1 << CLOCK_BITS) - 2
_CLOCK = (1 << CLOCK_BITS) - 1
_THREAD = ((1 << THREAD_BITS) - 1) << THREAD_AT
# Block and clock, block and thread, and the block, as signed numbers.
WHEN = -(1 << CLOCK_AT)
WHO = -(1 << BLOCK_AT) | _THREAD
BLOCK = -(1 << BLOCK_AT)
_WARP = WHO & -(32 << THREAD_AT)
# Whether a thread is farther from the first of two than the second is: in another block, warp, half of the warp, ...
FARTHER = "gj.farther"

_TESTS = f"""
; Return the clock below which a recorded access of this block is ordered before now. past: where the thread met its
; block. lanes: those that it met since.
define internal i64 @gj.bound(i64 %old, i64 %now, i64 %past, i64 %lanes) nounwind alwaysinline {{
  %differs = xor i64 %old, %now
  %beyond = and i64 %differs, {_WARP}
  %warp = icmp eq i64 %beyond, 0
  %thread = lshr i64 %old, {THREAD_AT}
  %lane = and i64 %thread, 31
  %from = lshr i64 %lanes, %lane
  %is.met = trunc i64 %from to i1
  %met = and i1 %warp, %is.met
  %shifted = lshr i64 %now, {CLOCK_AT}
  %clock = and i64 %shifted, {_CLOCK}
  %result = select i1 %met, i64 %clock, i64 %past
  ret i64 %result
}}

define internal i1 @{FARTHER}(i64 %a, i64 %b, i64 %now) nounwind alwaysinline {{
  %b.differs = xor i64 %a, %b
  %now.differs = xor i64 %a, %now
  %b.far = and i64 %b.differs, {WHO}
  %now.far = and i64 %now.differs, {WHO}
  %result = icmp ugt i64 %now.far, %b.far
  ret i1 %result
}}

; Return whether a recorded access is unordered with one that happens now. known: what is ordered of other blocks.
define internal i1 @gj.unordered(i64 %old, i64 %now, i64 %past, i64 %known, i64 %lanes, i1 %shared)
  nounwind alwaysinline {{
  %clock = call i64 @gj.bound(i64 %old, i64 %now, i64 %past, i64 %lanes)
  %any = icmp ne i64 %old, 0
  %differs = xor i64 %old, %now
  %block = lshr i64 %differs, {BLOCK_AT}
  %other.block = icmp ne i64 %block, 0
  %thread = and i64 %differs, {_THREAD}
  %other.thread = icmp ne i64 %thread, 0
  %shifted = lshr i64 %old, {CLOCK_AT}
  %its = and i64 %shifted, {_CLOCK}
  %since = icmp uge i64 %its, %clock
  %unknown = icmp uge i64 %its, %known
  %within = and i1 %other.thread, %since
  %own = xor i1 %shared, true
  %across = and i1 %unknown, %own
  %either = select i1 %other.block, i1 %across, i1 %within
  %result = and i1 %any, %either
  ret i1 %result
}}

define internal i1 @gj.same.block(i64 %old, i64 %now) nounwind alwaysinline {{
  %differs = xor i64 %old, %now
  %block = lshr i64 %differs, {BLOCK_AT}
  %same = icmp eq i64 %block, 0
  %any = icmp ne i64 %old, 0
  %both = and i1 %same, %any
  ret i1 %both
}}

; Return whether a recorded access is of this block, and before what orders its threads.
define internal i1 @gj.is.past(i64 %old, i64 %now, i64 %past, i64 %lanes) nounwind alwaysinline {{
  %clock = call i64 @gj.bound(i64 %old, i64 %now, i64 %past, i64 %lanes)
  %same = call i1 @gj.same.block(i64 %old, i64 %now)
  %shifted = lshr i64 %old, {CLOCK_AT}
  %its = and i64 %shifted, {_CLOCK}
  %before = icmp ult i64 %its, %clock
  %both = and i1 %same, %before
  ret i1 %both
}}

; Keep an access in one of two places, so that what races with any that were kept races with one that is. The second is
; of a thread as far from the first as any.
define internal void @gj.keep(ptr %first, i64 %now, i64 %past, i64 %lanes, i1 %shared) nounwind alwaysinline {{
entry:
  %second = getelementptr i8, ptr %first, i64 8
  %a = load i64, ptr %first
  %b = load i64, ptr %second
  %a.differs = xor i64 %a, %now
  %b.differs = xor i64 %b, %now
  %two = icmp ne i64 %b, 0
  %both.differ = or i64 %a.differs, %b.differs
  %both.when = and i64 %both.differ, {WHEN}
  %at.once = icmp eq i64 %both.when, 0
  %farther = call i1 @{FARTHER}(i64 %a, i64 %b, i64 %now)
  %near = xor i1 %farther, true
  %two.near = and i1 %two, %near
  %enough = and i1 %two.near, %at.once
  br i1 %enough, label %done, label %some
some:
  %a.who = and i64 %a.differs, {WHO}
  %a.same = icmp eq i64 %a.who, 0
  %a.none = icmp eq i64 %a, 0
  %a.fits = or i1 %a.same, %a.none
  br i1 %a.fits, label %into.first, label %look
look:
  %b.who = and i64 %b.differs, {WHO}
  %b.same = icmp eq i64 %b.who, 0
  br i1 %b.same, label %into.second, label %choose
choose:
  %a.here = call i1 @gj.same.block(i64 %a, i64 %now)
  %a.away = xor i1 %a.here, true
  %a.stale = and i1 %a.away, %shared
  br i1 %a.stale, label %into.first, label %choose.second
choose.second:
  %b.none = icmp eq i64 %b, 0
  %b.here = call i1 @gj.same.block(i64 %b, i64 %now)
  %b.away = xor i1 %b.here, true
  %b.stale = and i1 %b.away, %shared
  %b.fits = or i1 %b.none, %b.stale
  br i1 %b.fits, label %into.second, label %older
older:
  %a.past = call i1 @gj.is.past(i64 %a, i64 %now, i64 %past, i64 %lanes)
  br i1 %a.past, label %into.first, label %older.second
older.second:
  %b.past = call i1 @gj.is.past(i64 %b, i64 %now, i64 %past, i64 %lanes)
  %replaced = or i1 %b.past, %farther
  br i1 %replaced, label %into.second, label %done
into.first:
  store i64 %now, ptr %first
  br label %done
into.second:
  store i64 %now, ptr %second
  br label %done
done:
  ret void
}}
"""


def tests_ir() -> str:
    """Return the functions that compare accesses."""
    return _TESTS
