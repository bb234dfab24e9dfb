"""Unwritten memory as LLVM IR: which bytes of global memory are still unwritten, and local arrays as threads begin."""

from __future__ import annotations

from gridjit.compiler.targets.host.sanitizer.routines import record

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

_LOCAL = f"""
; A thread begins with a local array that it has not written.
define internal void @gridjit.check.local(ptr %p, i64 %size) nounwind noinline {{
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
  %cell = call ptr @gj.plane(ptr %state, ptr %page, i64 {record.WRITES}, i64 8, i64 %a, i1 true)
  store i64 0, ptr %cell
  %shift.at = getelementptr i8, ptr %page, i64 16
  %shift = load i64, ptr %shift.at
  %step = shl i64 1, %shift
  %a.next = add i64 %a, %step
  br label %next
done:
  ret void
}}
"""


def unwritten_ir() -> str:
    """Return the functions that look for unwritten memory, and note writes."""
    return _RANGES + _LOCAL
