"""Reports as LLVM IR: the functions by which checks note what they find, for Python to read when the launch ends."""

from __future__ import annotations

from gridjit.compiler.targets.host.sanitizer.routines import record

_REPORTS = f"""
; Note what was found, unless the same was found at the same places before.
define internal void @gj.report(ptr %state, i64 %what, i64 %at, i64 %mine, i64 %other, i64 %kinds) nounwind noinline {{
entry:
  %count.at = getelementptr i8, ptr %state, i64 {record.REPORT_COUNT}
  %reports.at = getelementptr i8, ptr %state, i64 {record.REPORTS}
  %reports = load ptr, ptr %reports.at
  %count = load i64, ptr %count.at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %over = icmp uge i64 %i, %count
  %place = getelementptr [5 x i64], ptr %reports, i64 %i
  br i1 %over, label %add, label %compare
compare:
  %what.old = load i64, ptr %place
  %mine.at = getelementptr i8, ptr %place, i64 16
  %mine.old = load i64, ptr %mine.at
  %other.at = getelementptr i8, ptr %place, i64 24
  %other.old = load i64, ptr %other.at
  %mine.differs = xor i64 %mine.old, %mine
  %other.differs = xor i64 %other.old, %other
  %either = or i64 %mine.differs, %other.differs
  %sites = and i64 %either, {record.MOST_SITES - 1}
  %what.differs = xor i64 %what.old, %what
  %differs = or i64 %what.differs, %sites
  %same = icmp eq i64 %differs, 0
  br i1 %same, label %done, label %on
on:
  %i.next = add i64 %i, 1
  br label %look
add:
  %full = icmp uge i64 %i, {record.MOST_REPORTS}
  br i1 %full, label %done, label %write
write:
  store i64 %what, ptr %place
  %at.to = getelementptr i8, ptr %place, i64 8
  store i64 %at, ptr %at.to
  %mine.to = getelementptr i8, ptr %place, i64 16
  store i64 %mine, ptr %mine.to
  %other.to = getelementptr i8, ptr %place, i64 24
  store i64 %other, ptr %other.to
  %kinds.to = getelementptr i8, ptr %place, i64 32
  store i64 %kinds, ptr %kinds.to
  %more = add i64 %i, 1
  store i64 %more, ptr %count.at
  br label %done
done:
  ret void
}}

; Note an index outside its axis, for the exception that the thread returns.
define internal void @gridjit.check.outside(i64 %index, i64 %size, i64 %block, i64 %thread) nounwind noinline {{
entry:
  %state = load ptr, ptr @{record.STATE}
  %absent = icmp eq ptr %state, null
  br i1 %absent, label %done, label %there
there:
  %count.at = getelementptr i8, ptr %state, i64 {record.OUTSIDE_COUNT}
  %count = load i64, ptr %count.at
  %full = icmp uge i64 %count, {record.MOST_OUTSIDE}
  br i1 %full, label %done, label %write
write:
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  %table.at = getelementptr i8, ptr %state, i64 {record.OUTSIDE}
  %table = load ptr, ptr %table.at
  %place = getelementptr [4 x i64], ptr %table, i64 %count
  %v0 = insertvalue [4 x i64] poison, i64 %index, 0
  %v1 = insertvalue [4 x i64] %v0, i64 %size, 1
  %v2 = insertvalue [4 x i64] %v1, i64 %block, 2
  %v3 = insertvalue [4 x i64] %v2, i64 %thread, 3
  store [4 x i64] %v3, ptr %place
  br label %done
done:
  ret void
}}
"""


def reports_ir() -> str:
    """Return the functions that note a report."""
    return _REPORTS
