"""The native function that finds out whether a checked launch is a repeat, as LLVM IR text.

    PyObject *repeat(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)

It is called in place of the launch function while streams are checked for hazards. self is a configured kernel; its
launcher has a Repeats, which knows launches that need be neither checked nor noted. These are made by the launch
function; all others are left to Python. For a repeat, the place in the program is noted if the launch was made there
before, and so is the stream's time, which is later if somebody has looked at the stream's clock.

The function reads the slots of those objects and compares what they hold by identity. So machine code and Python use
the same state, and there is nothing to keep in step. If a number is the same object as before, it has not changed: the
earlier one is still held. Nothing runs between the first of these reads and the launch function.
"""

from __future__ import annotations

from gridjit.runtime.native import records
from gridjit.runtime.native.launch_ir import ATTRIBUTES, CALL_PYTHON, field_offsets, filled
from gridjit.runtime.native.probes import ObjectLayout
from gridjit.runtime.native.repeats.records import RepeatSlots, RepeatsRecord


def _slot(name: str, of: str, field: str, if_unset: str = "") -> str:
    """Return the lines that make %name what %of holds in a slot."""
    lines = f"  %{name}.at = getelementptr i8, ptr %{of}, i64 {{Slot.{field}}}\n  %{name} = load ptr, ptr %{name}.at"
    if if_unset:
        lines += f"\n  %{name}.unset = icmp eq ptr %{name}, null\n"
        lines += f"  br i1 %{name}.unset, label %{if_unset}, label %{name}.set\n{name}.set:"
    return lines


def _word(name: str, record: str, field: str, kind: str = "ptr") -> str:
    """Return the lines that make %name a field of %record; texts have the fields' offsets as {Record.field}."""
    place = f"  %{name}.in = getelementptr i8, ptr %{record}, i64 {{{field}}}"
    return f"{place}\n  %{name} = load {kind}, ptr %{name}.in"


