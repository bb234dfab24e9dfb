"""allocation: numba-cuda's runtime for kernels that allocate, on the host: memory is the C library's.

They are the functions of its nrt.cu, and keep the same statistics if the process asks for them.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.library.symbols import COUNTERS

_HEAD = "%gridjit.meminfo"
_HEAD_BYTES = 40


def _count(number: int) -> str:
    """Return the code that counts into one of the process's counters: 1 memory taken, 2 freed, 3 and 4 heads."""
    return f"""
  %counts.{number} = load i64, ptr @{COUNTERS}
  %counter.{number} = getelementptr i64, ptr @{COUNTERS}, i64 {number}
  %one.{number} = icmp ne i64 %counts.{number}, 0
  br i1 %one.{number}, label %count.{number}, label %counted.{number}
count.{number}:
  %before.{number} = atomicrmw add ptr %counter.{number}, i64 1 monotonic
  br label %counted.{number}
counted.{number}:"""


def _field(number: int, head: str = "%mi") -> str:
    return f"getelementptr {_HEAD}, ptr {head}, i64 0, i32 {number}"


_ALLOCATE = f"""
define ptr @<name>(i64 %size) nounwind {{
  %p = call ptr @malloc(i64 %size){_count(1)}
  ret ptr %p
}}
"""
_TEXT = f"""
{_HEAD} = type {{ i64, ptr, ptr, ptr, i64 }}
@{COUNTERS} = external global [5 x i64]
declare ptr @malloc(i64)
declare void @free(ptr)
{_ALLOCATE.replace("<name>", "NRT_Allocate")}
{_ALLOCATE.replace("<name>", "NRT_Allocate_External")}
define void @NRT_Free(ptr %p) nounwind {{
  call void @free(ptr %p){_count(2)}
  ret void
}}
define void @NRT_MemInfo_init(ptr %mi, ptr %data, i64 %size, ptr %dtor, ptr %info) nounwind {{
  store i64 1, ptr %mi
  %dtor.at = {_field(1)}
  store ptr %dtor, ptr %dtor.at
  %info.at = {_field(2)}
  store ptr %info, ptr %info.at
  %data.at = {_field(3)}
  store ptr %data, ptr %data.at
  %size.at = {_field(4)}
  store i64 %size, ptr %size.at{_count(3)}
  ret void
}}
define ptr @NRT_MemInfo_new(ptr %data, i64 %size, ptr %dtor, ptr %info) nounwind {{
  %mi = call ptr @NRT_Allocate(i64 {_HEAD_BYTES})
  %none = icmp eq ptr %mi, null
  br i1 %none, label %done, label %fill
fill:
  call void @NRT_MemInfo_init(ptr %mi, ptr %data, i64 %size, ptr %dtor, ptr %info)
  br label %done
done:
  ret ptr %mi
}}
define void @NRT_dealloc(ptr %mi) nounwind {{
  call void @NRT_Free(ptr %mi)
  ret void
}}
define void @NRT_MemInfo_destroy(ptr %mi) nounwind {{
  call void @NRT_dealloc(ptr %mi){_count(4)}
  ret void
}}
define void @NRT_MemInfo_call_dtor(ptr %mi) nounwind {{
  %dtor.at = {_field(1)}
  %dtor = load ptr, ptr %dtor.at
  %none = icmp eq ptr %dtor, null
  br i1 %none, label %done, label %call
call:
  %data.at = {_field(3)}
  %data = load ptr, ptr %data.at
  %size.at = {_field(4)}
  %size = load i64, ptr %size.at
  call void %dtor(ptr %data, i64 %size, ptr null)
  br label %done
done:
  call void @NRT_MemInfo_destroy(ptr %mi)
  ret void
}}
define void @gridjit.free.items(ptr %p, i64 %size, ptr %info) nounwind {{
  call void @NRT_Free(ptr %p)
  ret void
}}
define ptr @NRT_MemInfo_new_varsize(i64 %size) nounwind {{
  %data = call ptr @NRT_Allocate(i64 %size)
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %head
head:
  %mi = call ptr @NRT_MemInfo_new(ptr %data, i64 %size, ptr @gridjit.free.items, ptr null)
  br label %done
done:
  %r = phi ptr [ null, %0 ], [ %mi, %head ]
  ret ptr %r
}}
define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) nounwind {{
  %mi = call ptr @NRT_MemInfo_new_varsize(i64 %size)
  %none = icmp eq ptr %mi, null
  br i1 %none, label %done, label %fill
fill:
  %info.at = {_field(2)}
  store ptr %dtor, ptr %info.at
  br label %done
done:
  ret ptr %mi
}}
define ptr @NRT_MemInfo_data_fast(ptr %mi) nounwind {{
  %data.at = {_field(3)}
  %data = load ptr, ptr %data.at
  ret ptr %data
}}
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) nounwind {{
  %wide = zext i32 %align to i64
  %twice = shl i64 %wide, 1
  %more = add i64 %size, %twice
  %whole = add i64 %more, {_HEAD_BYTES}
  %overflows = icmp ult i64 %whole, %size
  br i1 %overflows, label %none, label %take
take:
  %mi = call ptr @NRT_Allocate_External(i64 %whole)
  %missing = icmp eq ptr %mi, null
  br i1 %missing, label %none, label %fill
fill:
  %base = getelementptr i8, ptr %mi, i64 {_HEAD_BYTES}
  %address = ptrtoint ptr %base to i64
  %zero = icmp eq i64 %wide, 0
  %unit = select i1 %zero, i64 1, i64 %wide
  %over = urem i64 %address, %unit
  %exact = icmp eq i64 %over, 0
  %rest = sub i64 %unit, %over
  %skip = select i1 %exact, i64 0, i64 %rest
  %data = getelementptr i8, ptr %base, i64 %skip
  call void @NRT_MemInfo_init(ptr %mi, ptr %data, i64 %size, ptr null, ptr null)
  ret ptr %mi
none:
  ret ptr null
}}
define void @NRT_incref(ptr %mi) nounwind {{
  %none = icmp eq ptr %mi, null
  br i1 %none, label %done, label %count
count:
  %old = atomicrmw add ptr %mi, i64 1 monotonic
  br label %done
done:
  ret void
}}
define void @NRT_decref(ptr %mi) nounwind {{
  %none = icmp eq ptr %mi, null
  br i1 %none, label %done, label %count
count:
  %old = atomicrmw sub ptr %mi, i64 1 acq_rel
  %last = icmp eq i64 %old, 1
  br i1 %last, label %end, label %done
end:
  call void @NRT_MemInfo_call_dtor(ptr %mi)
  br label %done
done:
  ret void
}}
"""
NAMES = frozenset(
    line.partition("@")[2].partition("(")[0]
    for line in _TEXT.splitlines()
    if line.startswith("define") and "NRT_" in line
)


def definition() -> str:
    """Return LLVM IR text that defines all of NAMES."""
    return _TEXT
