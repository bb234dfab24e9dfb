"""Shadow memory as LLVM IR: for each piece of memory that threads touch, which of them did, as far as it can matter.

Memory is divided into pages of 4 KB, found by a hash of their addresses. A page has a cell for every 1, 2, 4 or 8
bytes: as many as its narrowest access so far. A cell has the last write (W) and, since then, two reads (R1, R2) of
different threads, of different blocks if there are any; what races with any earlier read races with one of these. Two
atomic accesses (A1, A2) are kept in the same way, with the clock that the last release left at that address. Each of
the three has a plane of its own, which is made when it is first needed.

The shared memory of a block is small, and its address is known: its planes are three tables, which have places for
every byte. An array uses as many of its bytes' places as it has cells. Blocks use them one after another.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.sanitizer.routines import record

_STATE = f"""
@{record.STATE} = global ptr null
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
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

; Return zeroed memory, which is given back when the launch ends. It is taken from the system in chunks, each larger
; than the last; the system may make large ones of large pages.
define internal ptr @gj.take(ptr %state, i64 %count, i64 %size) nounwind noinline {{
entry:
  %exact = mul i64 %count, %size
  %more = add i64 %exact, 15
  %bytes = and i64 %more, -16
  %chunk.at = getelementptr i8, ptr %state, i64 {record.CHUNK}
  %used.at = getelementptr i8, ptr %state, i64 {record.CHUNK_USED}
  %size.at = getelementptr i8, ptr %state, i64 {record.CHUNK_SIZE}
  %chunk = load ptr, ptr %chunk.at
  %used = load i64, ptr %used.at
  %end = load i64, ptr %size.at
  %now.used = add i64 %used, %bytes
  %fits = icmp ule i64 %now.used, %end
  br i1 %fits, label %there, label %new
there:
  store i64 %now.used, ptr %used.at
  %here = getelementptr i8, ptr %chunk, i64 %used
  ret ptr %here
new:
  %spare.at = getelementptr i8, ptr %state, i64 {record.SPARE}
  %spare = load ptr, ptr %spare.at
  %no.spare = icmp eq ptr %spare, null
  br i1 %no.spare, label %ask, label %use
use:
  %spare.next = load ptr, ptr %spare
  store ptr %spare.next, ptr %spare.at
  %spare.size.at = getelementptr i8, ptr %spare, i64 8
  %spare.size = load i64, ptr %spare.size.at
  br label %begin
ask:
  %twice = shl i64 %end, 1
  %at.least = call i64 @llvm.umax.i64(i64 %twice, i64 {record.FIRST_CHUNK})
  %next.size = call i64 @llvm.umin.i64(i64 %at.least, i64 {record.LAST_CHUNK})
  %take.at = getelementptr i8, ptr %state, i64 {record.TAKE}
  %take = load ptr, ptr %take.at
  %made = call ptr %take(ptr null, i64 %next.size, i32 3, i32 34, i32 -1, i64 0)
  %advise.at = getelementptr i8, ptr %state, i64 {record.ADVISE}
  %advise = load ptr, ptr %advise.at
  %advised = call i32 %advise(ptr %made, i64 %next.size, i32 14)
  br label %begin
begin:
  %its = phi ptr [ %spare, %use ], [ %made, %ask ]
  %its.size = phi i64 [ %spare.size, %use ], [ %next.size, %ask ]
  store ptr %chunk, ptr %its
  %its.size.at = getelementptr i8, ptr %its, i64 8
  store i64 %its.size, ptr %its.size.at
  store ptr %its, ptr %chunk.at
  store i64 %its.size, ptr %size.at
  %first.used = add i64 %bytes, 16
  store i64 %first.used, ptr %used.at
  %first = getelementptr i8, ptr %its, i64 16
  ret ptr %first
}}

define internal ptr @gj.new(ptr %state, ptr %head.at, i64 %tag, i64 %need) nounwind noinline {{
  %page = call ptr @gj.take(ptr %state, i64 1, i64 {record.PAGE_BYTES})
  store i64 %tag, ptr %page
  %next.at = getelementptr i8, ptr %page, i64 8
  %old = load ptr, ptr %head.at
  store ptr %old, ptr %next.at
  %shift.at = getelementptr i8, ptr %page, i64 16
  store i64 %need, ptr %shift.at
  %plain.at = getelementptr i8, ptr %page, i64 {record.PLAIN}
  store i64 %need, ptr %plain.at
  store ptr %page, ptr %head.at
  ret ptr %page
}}

