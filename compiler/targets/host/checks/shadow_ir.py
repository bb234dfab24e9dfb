"""Shadow memory as LLVM IR: for each piece of memory that threads touch, which of them did, as far as it can matter.

Memory is divided into pages of 4 KB, found by a hash of their addresses. A page has a cell for every 1, 2, 4 or 8
bytes: as many as its narrowest access so far. A cell has the last write (W) and, since then, two reads (R1, R2) of
different threads, of different blocks if there are any; what races with any earlier read races with one of these. Two
atomic accesses (A1, A2) are kept in the same way, apart, with the clock that the last release left at that address.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.checks import record

_STATE = f"""
@{record.STATE} = global ptr null
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.umax.i32(i32, i32)
"""

_PAGES = f"""
; Return the page of an address, made if it is new, with cells of at most 2^need bytes. site: of whom it is asked for.
define internal ptr @gj.page(ptr %state, i64 %at, i64 %need, i64 %site) nounwind alwaysinline {{
entry:
  %recent.at = getelementptr i8, ptr %state, i64 {record.RECENT}
  %recent = load ptr, ptr %recent.at
  %mine = getelementptr [2 x i64], ptr %recent, i64 %site
  %tag = lshr i64 %at, 12
  %tag.next = add i64 %tag, 1
  %last = load i64, ptr %mine
  %again = icmp eq i64 %last, %tag.next
  br i1 %again, label %known, label %find
known:
  %page.at = getelementptr i8, ptr %mine, i64 8
  %known.page = load ptr, ptr %page.at
  %shift.at = getelementptr i8, ptr %known.page, i64 16
  %shift = load i64, ptr %shift.at
  %wide = icmp ugt i64 %shift, %need
  br i1 %wide, label %find, label %done
find:
  %found = call ptr @gj.find.page(ptr %state, i64 %at, i64 %need)
  store i64 %tag.next, ptr %mine
  %to = getelementptr i8, ptr %mine, i64 8
  store ptr %found, ptr %to
  br label %done
done:
  %page = phi ptr [ %known.page, %known ], [ %found, %find ]
  ret ptr %page
}}

define internal ptr @gj.find.page(ptr %state, i64 %at, i64 %need) nounwind noinline {{
entry:
  %buckets = load ptr, ptr %state
  %tag = lshr i64 %at, 12
  %mixed = mul i64 %tag, -7046029254386353131
  %hash = lshr i64 %mixed, {64 - record.BUCKET_BITS}
  %head.at = getelementptr ptr, ptr %buckets, i64 %hash
  %head = load ptr, ptr %head.at
  br label %look
look:
  %page = phi ptr [ %head, %entry ], [ %next, %on ]
  %none = icmp eq ptr %page, null
  br i1 %none, label %new, label %compare
compare:
  %its = load i64, ptr %page
  %same = icmp eq i64 %its, %tag
  br i1 %same, label %found, label %on
on:
  %next.at = getelementptr i8, ptr %page, i64 8
  %next = load ptr, ptr %next.at
  br label %look
found:
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %wide = icmp ugt i64 %shift, %need
  br i1 %wide, label %divide, label %done
divide:
  call void @gj.divide(ptr %state, ptr %page, i64 %need)
  br label %done
done:
  ret ptr %page
new:
  %made = call ptr @gj.new(ptr %state, ptr %head.at, i64 %tag, i64 %need)
  ret ptr %made
}}

define internal ptr @gj.take(ptr %state, i64 %count, i64 %size) nounwind noinline {{
  %calloc.at = getelementptr i8, ptr %state, i64 {record.CALLOC}
  %calloc = load ptr, ptr %calloc.at
  %made = call ptr %calloc(i64 %count, i64 %size)
  ret ptr %made
}}

define internal ptr @gj.new(ptr %state, ptr %head.at, i64 %tag, i64 %need) nounwind noinline {{
  %page = call ptr @gj.take(ptr %state, i64 1, i64 48)
  %count = lshr i64 4096, %need
  %cells = call ptr @gj.take(ptr %state, i64 %count, i64 24)
  store i64 %tag, ptr %page
  %next.at = getelementptr i8, ptr %page, i64 8
  %old = load ptr, ptr %head.at
  store ptr %old, ptr %next.at
  %shift.at = getelementptr i8, ptr %page, i64 16
  store i64 %need, ptr %shift.at
  %cells.at = getelementptr i8, ptr %page, i64 24
  store ptr %cells, ptr %cells.at
  %all.at = getelementptr i8, ptr %state, i64 {record.PAGES}
  %all = load ptr, ptr %all.at
  %all.next = getelementptr i8, ptr %page, i64 40
  store ptr %all, ptr %all.next
  store ptr %page, ptr %all.at
  store ptr %page, ptr %head.at
  ret ptr %page
}}

