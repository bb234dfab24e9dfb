"""The native launch function as LLVM IR text. One function serves all kernels; everything it knows is in the table.

    PyObject *launch(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)

self holds the address of a CellRecord, {CELL} bytes from its start: it is called as a vectorcall function of an object
that is launched, and as a builtin function whose self is bytes. For each table from the first: every argument is
checked and its parameters written into a buffer on the stack; the first table that fits is launched: by the driver, or
on the host by the function that runs grids. If none fits, or keywords were given, Python is called with the same
arguments.
"""

from __future__ import annotations

import ctypes
import re

from gridjit.runtime.native.launches.describing_ir import DESCRIBING
from gridjit.runtime.native.launches.packed_ir import packed
from gridjit.runtime.native.launches.staging_ir import STAGING
from gridjit.runtime.native.layout import launch_records as records
from gridjit.runtime.native.layout import staging_records
from gridjit.runtime.native.layout.probes import ObjectLayout
from gridjit.runtime.native.readers.all_readers import all_readers

_MAIN = """
define ptr @launch(ptr %self, ptr %args, i64 %nargs.flagged, ptr %kwnames) #0 {
entry:
  %buffer = alloca [{MAX_BUFFER} x i8], align 16
  %size = alloca i64, align 8
  %extra = alloca [5 x ptr], align 8
  %context = alloca i64, align 8
  %failure = alloca [{REPORT_BYTES} x i8], align 8
  %nargs = and i64 %nargs.flagged, 9223372036854775807
  %holder = getelementptr i8, ptr %self, i64 {CELL}
  %cell = load ptr, ptr %holder
  %env.at = getelementptr i8, ptr %cell, i64 {Cell.environment}
  %env = load ptr, ptr %env.at
  %has.keywords = icmp ne ptr %kwnames, null
  br i1 %has.keywords, label %keywords, label %begin
begin:
  %first = load atomic ptr, ptr %cell acquire, align 8
  br label %next.table

next.table:
  %table = phi ptr [ %first, %begin ], [ %following, %miss ]
  %exhausted = icmp eq ptr %table, null
  br i1 %exhausted, label %slow, label %check
check:
  %wanted.at = getelementptr i8, ptr %table, i64 {Table.nargs}
  %wanted32 = load i32, ptr %wanted.at
  %wanted = sext i32 %wanted32 to i64
  %count.differs = icmp ne i64 %wanted, %nargs
  br i1 %count.differs, label %miss, label %check.stream
check.stream:
  %guard.at = getelementptr i8, ptr %table, i64 {Table.guard}
  %guard = load ptr, ptr %guard.at
  %unguarded = icmp eq ptr %guard, null
  br i1 %unguarded, label %check.context, label %check.guard
check.guard:
  %guarded.at = getelementptr i8, ptr %table, i64 {Table.guarded}
  %guarded = load ptr, ptr %guarded.at
  %holds = load ptr, ptr %guard
  %changed = icmp ne ptr %holds, %guarded
  br i1 %changed, label %miss, label %check.context
check.context:
  %ask.at = getelementptr i8, ptr %table, i64 {Table.ask}
  %ask = load ptr, ptr %ask.at
  %any.context = icmp eq ptr %ask, null
  br i1 %any.context, label %check.follow, label %ask.context
ask.context:
  store i64 0, ptr %context
  %ask.code = call i32 %ask(ptr null, ptr %context)
  %current = load i64, ptr %context
  %wanted.context.at = getelementptr i8, ptr %table, i64 {Table.context}
  %wanted.context = load i64, ptr %wanted.context.at
  %ask.failed = icmp ne i32 %ask.code, 0
  %other.context = icmp ne i64 %current, %wanted.context
  %no.context = or i1 %ask.failed, %other.context
  br i1 %no.context, label %miss, label %check.follow
check.follow:
  %follow.at = getelementptr i8, ptr %table, i64 {Table.follow}
  %follow = load ptr, ptr %follow.at
  %on.its.own = icmp eq ptr %follow, null
  br i1 %on.its.own, label %prepare, label %ask.follow
ask.follow:
  %now = call i64 %follow()
  %followed.at = getelementptr i8, ptr %table, i64 {Table.followed}
  %followed = load i64, ptr %followed.at
  %still = icmp eq i64 %now, %followed
  br i1 %still, label %prepare, label %gone
gone:
  %clear.error.at = getelementptr i8, ptr %env, i64 {Environment.PyErr_Clear}
  %clear.error = load ptr, ptr %clear.error.at
  call void %clear.error()
  br label %miss
prepare:
  %total.at = getelementptr i8, ptr %table, i64 {Table.size}
  %total = load i64, ptr %total.at
  %flags.at = getelementptr i8, ptr %table, i64 {Table.flags}
  %flags = load i32, ptr %flags.at
  %padded.bit = and i32 %flags, {PADDED}
  %padded = icmp ne i32 %padded.bit, 0
  br i1 %padded, label %clear, label %ready
clear:
  %clear.i = phi i64 [ 0, %prepare ], [ %clear.next, %clear ]
  %clear.at = getelementptr i8, ptr %buffer, i64 %clear.i
  store volatile i64 0, ptr %clear.at
  %clear.next = add i64 %clear.i, 8
  %clear.more = icmp slt i64 %clear.next, %total
  br i1 %clear.more, label %clear, label %ready
ready:
  %none.given = icmp eq i64 %nargs, 0
  br i1 %none.given, label %launch, label %read
read:
  %i = phi i64 [ 0, %ready ], [ %i.next, %read.done ]
  %i.offset = mul i64 %i, {OPERATION_SIZE}
  %op.offset = add i64 %i.offset, {TABLE_SIZE}
  %op = getelementptr i8, ptr %table, i64 %op.offset
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %arg.type.at = getelementptr i8, ptr %arg, i64 {OBJECT_TYPE}
  %arg.type = load ptr, ptr %arg.type.at
  %op.type.at = getelementptr i8, ptr %op, i64 {Operation.type}
  %op.type = load ptr, ptr %op.type.at
  %other.type = icmp ne ptr %arg.type, %op.type
  br i1 %other.type, label %miss, label %read.it
read.it:
  %out.offset.at = getelementptr i8, ptr %op, i64 {Operation.offset}
  %out.offset32 = load i32, ptr %out.offset.at
  %out.offset = zext i32 %out.offset32 to i64
  %out = getelementptr i8, ptr %buffer, i64 %out.offset
  %how = load i32, ptr %op
  switch i32 %how, label %miss [
{CASES}
  ]
{CALLS}
read.done:
  %read.ok = phi i1 {RESULTS}
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %nargs
  %go.on = and i1 %read.ok, %more
  br i1 %go.on, label %read, label %read.end
read.end:
  br i1 %read.ok, label %launch, label %miss
miss:
  %following = load ptr, ptr %table
  br label %next.table

launch:
  %other.bits = and i32 %flags, {OTHERS}
  %by.driver = icmp eq i32 %other.bits, 0
  br i1 %by.driver, label %launch.device, label %launch.other
launch.other:
  switch i32 %other.bits, label %launch.host [
    i32 {STAGED}, label %launch.staged
    i32 {DESCRIBED}, label %launch.none
  ]
launch.none:
  %description = call ptr @describe(ptr %env, ptr %table, ptr %buffer)
  ret ptr %description
launch.staged:
  %staged.code = call i32 @launch_staged(ptr %env, ptr %table, ptr %buffer)
  %staged.failed = icmp ne i32 %staged.code, 0
  br i1 %staged.failed, label %report, label %success

; The grid's, the block's and the shared sizes are in the table as kernels on the host read them.
launch.host:
  %grid.place = getelementptr i8, ptr %table, i64 {Table.launch}
  %grid.function = load ptr, ptr %grid.place
  %grid.handle.place = getelementptr i8, ptr %table, i64 {Table.handle}
  %grid.handle = load ptr, ptr %grid.handle.place
  %grid.shape = getelementptr i8, ptr %table, i64 {Table.gx}
  %grid.held = and i32 %flags, {HOLD_GIL}
  %grid.code = call i32 %grid.function(ptr %grid.handle, ptr %grid.shape, ptr %buffer, i32 %grid.held, ptr %failure)
  %grid.failed = icmp ne i32 %grid.code, 0
  br i1 %grid.failed, label %report.host, label %success
report.host:
  %interrupted = icmp eq i32 %grid.code, {INTERRUPTED}
  br i1 %interrupted, label %raised, label %report.failure
raised:
  ret ptr null
report.failure:
  %failure.handle = getelementptr i8, ptr %failure, i64 {REPORT_HANDLE}
  store ptr %grid.handle, ptr %failure.handle
  %to.bytes.at = getelementptr i8, ptr %env, i64 {Environment.PyBytes_FromStringAndSize}
  %to.bytes = load ptr, ptr %to.bytes.at
  %failure.object = call ptr %to.bytes(ptr %failure, i64 {REPORT_BYTES})
  %no.object = icmp eq ptr %failure.object, null
  br i1 %no.object, label %raised, label %tell.failure
tell.failure:
  %told.at = getelementptr i8, ptr %cell, i64 {Cell.failed}
  %told.callable = load ptr, ptr %told.at
  %told = call ptr @call_python(ptr %env, ptr %told.callable, ptr %failure.object, ptr %args, i64 %nargs)
  ret ptr %told

launch.device:
{PACKED}
  %empty = icmp eq i64 %total, 0
  %extra.used = select i1 %empty, ptr null, ptr %extra
{LOADS}
  %hold.bit = and i32 %flags, {HOLD_GIL}
  %hold = icmp ne i32 %hold.bit, 0
  br i1 %hold, label %call.held, label %call.released
call.held:
  %code.held = {DRIVER_CALL}
  br label %called
call.released:
  %save.at = getelementptr i8, ptr %env, i64 {Environment.PyEval_SaveThread}
  %save = load ptr, ptr %save.at
  %state = call ptr %save()
  %code.released = {DRIVER_CALL}
  %restore.at = getelementptr i8, ptr %env, i64 {Environment.PyEval_RestoreThread}
  %restore = load ptr, ptr %restore.at
  call void %restore(ptr %state)
  br label %called
called:
  %code = phi i32 [ %code.held, %call.held ], [ %code.released, %call.released ]
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %report, label %success
success:
  %before = load i64, ptr %env
  %number = add i64 %before, 1
  store i64 %number, ptr %env
  %last.at = getelementptr i8, ptr %table, i64 {Table.last}
  store i64 %number, ptr %last.at
  %none.at = getelementptr i8, ptr %env, i64 {Environment.none}
  %none = load ptr, ptr %none.at
{KEEP_NONE}
  ret ptr %none

report:
  %code.or.keywords = phi i32 [ %code, %called ], [ %staged.code, %launch.staged ], [ -1, %keywords ]
  %failed.at = getelementptr i8, ptr %cell, i64 {Cell.failed}
  %failed.callable = load ptr, ptr %failed.at
  %from.long.at = getelementptr i8, ptr %env, i64 {Environment.PyLong_FromLong}
  %from.long = load ptr, ptr %from.long.at
  %code.long = sext i32 %code.or.keywords to i64
  %code.object = call ptr %from.long(i64 %code.long)
  %answer = call ptr @call_python(ptr %env, ptr %failed.callable, ptr %code.object, ptr %args, i64 %nargs)
  ret ptr %answer
keywords:
  br label %report
slow:
  %slow.at = getelementptr i8, ptr %cell, i64 {Cell.slow}
  %slow.callable = load ptr, ptr %slow.at
  %result = call ptr @call_python(ptr %env, ptr %slow.callable, ptr null, ptr %args, i64 %nargs)
  ret ptr %result
}
"""