; Give a page narrower cells; each has what the one had that it is a part of.
define internal void @gj.divide(ptr %state, ptr %page, i64 %need) nounwind noinline {{
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %by = sub i64 %shift, %need
  %at.WRITES = getelementptr i8, ptr %page, i64 {record.WRITES}
  call void @gj.spread(ptr %state, ptr %at.WRITES, i64 %need, i64 %by, i64 {record.WORDS["WRITES"]})
  %at.READS = getelementptr i8, ptr %page, i64 {record.READS}
  call void @gj.spread(ptr %state, ptr %at.READS, i64 %need, i64 %by, i64 {record.WORDS["READS"]})
  %at.ATOMICS = getelementptr i8, ptr %page, i64 {record.ATOMICS}
  call void @gj.spread(ptr %state, ptr %at.ATOMICS, i64 %need, i64 %by, i64 {record.WORDS["ATOMICS"]})
  store i64 %need, ptr %shift.at
  %plain.at = getelementptr i8, ptr %page, i64 {record.PLAIN}
  %plain = load i64, ptr %plain.at
  %was.plain = icmp sge i64 %plain, 0
  %plain.now = select i1 %was.plain, i64 %need, i64 -1
  store i64 %plain.now, ptr %plain.at
  ret void
}}

define internal void @gj.spread(ptr %state, ptr %where, i64 %need, i64 %by, i64 %words) nounwind {{
entry:
  %old = load ptr, ptr %where
  %none = icmp eq ptr %old, null
  br i1 %none, label %done, label %copy
copy:
  %count = lshr i64 4096, %need
  %bytes = shl i64 %words, 3
  %new = call ptr @gj.take(ptr %state, i64 %count, i64 %bytes)
  br label %next
next:
  %i = phi i64 [ 0, %copy ], [ %i.next, %next ]
  %from = lshr i64 %i, %by
  %from.first = mul i64 %from, %bytes
  %from.at = getelementptr i8, ptr %old, i64 %from.first
  %to.first = mul i64 %i, %bytes
  %to.at = getelementptr i8, ptr %new, i64 %to.first
  call void @llvm.memcpy.p0.p0.i64(ptr %to.at, ptr %from.at, i64 %bytes, i1 false)
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %next, label %over
over:
  store ptr %new, ptr %where
  br label %done
done:
  ret void
}}
"""

_PLANES = f"""
; Return where an address has its place in one of its page's planes; null if there is none and it is not to be made.
define internal ptr @gj.plane(ptr %state, ptr %page, i64 %plane, i64 %bytes, i64 %at, i1 %make) nounwind alwaysinline {{
entry:
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %plane.at = getelementptr i8, ptr %page, i64 %plane
  %there = load ptr, ptr %plane.at
  %none = icmp eq ptr %there, null
  br i1 %none, label %absent, label %here
absent:
  br i1 %make, label %new, label %done
new:
  %count = lshr i64 4096, %shift
  %made = call ptr @gj.take(ptr %state, i64 %count, i64 %bytes)
  store ptr %made, ptr %plane.at
  %plain.at = getelementptr i8, ptr %page, i64 {record.PLAIN}
  %plain = load i64, ptr %plain.at
  %is.writes = icmp eq i64 %plane, {record.WRITES}
  %plain.now = select i1 %is.writes, i64 %plain, i64 -1
  store i64 %plain.now, ptr %plain.at
  br label %here
here:
  %cells = phi ptr [ %there, %entry ], [ %made, %new ]
  %low = and i64 %at, 4095
  %index = lshr i64 %low, %shift
  %first = mul i64 %index, %bytes
  %cell = getelementptr i8, ptr %cells, i64 %first
  ret ptr %cell
done:
  ret ptr null
}}

; Give back all memory.
define void @gridjit.checks.end(ptr %state) nounwind {{
entry:
  %give.at = getelementptr i8, ptr %state, i64 {record.GIVE}
  %give = load ptr, ptr %give.at
  %chunk.at = getelementptr i8, ptr %state, i64 {record.CHUNK}
  %first = load ptr, ptr %chunk.at
  store ptr null, ptr %chunk.at
  br label %look
look:
  %chunk = phi ptr [ %first, %entry ], [ %next, %one ]
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %done, label %one
one:
  %next = load ptr, ptr %chunk
  %size.at = getelementptr i8, ptr %chunk, i64 8
  %size = load i64, ptr %size.at
  %given = call i32 %give(ptr %chunk, i64 %size)
  br label %look
done:
  ret void
}}
"""


def shadow_ir() -> str:
    """Return the functions that find cells."""
    return _STATE + _PAGES + _PLANES