; Give a page narrower cells; each has what the one had that it is a part of.
define internal void @gj.divide(ptr %state, ptr %page, i64 %need) nounwind noinline {{
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %by = sub i64 %shift, %need
  %cells.at = getelementptr i8, ptr %page, i64 24
  call void @gj.spread(ptr %state, ptr %cells.at, i64 %need, i64 %by)
  %atomics.at = getelementptr i8, ptr %page, i64 32
  call void @gj.spread(ptr %state, ptr %atomics.at, i64 %need, i64 %by)
  store i64 %need, ptr %shift.at
  ret void
}}

define internal void @gj.spread(ptr %state, ptr %where, i64 %need, i64 %by) nounwind {{
entry:
  %old = load ptr, ptr %where
  %none = icmp eq ptr %old, null
  br i1 %none, label %done, label %copy
copy:
  %count = lshr i64 4096, %need
  %new = call ptr @gj.take(ptr %state, i64 %count, i64 24)
  br label %next
next:
  %i = phi i64 [ 0, %copy ], [ %i.next, %next ]
  %from = lshr i64 %i, %by
  %from.at = getelementptr [3 x i64], ptr %old, i64 %from
  %to.at = getelementptr [3 x i64], ptr %new, i64 %i
  %value = load [3 x i64], ptr %from.at
  store [3 x i64] %value, ptr %to.at
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %next, label %over
over:
  store ptr %new, ptr %where
  %free.at = getelementptr i8, ptr %state, i64 {record.FREE}
  %free = load ptr, ptr %free.at
  call void %free(ptr %old)
  br label %done
done:
  ret void
}}

define internal ptr @gj.cell(ptr %page, i64 %at) nounwind alwaysinline {{
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %cells.at = getelementptr i8, ptr %page, i64 24
  %cells = load ptr, ptr %cells.at
  %low = and i64 %at, 4095
  %index = lshr i64 %low, %shift
  %cell = getelementptr [3 x i64], ptr %cells, i64 %index
  ret ptr %cell
}}

; Return where an address has its atomic accesses; null if its page has none and they are not to be made.
define internal ptr @gj.atomics(ptr %state, ptr %page, i64 %at, i1 %make) nounwind alwaysinline {{
entry:
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %atomics.at = getelementptr i8, ptr %page, i64 32
  %there = load ptr, ptr %atomics.at
  %none = icmp eq ptr %there, null
  br i1 %none, label %absent, label %here
absent:
  br i1 %make, label %new, label %done
new:
  %count = lshr i64 4096, %shift
  %made = call ptr @gj.take(ptr %state, i64 %count, i64 24)
  store ptr %made, ptr %atomics.at
  br label %here
here:
  %cells = phi ptr [ %there, %entry ], [ %made, %new ]
  %low = and i64 %at, 4095
  %index = lshr i64 %low, %shift
  %cell = getelementptr [3 x i64], ptr %cells, i64 %index
  ret ptr %cell
done:
  ret ptr null
}}

; Free all pages.
define void @gridjit.checks.end(ptr %state) nounwind {{
entry:
  %free.at = getelementptr i8, ptr %state, i64 {record.FREE}
  %free = load ptr, ptr %free.at
  %all.at = getelementptr i8, ptr %state, i64 {record.PAGES}
  %first = load ptr, ptr %all.at
  store ptr null, ptr %all.at
  br label %look
look:
  %page = phi ptr [ %first, %entry ], [ %next, %one ]
  %none = icmp eq ptr %page, null
  br i1 %none, label %done, label %one
one:
  %next.at = getelementptr i8, ptr %page, i64 40
  %next = load ptr, ptr %next.at
  %cells.at = getelementptr i8, ptr %page, i64 24
  %cells = load ptr, ptr %cells.at
  call void %free(ptr %cells)
  %atomics.at = getelementptr i8, ptr %page, i64 32
  %atomics = load ptr, ptr %atomics.at
  call void %free(ptr %atomics)
  call void %free(ptr %page)
  br label %look
done:
  ret void
}}
"""

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


def shadow_ir() -> str:
    """Return the functions that find cells and note what is found."""
    return _STATE + _PAGES + _REPORTS
