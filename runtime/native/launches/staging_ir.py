"""Launches of host arrays, as LLVM IR.

    i32 launch_staged(ptr env, ptr table, ptr buffer)

is given a table and its parameters, where each array still has its address on the host. It copies the arrays through a
room, launches, waits, and copies back what was written: two copies of the driver's at most, however many arrays there
are. It returns 0, a code of the driver's, or one of those of records.py; until the launch is made, nothing has changed.

What a directed argument holds is kept meanwhile, as others may put something else in its place: the reader leaves the
array in the first word of its parameters.
"""

from __future__ import annotations

import ctypes

from gridjit.runtime.native.launches.packed_ir import packed
from gridjit.runtime.native.layout import staging_records as records
from gridjit.runtime.native.layout.fields import load

_TABLE = ("launch:ptr", "handle:ptr", "stream:ptr", "size", "staging:ptr")
_SHAPE = tuple(f"{name}:i32" for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared"))
_CALLS = ("copy_in:ptr", "copy_out:ptr", "synchronize:ptr", "capturing:ptr", "move:ptr", "bytes", "count")
_PYTHON = ("Py_IncRef", "Py_DecRef", "PyEval_SaveThread", "PyEval_RestoreThread")

STAGING = f"""
define internal i32 @launch_staged(ptr %env, ptr %table, ptr %buffer) #1 {{
entry:
  %sizes = alloca [{records.MAX_ARRAYS} x i64], align 8
  %hosts = alloca [{records.MAX_ARRAYS} x ptr], align 8
  %held = alloca [{records.MAX_ARRAYS} x ptr], align 8
  %size = alloca i64, align 8
  %extra = alloca [5 x ptr], align 8
  %status = alloca i32, align 4
{load("table", "Table", *_TABLE, *_SHAPE)}
  %plan = getelementptr i8, ptr %table.staging, i64 0
{load("plan", "Staging", "rooms:ptr", "count", "read", "written")}
  %rooms = getelementptr i8, ptr %plan.rooms, i64 0
{load("rooms", "Rooms", *_CALLS)}
{load("env", "Environment", *(f"{name}:ptr" for name in _PYTHON))}
  br label %measure

; How many bytes each array has, and whether it shares some with another.
measure:
  %m = phi i64 [ 0, %entry ], [ %m.next, %measured ]
  %m.total = phi i64 [ 0, %entry ], [ %m.more, %measured ]
  %m.offset.base = getelementptr i8, ptr %plan, i64 {{Staging.offset0}}
  %m.offset.at = getelementptr i64, ptr %m.offset.base, i64 %m
  %m.offset = load i64, ptr %m.offset.at
  %m.out = getelementptr i8, ptr %buffer, i64 %m.offset
  %m.object = load ptr, ptr %m.out
  store ptr null, ptr %m.out
  %m.held = getelementptr ptr, ptr %held, i64 %m
  store ptr %m.object, ptr %m.held
  %m.items.at = getelementptr i64, ptr %m.out, i64 2
  %m.items = load i64, ptr %m.items.at
  %m.itemsize.at = getelementptr i64, ptr %m.out, i64 3
  %m.itemsize = load i64, ptr %m.itemsize.at
  %m.host.at = getelementptr i64, ptr %m.out, i64 4
  %m.host = load ptr, ptr %m.host.at
  %m.bytes = mul i64 %m.items, %m.itemsize
  %m.hosts = getelementptr ptr, ptr %hosts, i64 %m
  store ptr %m.host, ptr %m.hosts
  %m.sizes = getelementptr i64, ptr %sizes, i64 %m
  store i64 %m.bytes, ptr %m.sizes
  %m.large = icmp ugt i64 %m.bytes, %rooms.bytes
  br i1 %m.large, label %python, label %compare
compare:
  %m.plus = add i64 %m.bytes, {records.ALIGNMENT - 1}
  %m.padded = and i64 %m.plus, -{records.ALIGNMENT}
  %m.more = add i64 %m.total, %m.padded
  %m.begin = ptrtoint ptr %m.host to i64
  %m.end = add i64 %m.begin, %m.bytes
  br label %others
others:
  %o = phi i64 [ 0, %compare ], [ %o.next, %other ]
  %o.done = icmp eq i64 %o, %m
  br i1 %o.done, label %fits, label %other
other:
  %o.hosts = getelementptr ptr, ptr %hosts, i64 %o
  %o.begin.pointer = load ptr, ptr %o.hosts
  %o.begin = ptrtoint ptr %o.begin.pointer to i64
  %o.sizes = getelementptr i64, ptr %sizes, i64 %o
  %o.bytes = load i64, ptr %o.sizes
  %o.end = add i64 %o.begin, %o.bytes
  %o.before = icmp ult i64 %o.begin, %m.end
  %o.after = icmp ult i64 %m.begin, %o.end
  %o.shares = and i1 %o.before, %o.after
  %o.next = add i64 %o, 1
  br i1 %o.shares, label %python, label %others
fits:
  %m.full = icmp ugt i64 %m.more, %rooms.bytes
  br i1 %m.full, label %python, label %measured
measured:
  %m.next = add i64 %m, 1
  %m.again = icmp slt i64 %m.next, %plan.count
  br i1 %m.again, label %measure, label %hold
python:
  ret i32 {records.BY_PYTHON}

hold:
  %h = phi i64 [ 0, %measured ], [ %h.next, %hold.next ]
  %h.at = getelementptr ptr, ptr %held, i64 %h
  %h.object = load ptr, ptr %h.at
  %h.none = icmp eq ptr %h.object, null
  br i1 %h.none, label %hold.next, label %hold.it
hold.it:
  call void %env.Py_IncRef(ptr %h.object)
  br label %hold.next
hold.next:
  %h.next = add i64 %h, 1
  %h.again = icmp slt i64 %h.next, %plan.count
  br i1 %h.again, label %hold, label %held.all
held.all:
  %state = call ptr %env.PyEval_SaveThread()
  ; What the stream is given while it is captured would be repeated, and not done now.
  %ask.code = call i32 %rooms.capturing(ptr %table.stream, ptr %status)
  %ask.status = load i32, ptr %status
  %ask.either = or i32 %ask.code, %ask.status
  %captured = icmp ne i32 %ask.either, 0
  br i1 %captured, label %end, label %look

look:
  %r = phi i64 [ 0, %held.all ], [ %r.next, %look.next ]
  %r.none = icmp sge i64 %r, %rooms.count
  br i1 %r.none, label %end, label %try
try:
  %r.offset = mul i64 %r, {ctypes.sizeof(records.RoomRecord)}
  %r.base = getelementptr i8, ptr %rooms, i64 {{Rooms.rooms}}
  %room = getelementptr i8, ptr %r.base, i64 %r.offset
  %swapped = cmpxchg ptr %room, i64 0, i64 1 acq_rel monotonic, align 8
  %is.ours = extractvalue {{ i64, i1 }} %swapped, 1
  br i1 %is.ours, label %taken, label %look.next
look.next:
  %r.next = add i64 %r, 1
  br label %look
taken:
{load("room", "Room", "here:ptr", "there:ptr")}
  br label %place

; Where each array lies on the device, and what is read of them, side by side in the room.
place:
  %p = phi i64 [ 0, %taken ], [ %p.next, %placed ]
  %p.at = phi i64 [ 0, %taken ], [ %p.end, %placed ]
  %p.read = phi i64 [ 0, %taken ], [ %p.read.end, %placed ]
  %p.written = phi i64 [ 0, %taken ], [ %p.written.begin, %placed ]
  %p.offset.base = getelementptr i8, ptr %plan, i64 {{Staging.offset0}}
  %p.offset.at = getelementptr i64, ptr %p.offset.base, i64 %p
  %p.offset = load i64, ptr %p.offset.at
  %p.out = getelementptr i8, ptr %buffer, i64 %p.offset
  %p.data.at = getelementptr i64, ptr %p.out, i64 4
  %p.there = getelementptr i8, ptr %room.there, i64 %p.at
  store ptr %p.there, ptr %p.data.at
  %p.sizes = getelementptr i64, ptr %sizes, i64 %p
  %p.bytes = load i64, ptr %p.sizes
  %p.plus = add i64 %p.bytes, {records.ALIGNMENT - 1}
  %p.padded = and i64 %p.plus, -{records.ALIGNMENT}
  %p.end = add i64 %p.at, %p.padded
  %p.is.written = icmp sge i64 %p, %plan.written
  %p.written.begin = select i1 %p.is.written, i64 %p.written, i64 %p.end
  %p.is.read = icmp slt i64 %p, %plan.read
  %p.read.end = select i1 %p.is.read, i64 %p.end, i64 %p.read
  br i1 %p.is.read, label %place.read, label %placed
place.read:
  %p.hosts = getelementptr ptr, ptr %hosts, i64 %p
  %p.host = load ptr, ptr %p.hosts
  %p.here = getelementptr i8, ptr %room.here, i64 %p.at
  %p.moved = call ptr %rooms.move(ptr %p.here, ptr %p.host, i64 %p.bytes)
  br label %placed
placed:
  %p.next = add i64 %p, 1
  %p.again = icmp slt i64 %p.next, %plan.count
  br i1 %p.again, label %place, label %copy.in
copy.in:
  %nothing.in = icmp eq i64 %p.read.end, 0
  br i1 %nothing.in, label %go, label %copy.in.all
copy.in.all:
  %in.code = call i32 %rooms.copy_in(ptr %room.there, ptr %room.here, i64 %p.read.end, ptr %table.stream)
  %in.failed = icmp ne i32 %in.code, 0
  br i1 %in.failed, label %abandon, label %go
go:
{packed("%table.size")}
  %code = call i32 %table.launch(ptr %table.handle, i32 %table.gx, i32 %table.gy, i32 %table.gz, i32 %table.bx,
    i32 %table.by, i32 %table.bz, i32 %table.shared, ptr %table.stream, ptr null, ptr %extra)
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %abandon, label %copy.out
abandon:
  ; The room is free once the device has read it; if that is unknown, never.
  %abandon.code = call i32 %rooms.synchronize(ptr %table.stream)
  %abandon.lost = icmp ne i32 %abandon.code, 0
  br i1 %abandon.lost, label %end, label %give.back
copy.out:
  %out.bytes = sub i64 %p.end, %p.written.begin
  %nothing.out = icmp eq i64 %out.bytes, 0
  br i1 %nothing.out, label %wait, label %copy.out.all
copy.out.all:
  %out.here = getelementptr i8, ptr %room.here, i64 %p.written.begin
  %out.there = getelementptr i8, ptr %room.there, i64 %p.written.begin
  %out.code = call i32 %rooms.copy_out(ptr %out.here, ptr %out.there, i64 %out.bytes, ptr %table.stream)
  %out.failed = icmp ne i32 %out.code, 0
  br i1 %out.failed, label %lost, label %wait
wait:
  %wait.code = call i32 %rooms.synchronize(ptr %table.stream)
  %wait.failed = icmp ne i32 %wait.code, 0
  br i1 %wait.failed, label %lost, label %back
lost:
  %lost.code = phi i32 [ %out.code, %copy.out.all ], [ %wait.code, %wait ]
  %lost.after = add i32 %lost.code, {records.AFTER}
  br label %end

back:
  %b = phi i64 [ %plan.written, %wait ], [ %b.next, %back.it ]
  %b.at = phi i64 [ %p.written.begin, %wait ], [ %b.end, %back.it ]
  %b.done = icmp sge i64 %b, %plan.count
  br i1 %b.done, label %give.back, label %back.it
back.it:
  %b.hosts = getelementptr ptr, ptr %hosts, i64 %b
  %b.host = load ptr, ptr %b.hosts
  %b.sizes = getelementptr i64, ptr %sizes, i64 %b
  %b.bytes = load i64, ptr %b.sizes
  %b.here = getelementptr i8, ptr %room.here, i64 %b.at
  %b.moved = call ptr %rooms.move(ptr %b.host, ptr %b.here, i64 %b.bytes)
  %b.plus = add i64 %b.bytes, {records.ALIGNMENT - 1}
  %b.padded = and i64 %b.plus, -{records.ALIGNMENT}
  %b.end = add i64 %b.at, %b.padded
  %b.next = add i64 %b, 1
  br label %back
give.back:
  %given = phi i32 [ {records.BY_PYTHON}, %abandon ], [ 0, %back ]
  store atomic i64 0, ptr %room release, align 8
  br label %end
end:
  %answer = phi i32 [ {records.BY_PYTHON}, %held.all ], [ {records.NO_ROOM}, %look ], [ %given, %give.back ],
                    [ {records.BY_PYTHON}, %abandon ], [ %lost.after, %lost ]
  call void %env.PyEval_RestoreThread(ptr %state)
  br label %let.go
let.go:
  %g = phi i64 [ 0, %end ], [ %g.next, %let.go.next ]
  %g.at = getelementptr ptr, ptr %held, i64 %g
  %g.object = load ptr, ptr %g.at
  %g.none = icmp eq ptr %g.object, null
  br i1 %g.none, label %let.go.next, label %let.it.go
let.it.go:
  call void %env.Py_DecRef(ptr %g.object)
  br label %let.go.next
let.go.next:
  %g.next = add i64 %g, 1
  %g.again = icmp slt i64 %g.next, %plan.count
  br i1 %g.again, label %let.go, label %done
done:
  ret i32 %answer
}}
"""
