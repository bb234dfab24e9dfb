"""Accesses as LLVM IR: the functions that a checked kernel calls before each access to memory.

Two accesses race if one of them writes, not both are atomic, and nothing orders them: neither the same thread, nor a
barrier, nor a word that one thread released and the other acquired. Writes of the value that is there already do not
race with other writes, as their order makes no difference. Each thread has a clock, which barriers and
releases advance: in a block, what came before a barrier or a release is below the clock of whoever is after it. Of
other blocks, a thread knows what was below the highest clock that it acquired. Clocks are numbers and not vectors, so
an order between threads that hold locks may be assumed where there is none, but no order is ever overlooked.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.checks import record
from gridjit.compiler.targets.host.checks.record import (
    ATOMIC,
    BLOCK_AT,
    CLOCK_AT,
    CLOCK_BITS,
    GLOBAL,
    LOCAL,
    RACE,
    READ,
    SHARED,
    THREAD_AT,
    THREAD_BITS,
    UNWRITTEN,
    WRITE,
)

_KINDS = {"read": READ, "write": WRITE, "atomic": ATOMIC}
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL}
_MOST_CLOCK = (1 << CLOCK_BITS) - 2
_CLOCK = (1 << CLOCK_BITS) - 1
_THREAD = ((1 << THREAD_BITS) - 1) << THREAD_AT
# Block and clock, and block and thread, as signed numbers.
_WHEN = -(1 << CLOCK_AT)
_WHO = -(1 << BLOCK_AT) | _THREAD

_TESTS = f"""
; Return whether a recorded access is unordered with one that happens now. known: what is ordered of other blocks.
define internal i1 @gj.unordered(i64 %old, i64 %now, i64 %clock, i64 %known, i1 %shared) nounwind alwaysinline {{
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
define internal i1 @gj.is.past(i64 %old, i64 %now, i64 %clock) nounwind alwaysinline {{
  %same = call i1 @gj.same.block(i64 %old, i64 %now)
  %shifted = lshr i64 %old, {CLOCK_AT}
  %its = and i64 %shifted, {_CLOCK}
  %before = icmp ult i64 %its, %clock
  %both = and i1 %same, %before
  ret i1 %both
}}

; Keep an access in one of two places, so that what races with any that were kept races with one that is.
define internal void @gj.keep(ptr %first, i64 %now, i64 %clock, i1 %shared) nounwind alwaysinline {{
entry:
  %second = getelementptr i8, ptr %first, i64 8
  %a = load i64, ptr %first
  %b = load i64, ptr %second
  %a.differs = xor i64 %a, %now
  %b.differs = xor i64 %b, %now
  %two = icmp ne i64 %b, 0
  %both.differ = or i64 %a.differs, %b.differs
  %both.when = and i64 %both.differ, {_WHEN}
  %at.once = icmp eq i64 %both.when, 0
  %enough = and i1 %two, %at.once
  br i1 %enough, label %done, label %some
some:
  %a.who = and i64 %a.differs, {_WHO}
  %a.same = icmp eq i64 %a.who, 0
  %a.none = icmp eq i64 %a, 0
  %a.fits = or i1 %a.same, %a.none
  br i1 %a.fits, label %into.first, label %look
look:
  %b.who = and i64 %b.differs, {_WHO}
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
  %a.past = call i1 @gj.is.past(i64 %a, i64 %now, i64 %clock)
  br i1 %a.past, label %into.first, label %older.second
older.second:
  %b.past = call i1 @gj.is.past(i64 %b, i64 %now, i64 %clock)
  %one.block = call i1 @gj.same.block(i64 %a, i64 %b)
  %elsewhere = and i1 %one.block, %a.away
  %replaced = or i1 %b.past, %elsewhere
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

_RANGES = f"""
; Return the mask of unwritten bytes from an address on, null where all is written.
define internal ptr @gj.mask(ptr %state, i64 %at) nounwind {{
entry:
  %count.at = getelementptr i8, ptr %state, i64 {record.RANGE_COUNT}
  %count = load i64, ptr %count.at
  %ranges.at = getelementptr i8, ptr %state, i64 {record.RANGES}
  %ranges = load ptr, ptr %ranges.at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %compare ]
  %over = icmp uge i64 %i, %count
  br i1 %over, label %none, label %compare
compare:
  %range = getelementptr [3 x i64], ptr %ranges, i64 %i
  %low = load i64, ptr %range
  %size.at = getelementptr i8, ptr %range, i64 8
  %size = load i64, ptr %size.at
  %offset = sub i64 %at, %low
  %inside = icmp ult i64 %offset, %size
  %i.next = add i64 %i, 1
  br i1 %inside, label %found, label %look
found:
  %mask.at = getelementptr i8, ptr %range, i64 16
  %mask = load ptr, ptr %mask.at
  %here = getelementptr i8, ptr %mask, i64 %offset
  ret ptr %here
none:
  ret ptr null
}}

; Return whether any of some bytes is unwritten.
define internal i1 @gj.is.unwritten(ptr %state, i64 %at, i64 %size) nounwind {{
entry:
  %mask = call ptr @gj.mask(ptr %state, i64 %at)
  %none = icmp eq ptr %mask, null
  br i1 %none, label %no, label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %over = icmp uge i64 %i, %size
  br i1 %over, label %no, label %test
test:
  %byte.at = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %byte.at
  %is = icmp ne i8 %byte, 0
  br i1 %is, label %yes, label %on
on:
  %i.next = add i64 %i, 1
  br label %look
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal void @gj.now.written(ptr %state, i64 %at, i64 %size) nounwind {{
entry:
  %mask = call ptr @gj.mask(ptr %state, i64 %at)
  %none = icmp eq ptr %mask, null
  br i1 %none, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret void
}}
"""


def access_name(kind: str, space: str) -> str:
    """Return the function that is told of an access: "read", "write" or "atomic"; "global", "shared" or "local"."""
    return f"gridjit.check.{kind}.{space}"


def access_ir(checks: Collection[str]) -> str:
    """Return the functions for all kinds of accesses, which look for races and unwritten memory if checks has these."""
    races, unwritten = "races" in checks, "uninitialized" in checks
    functions = [_access(kind, space, races, unwritten) for kind in _KINDS for space in _SPACES]
    return "\n".join([_TESTS, _RANGES, *functions, _LOCAL])


def _access(kind: str, space: str, races: bool, unwritten: bool) -> str:
    """Return the function for one kind of access: it goes through the cells of the bytes, and looks at each."""
    cells = races or space != "global"
    return "\n".join(
        [
            f"define internal void @{access_name(kind, space)}"
            f"(ptr %p, i64 %size, i64 %site, i64 %who, ptr %clock.at{', i1 %same' * (kind == 'write')}) nounwind {{",
            "entry:",
            f"  %state = load ptr, ptr @{record.STATE}",
            "  %at = ptrtoint ptr %p to i64",
            "  %clock.short = load i32, ptr %clock.at",
            "  %clock = zext i32 %clock.short to i64",
            "  %known.at = getelementptr i8, ptr %clock.at, i64 4",
            "  %known.short = load i32, ptr %known.at",
            "  %known = zext i32 %known.short to i64",
            f"  %clock.bits = shl i64 %clock, {CLOCK_AT}",
            "  %placed = or i64 %who, %site",
            "  %now = or i64 %placed, %clock.bits",
            f"  %late = icmp ugt i64 %clock, {_MOST_CLOCK}",
            "  br i1 %late, label %done, label %begin",
            "begin:",
            *(_ranges(kind) if space == "global" and unwritten else []),
            *(_cells(kind, space, races, unwritten) if cells else ["  br label %done"]),
            "done:",
            "  ret void",
            "}",
        ]
    )


def _ranges(kind: str) -> list[str]:
    """Return the code that looks whether global memory was written, or notes that it is."""
    count = [
        f"  %ranges.at = getelementptr i8, ptr %state, i64 {record.RANGE_COUNT}",
        "  %ranges = load i64, ptr %ranges.at",
        "  %all.written = icmp eq i64 %ranges, 0",
        "  br i1 %all.written, label %known.written, label %ask",
        "ask:",
    ]
    mark = ["  call void @gj.now.written(ptr %state, i64 %at, i64 %size)", "  br label %known.written"]
    if kind == "write":
        return [*count, *mark, "known.written:"]
    return [
        *count,
        "  %unwritten = call i1 @gj.is.unwritten(ptr %state, i64 %at, i64 %size)",
        "  br i1 %unwritten, label %say.unwritten, label %known.written",
        "say.unwritten:",
        *_report(UNWRITTEN, "0", _KINDS[kind], 0, "global"),
        *(mark if kind == "atomic" else ["  br label %known.written"]),
        "known.written:",
    ]


def _report(what: int, other: str, mine: int, its: int, space: str, at: str = "%at") -> list[str]:
    kinds = mine | its << 8 | _SPACES[space] << 16
    return [f"  call void @gj.report(ptr %state, i64 {what}, i64 {at}, i64 %now, i64 {other}, i64 {kinds})"]


def _cells(kind: str, space: str, races: bool, unwritten: bool) -> list[str]:
    """Return the loop over the cells of an access."""
    start = "known.written" if space == "global" and unwritten else "begin"
    body = [
        "  %end = add i64 %at, %size",
        "  %both = or i64 %at, %size",
        "  %both.some = or i64 %both, 8",
        "  %need = call i64 @llvm.cttz.i64(i64 %both.some, i1 true)",
        "  br label %next",
        "next:",
        f"  %a = phi i64 [ %at, %{start} ], [ %a.next, %passed ]",
        "  %page = call ptr @gj.page(ptr %state, i64 %a, i64 %need, i64 %site)",
        "  %cell = call ptr @gj.cell(ptr %page, i64 %a)",
        "  %w = load i64, ptr %cell",
        "  %r1.at = getelementptr i8, ptr %cell, i64 8",
    ]
    atomics = kind == "atomic"
    if space != "local":
        make = "true" if atomics else "false"
        body += [f"  %atomics = call ptr @gj.atomics(ptr %state, ptr %page, i64 %a, i1 {make})"]
        body += ["  %has.atomics = icmp ne ptr %atomics, null"]
    if unwritten and kind != "write" and space != "global":
        body += _own_unwritten(kind, space)
    if races and space != "local":
        body += _races(kind, space)
    return [
        *body,
        *_kept(kind, space, races),
        "  br label %passed",
        "passed:",
        "  %shift.at = getelementptr i8, ptr %page, i64 16",
        "  %shift = load i64, ptr %shift.at",
        "  %step = shl i64 1, %shift",
        "  %a.next = add i64 %a, %step",
        "  %more = icmp ult i64 %a.next, %end",
        "  br i1 %more, label %next, label %done",
    ]


def _own_unwritten(kind: str, space: str) -> list[str]:
    """Return the code that looks whether this block wrote its shared memory, or this thread its local memory."""
    if space == "local":
        lines = ["  %here = icmp ne i64 %w, 0", "  br i1 %here, label %own.written, label %own.unwritten"]
    else:
        lines = [
            "  %by.block = call i1 @gj.same.block(i64 %w, i64 %now)",
            "  br i1 %by.block, label %own.written, label %or.atomic",
            "or.atomic:",
            "  br i1 %has.atomics, label %ask.atomic, label %own.unwritten",
            "ask.atomic:",
            "  %first.atomic = load i64, ptr %atomics",
            "  %by.atomic = call i1 @gj.same.block(i64 %first.atomic, i64 %now)",
            "  br i1 %by.atomic, label %own.written, label %own.unwritten",
        ]
    return [
        *lines,
        "own.unwritten:",
        *_report(UNWRITTEN, "0", _KINDS[kind], 0, space, "%a"),
        "  br label %own.written",
        "own.written:",
    ]


def _races(kind: str, space: str) -> list[str]:
    """Return the code that compares an access with those that its cell remembers."""
    lines = _against("w", "%w", WRITE, kind, space, unless="%same" if kind == "write" else "false")
    if kind != "read":
        lines += [
            "  %r1 = load i64, ptr %r1.at",
            "  %r2.at = getelementptr i8, ptr %cell, i64 16",
            "  %r2 = load i64, ptr %r2.at",
            *_against("r1", "%r1", READ, kind, space),
            *_against("r2", "%r2", READ, kind, space),
        ]
    if kind != "atomic":
        lines += [
            "  br i1 %has.atomics, label %compare.atomics, label %compared",
            "compare.atomics:",
            "  %a1 = load i64, ptr %atomics",
            "  %a2.at = getelementptr i8, ptr %atomics, i64 8",
            "  %a2 = load i64, ptr %a2.at",
            *_against("a1", "%a1", ATOMIC, kind, space),
            *_against("a2", "%a2", ATOMIC, kind, space),
            "  br label %compared",
            "compared:",
        ]
    return lines


def _against(name: str, old: str, its: int, kind: str, space: str, unless: str = "false") -> list[str]:
    """Return the code that reports an access that is unordered with a recorded one."""
    shared = str(space == "shared").lower()
    return [
        f"  %{name}.unordered = call i1 @gj.unordered(i64 {old}, i64 %now, i64 %clock, i64 %known, i1 {shared})",
        f"  %{name}.counts = xor i1 {unless}, true",
        f"  %{name}.races = and i1 %{name}.unordered, %{name}.counts",
        f"  br i1 %{name}.races, label %{name}.say, label %{name}.fine",
        f"{name}.say:",
        *_report(RACE, old, _KINDS[kind], its, space, "%a"),
        f"  br label %{name}.fine",
        f"{name}.fine:",
    ]


def _kept(kind: str, space: str, races: bool) -> list[str]:
    """Return the code that makes the cell remember the access."""
    if kind == "write" or space == "local":
        if kind == "read":
            return []
        clear = ["  store [2 x i64] zeroinitializer, ptr %r1.at"] if space != "local" else []
        atomics = [
            "  br i1 %has.atomics, label %forget, label %forgotten",
            "forget:",
            "  store [2 x i64] zeroinitializer, ptr %atomics",
            "  br label %forgotten",
            "forgotten:",
        ]
        if not races or space == "local":
            return ["  store i64 %now, ptr %cell", *clear, *(atomics if space != "local" else [])]
        # Of those that write one value, the first is remembered: it is not the last's own.
        first = [
            "  %stays = and i1 %w.unordered, %same",
            "  %w.new = select i1 %stays, i64 %w, i64 %now",
            "  store i64 %w.new, ptr %cell",
        ]
        return [*first, *clear, *atomics]
    if kind == "read" and not races:
        return []
    where = "%r1.at" if kind == "read" else "%atomics"
    shared = str(space == "shared").lower()
    return [f"  call void @gj.keep(ptr {where}, i64 %now, i64 %clock, i1 {shared})"]


_LOCAL = f"""
; A thread begins with a local array that it has not written.
define internal void @gridjit.check.local(ptr %p, i64 %size) nounwind {{
entry:
  %state = load ptr, ptr @{record.STATE}
  %at = ptrtoint ptr %p to i64
  %end = add i64 %at, %size
  %both = or i64 %at, %size
  %both.some = or i64 %both, 8
  %need = call i64 @llvm.cttz.i64(i64 %both.some, i1 true)
  br label %next
next:
  %a = phi i64 [ %at, %entry ], [ %a.next, %one ]
  %more = icmp ult i64 %a, %end
  br i1 %more, label %one, label %done
one:
  %page = call ptr @gj.page(ptr %state, i64 %a, i64 %need, i64 0)
  %cell = call ptr @gj.cell(ptr %page, i64 %a)
  store [3 x i64] zeroinitializer, ptr %cell
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %step = shl i64 1, %shift
  %a.next = add i64 %a, %step
  br label %next
done:
  ret void
}}
"""