CALL_PYTHON = """
; Call Python with the arguments, after a first one of its own (whose reference it takes) if that is not null.
define internal ptr @call_python(ptr %env, ptr %callable, ptr %first, ptr %args, i64 %nargs) #1 {
entry:
  %tuple.new.at = getelementptr i8, ptr %env, i64 {Environment.PyTuple_New}
  %tuple.new = load ptr, ptr %tuple.new.at
  %tuple.set.at = getelementptr i8, ptr %env, i64 {Environment.PyTuple_SetItem}
  %tuple.set = load ptr, ptr %tuple.set.at
  %incref.at = getelementptr i8, ptr %env, i64 {Environment.Py_IncRef}
  %incref = load ptr, ptr %incref.at
  %decref.at = getelementptr i8, ptr %env, i64 {Environment.Py_DecRef}
  %decref = load ptr, ptr %decref.at
  %call.at = getelementptr i8, ptr %env, i64 {Environment.PyObject_Call}
  %call = load ptr, ptr %call.at
  %has.first = icmp ne ptr %first, null
  %shift = zext i1 %has.first to i64
  %length = add i64 %nargs, %shift
  %tuple = call ptr %tuple.new(i64 %length)
  %no.memory = icmp eq ptr %tuple, null
  br i1 %no.memory, label %give.up, label %begin
begin:
  br i1 %has.first, label %put.first, label %fill
put.first:
  %first.status = call i32 %tuple.set(ptr %tuple, i64 0, ptr %first)
  br label %fill
fill:
  %empty = icmp eq i64 %nargs, 0
  br i1 %empty, label %go, label %loop
loop:
  %i = phi i64 [ 0, %fill ], [ %i.next, %loop ]
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  call void %incref(ptr %arg)
  %place = add i64 %i, %shift
  %status = call i32 %tuple.set(ptr %tuple, i64 %place, ptr %arg)
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %nargs
  br i1 %more, label %loop, label %go
go:
  %result = call ptr %call(ptr %callable, ptr %tuple, ptr null)
  call void %decref(ptr %tuple)
  ret ptr %result
give.up:
  br i1 %has.first, label %drop.first, label %fail
drop.first:
  call void %decref(ptr %first)
  br label %fail
fail:
  ret ptr null
}
"""