_REPEAT = f"""
define ptr @repeat(ptr %self, ptr %args, i64 %nargs.flagged, ptr %kwnames) #0 {{
entry:
  %nargs = and i64 %nargs.flagged, 9223372036854775807
  %holder = getelementptr i8, ptr %self, i64 {{CELL}}
  %cell = load ptr, ptr %holder
{_word("env", "cell", "Cell.environment")}
{_word("record", "env", "Environment.repeats")}
  %has.keywords = icmp ne ptr %kwnames, null
  br i1 %has.keywords, label %launch, label %find.place

; First, as making a frame's object may run code of anybody's.
find.place:
{_word("get.frame", "record", "Repeats.PyEval_GetFrame")}
  %frame = call ptr %get.frame()
  %no.frame = icmp eq ptr %frame, null
  br i1 %no.frame, label %slow, label %find.code
find.code:
{_word("get.instruction", "record", "Repeats.PyFrame_GetLasti")}
  %instruction = call i32 %get.instruction(ptr %frame)
{_word("get.code", "record", "Repeats.PyFrame_GetCode")}
  %code = call ptr %get.code(ptr %frame)
{_word("decref", "env", "Environment.Py_DecRef")}
  call void %decref(ptr %code)
{_slot("launcher", "self", "launcher", if_unset="slow")}
{_slot("repeats", "launcher", "repeats", if_unset="slow")}
{_word("repeats.type", "repeats", "OBJECT_TYPE")}
{_word("repeats.wanted", "record", "Repeats.repeats_type")}
  %are.repeats = icmp eq ptr %repeats.type, %repeats.wanted
  br i1 %are.repeats, label %begin, label %slow
begin:
{_slot("ended", "repeats", "ended")}
{_word("ended.count", "ended", "Slot.ended_size", "i64")}
{_slot("line", "repeats", "line")}
{_slot("line.window", "line", "line_window")}
{_slot("line.conflicts", "line", "line_conflicts")}
{_slot("line.time", "line", "line_time")}
{_slot("known", "repeats", "known")}
{_word("count", "known", "TUPLE_SIZE", "i64")}
  %ones = getelementptr i8, ptr %known, i64 {{TUPLE_ITEMS}}
{_word("piece.type", "record", "Repeats.piece_type")}
{_word("array.type", "record", "Repeats.array_type")}
  %all.seen.to = icmp eq i64 %ended.count, 0
  br i1 %all.seen.to, label %next, label %slow

next:
  %i = phi i64 [ 0, %begin ], [ %i.next, %miss ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %slow
look:
  %one.at = getelementptr ptr, ptr %ones, i64 %i
  %one = load ptr, ptr %one.at
{_slot("window", "one", "window")}
{_slot("conflicts", "one", "conflicts")}
{_slot("pattern", "one", "pattern")}
{_word("wanted.count", "pattern", "TUPLE_SIZE", "i64")}
  %same.window = icmp eq ptr %window, %line.window
  %same.conflicts = icmp eq ptr %conflicts, %line.conflicts
  %same.count = icmp eq i64 %wanted.count, %nargs
  %in.order = and i1 %same.window, %same.conflicts
  %may.fit = and i1 %in.order, %same.count
  %wanted.items = getelementptr i8, ptr %pattern, i64 {{TUPLE_ITEMS}}
  br i1 %may.fit, label %compare, label %miss
compare:
  %j = phi i64 [ 0, %look ], [ %j.next, %array ], [ %j.next, %other ]
  %any.left = icmp slt i64 %j, %nargs
  br i1 %any.left, label %argument, label %find.site
argument:
  %wanted.at = getelementptr ptr, ptr %wanted.items, i64 %j
  %wanted = load ptr, ptr %wanted.at
  %arg.at = getelementptr ptr, ptr %args, i64 %j
  %arg = load ptr, ptr %arg.at
  %j.next = add i64 %j, 1
{_word("arg.type", "arg", "OBJECT_TYPE")}
{_word("wanted.type", "wanted", "OBJECT_TYPE")}
  %is.piece = icmp eq ptr %wanted.type, %piece.type
  %type = select i1 %is.piece, ptr %array.type, ptr %wanted
  %same.type = icmp eq ptr %arg.type, %type
  br i1 %same.type, label %contents, label %miss
contents:
  br i1 %is.piece, label %array, label %other
array:
{_slot("key", "wanted", "key")}
{_slot("parameters", "arg", "parameters")}
  %same.array = icmp eq ptr %parameters, %key
  br i1 %same.array, label %compare, label %miss
other:
  br label %compare
miss:
  %i.next = add i64 %i, 1
  br label %next

find.site:
{_slot("site", "one", "site")}
{_slot("place", "site", "place")}
  %same.place = call i1 @is_at(ptr %place, ptr %code, i32 %instruction)
  br i1 %same.place, label %find.time, label %find.places
; Where a stream is chosen, it may be launched there after all.
find.places:
{_word("chosen.at", "record", "Repeats.chosen")}
  %chosen = load i32, ptr %chosen.at
  %none.chosen = icmp eq i32 %chosen, 0
  br i1 %none.chosen, label %look.through, label %slow
look.through:
{_slot("places", "site", "places")}
{_word("places.count", "places", "TUPLE_SIZE", "i64")}
  %places.items = getelementptr i8, ptr %places, i64 {{TUPLE_ITEMS}}
  br label %next.place
next.place:
  %k = phi i64 [ 0, %look.through ], [ %k.next, %look.place ]
  %any.place = icmp slt i64 %k, %places.count
  br i1 %any.place, label %look.place, label %slow
look.place:
  %k.next = add i64 %k, 1
  %found.at = getelementptr ptr, ptr %places.items, i64 %k
  %found = load ptr, ptr %found.at
  %is.here = call i1 @is_at(ptr %found, ptr %code, i32 %instruction)
  br i1 %is.here, label %move, label %next.place
; The place that it was made at before is among the places too, so nothing is freed.
move:
{_word("incref.place", "env", "Environment.Py_IncRef")}
  call void %incref.place(ptr %found)
  store ptr %found, ptr %place.at
  call void %decref(ptr %place)
  br label %find.time

find.time:
{_slot("time", "one", "time")}
  %same.time = icmp eq ptr %time, %line.time
  br i1 %same.time, label %launch, label %find.stream
; As it would not be noted where it is launched after all.
find.stream:
{_word("chosen.now.at", "record", "Repeats.chosen")}
  %chosen.now = load i32, ptr %chosen.now.at
  %none.chosen.now = icmp eq i32 %chosen.now, 0
  br i1 %none.chosen.now, label %note, label %slow
note:
{_word("incref.time", "env", "Environment.Py_IncRef")}
  call void @replace(ptr %time.at, ptr %line.time, ptr %incref.time, ptr %decref)
{_slot("marks", "one", "marks")}
{_word("marks.count", "marks", "TUPLE_SIZE", "i64")}
  %marks.items = getelementptr i8, ptr %marks, i64 {{TUPLE_ITEMS}}
  br label %next.mark
next.mark:
  %m = phi i64 [ 0, %note ], [ %m.next, %mark ]
  %any.mark = icmp slt i64 %m, %marks.count
  br i1 %any.mark, label %mark, label %launch
mark:
  %m.next = add i64 %m, 2
  %use.in = getelementptr ptr, ptr %marks.items, i64 %m
  %use = load ptr, ptr %use.in
  %what.in = getelementptr ptr, ptr %use.in, i64 1
  %what = load ptr, ptr %what.in
  %use.time = getelementptr i8, ptr %use, i64 {{Slot.use_time}}
  call void @replace(ptr %use.time, ptr %line.time, ptr %incref.time, ptr %decref)
  %use.what = getelementptr i8, ptr %use, i64 {{Slot.use_what}}
  call void @replace(ptr %use.what, ptr %what, ptr %incref.time, ptr %decref)
  br label %next.mark

launch:
{_word("launch.function", "record", "Repeats.launch")}
  %launched = tail call ptr %launch.function(ptr %self, ptr %args, i64 %nargs.flagged, ptr %kwnames)
  ret ptr %launched
slow:
{_word("incref", "env", "Environment.Py_IncRef")}
  call void %incref(ptr %self)
{_word("python", "record", "Repeats.python")}
  %answer = call ptr @call_python(ptr %env, ptr %python, ptr %self, ptr %args, i64 %nargs)
  ret ptr %answer
}}

; Have a slot hold another object.
define internal void @replace(ptr %slot, ptr %made, ptr %incref, ptr %decref) #0 {{
entry:
  %before = load ptr, ptr %slot
  call void %incref(ptr %made)
  store ptr %made, ptr %slot
  call void %decref(ptr %before)
  ret void
}}

; Whether a place is an instruction of some code.
define internal i1 @is_at(ptr %place, ptr %code, i32 %instruction) #2 {{
entry:
  %items = getelementptr i8, ptr %place, i64 {{TUPLE_ITEMS}}
  %place.code = load ptr, ptr %items
  %object.at = getelementptr ptr, ptr %items, i64 1
  %object = load ptr, ptr %object.at
{_word("number", "object", "INT_DIGIT", "i32")}
  %same.code = icmp eq ptr %place.code, %code
  %same.instruction = icmp eq i32 %number, %instruction
  %both = and i1 %same.code, %same.instruction
  ret i1 %both
}}
"""


def repeats_ir(layout: ObjectLayout, slots: RepeatSlots) -> str:
    """Return the module's text for an interpreter of this layout; equal texts make equal code."""
    offsets = {f"Slot.{name}": getattr(slots, name) for name in RepeatSlots.__slots__}
    fields = {f"Repeats.{name}": offset for name, offset in records.offsets(RepeatsRecord).items()}
    return filled(_REPEAT + CALL_PYTHON + ATTRIBUTES, {**field_offsets(layout), **fields, **offsets})