ATTRIBUTES = """
attributes #0 = { nounwind "no-jump-tables"="true" "no-builtins" }
attributes #1 = { nounwind noinline "no-builtins" }
attributes #2 = { nounwind alwaysinline "no-builtins" }
"""

_KEEP_NONE = """
  %kept.at = getelementptr i8, ptr %none, i64 {REFERENCES}
  %kept = load i64, ptr %kept.at
  %kept.more = add i64 %kept, 1
  store i64 %kept.more, ptr %kept.at
"""

_DRIVER = (
    "call i32 %function(ptr %handle, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, "
    "ptr %stream, ptr null, ptr %extra.used)"
)


def launch_ir(layout: ObjectLayout) -> str:
    """Return the module's text for an interpreter of this layout; equal texts make equal code."""
    loads = [("function", "ptr", "launch"), ("handle", "ptr", "handle"), ("stream", "ptr", "stream")]
    loads += [(name, "i32", name) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")]
    calls = "\n".join(
        f"case.{name}:\n  %ok.{name} = call i1 @read_{name}(ptr %env, ptr %op, ptr %arg, ptr %out)\n"
        "  br label %read.done"
        for name in records.READS
    )
    values = {
        **field_offsets(layout),
        "CASES": "\n".join(f"    i32 {number}, label %case.{name}" for number, name in enumerate(records.READS)),
        "CALLS": calls,
        "RESULTS": ", ".join(f"[ %ok.{name}, %case.{name} ]" for name in records.READS),
        "LOADS": "\n".join(
            f"  %{name}.place = getelementptr i8, ptr %table, i64 {{Table.{field}}}\n"
            f"  %{name} = load {kind}, ptr %{name}.place"
            for name, kind, field in loads
        ),
        "DRIVER_CALL": _DRIVER,
        "PACKED": packed("%total"),
        "KEEP_NONE": _KEEP_NONE if layout.counts_none else "",
    }
    return filled(_MAIN + CALL_PYTHON + all_readers() + STAGING + DESCRIBING + ATTRIBUTES, values)


def filled(text: str, values: dict[str, object]) -> str:
    """Return text with each {name} replaced by its value."""
    for _ in range(2):  # what is put in names fields itself
        text = re.sub(r"\{([A-Za-z_.0-9]+)\}", lambda match: str(values[match[1]]), text)
    return text


def field_offsets(layout: ObjectLayout) -> dict[str, object]:
    """Return what the text calls the fields of records and of Python's objects, and where those are."""
    kinds = {
        "Cell": records.CellRecord,
        "Table": records.TableRecord,
        "Operation": records.OperationRecord,
        "Environment": records.EnvironmentRecord,
        "Staging": staging_records.StagingRecord,
        "Rooms": staging_records.RoomsRecord,
        "Room": staging_records.RoomRecord,
    }
    found: dict[str, object] = {
        f"{kind}.{name}": offset for kind, record in kinds.items() for name, offset in records.offsets(record).items()
    }
    return found | {
        "OBJECT_TYPE": layout.type,
        "REFERENCES": layout.references,
        "BYTES_DATA": layout.bytes_data,
        "BYTES_SIZE": layout.bytes_size,
        "TUPLE_ITEMS": layout.tuple_items,
        "TUPLE_SIZE": layout.tuple_size,
        "INT_DIGIT": layout.int_digit,
        "INT_SIZE": layout.int_size,
        "INT_SINGLE": layout.int_single,
        "CELL": records.CELL,
        "MAX_BUFFER": records.MAX_BUFFER,
        "PADDED": records.PADDED,
        "HOLD_GIL": records.HOLD_GIL,
        "STAGED": records.STAGED,
        "DESCRIBED": records.DESCRIBED,
        "OTHERS": records.HOST | records.STAGED | records.DESCRIBED,
        "INTERRUPTED": records.INTERRUPTED,
        "REPORT_BYTES": records.REPORT_BYTES,
        "REPORT_HANDLE": records.REPORT_HANDLE,
        "TABLE_SIZE": ctypes.sizeof(records.TableRecord),
        "OPERATION_SIZE": ctypes.sizeof(records.OperationRecord),
    }
