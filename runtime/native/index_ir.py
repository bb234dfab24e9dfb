"""The native indexing function as LLVM IR text: `kernel[grid, block]` again, without Python.

    PyObject *index(PyObject *kernel, PyObject *key)

The kernel's slot `_hot` holds a tuple: bytes with the address of the environment, then pairs of a configured kernel and
the index that it was made for. A configured kernel is returned again if the index is the same, and nobody still holds
it or has looked for its callbacks: then it cannot be distinguished from a new one. Anything else asks Python.

Indexes are the same if they are tuples of as many items, and those are the same objects, equal ints, or tuples of such.
"""

from __future__ import annotations

from gridjit.base.values import dataclass
from gridjit.runtime.native.launches.launch_ir import ATTRIBUTES, field_offsets, filled
from gridjit.runtime.native.layout.probes import ObjectLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotOffsets:
    """Offsets in bytes: of a kernel's slot `_hot`; of a configured kernel's slot `_callbacks` and weak references."""

    hot: int
    callbacks: int
    weak: int


_INDEX = """
define ptr @index(ptr %kernel, ptr %key) #0 {
entry:
  %hot.at = getelementptr i8, ptr %kernel, i64 {HOT}
  %hot = load ptr, ptr %hot.at
  %unset = icmp eq ptr %hot, null
  br i1 %unset, label %nothing, label %begin
nothing:
  ret ptr null
begin:
  %holder.at = getelementptr i8, ptr %hot, i64 {TUPLE_ITEMS}
  %holder = load ptr, ptr %holder.at
  %env.at = getelementptr i8, ptr %holder, i64 {BYTES_DATA}
  %env = load ptr, ptr %env.at
  %count.at = getelementptr i8, ptr %hot, i64 {TUPLE_SIZE}
  %count = load i64, ptr %count.at
  %tuple.at = getelementptr i8, ptr %hot, i64 {OBJECT_TYPE}
  %tuple = load ptr, ptr %tuple.at
  %type.at = getelementptr i8, ptr %key, i64 {OBJECT_TYPE}
  %type = load ptr, ptr %type.at
  %is.tuple = icmp eq ptr %type, %tuple
  br i1 %is.tuple, label %next, label %ask

next:
  %i = phi i64 [ 1, %begin ], [ %i.next, %miss ]
  %i.next = add i64 %i, 2
  %more = icmp slt i64 %i, %count
  br i1 %more, label %compare, label %ask
compare:
  %pair = getelementptr ptr, ptr %holder.at, i64 %i
  %wanted.at = getelementptr ptr, ptr %pair, i64 1
  %wanted = load ptr, ptr %wanted.at
  %same = call i1 @same_items(ptr %env, ptr %key, ptr %wanted, i64 1)
  br i1 %same, label %check, label %miss
check:
  %configured = load ptr, ptr %pair
  %references.at = getelementptr i8, ptr %configured, i64 {REFERENCES}
  %references = load i32, ptr %references.at
  %unused = icmp eq i32 %references, 1
  %callbacks.at = getelementptr i8, ptr %configured, i64 {CALLBACKS}
  %callbacks = load ptr, ptr %callbacks.at
  %unwatched = icmp eq ptr %callbacks, null
  %weak.at = getelementptr i8, ptr %configured, i64 {WEAK}
  %weak = load ptr, ptr %weak.at
  %unreferred = icmp eq ptr %weak, null
  %unused.unwatched = and i1 %unused, %unwatched
  %as.new = and i1 %unused.unwatched, %unreferred
  br i1 %as.new, label %give, label %miss
give:
  store i32 2, ptr %references.at
  ret ptr %configured
miss:
  br label %next

ask:
  %call.at = getelementptr i8, ptr %env, i64 {Environment.PyObject_CallFunctionObjArgs}
  %call = load ptr, ptr %call.at
  %function.at = getelementptr i8, ptr %env, i64 {Environment.index}
  %function = load ptr, ptr %function.at
  %answer = call ptr (ptr, ...) %call(ptr %function, ptr %kernel, ptr %key, ptr null)
  ret ptr %answer
}

; Whether two tuples have the same items; depth: how deep tuples may be nested in them.
define internal i1 @same_items(ptr %env, ptr %some, ptr %others, i64 %depth) #1 {
entry:
  %count.at = getelementptr i8, ptr %some, i64 {TUPLE_SIZE}
  %count = load i64, ptr %count.at
  %other.count.at = getelementptr i8, ptr %others, i64 {TUPLE_SIZE}
  %other.count = load i64, ptr %other.count.at
  %same.count = icmp eq i64 %count, %other.count
  br i1 %same.count, label %begin, label %no
begin:
  %items = getelementptr i8, ptr %some, i64 {TUPLE_ITEMS}
  %other.items = getelementptr i8, ptr %others, i64 {TUPLE_ITEMS}
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i.next, %same ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %item.at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %item.at
  %other.at = getelementptr ptr, ptr %other.items, i64 %i
  %other = load ptr, ptr %other.at
  %identical = icmp eq ptr %item, %other
  br i1 %identical, label %same, label %types
types:
  %type.at = getelementptr i8, ptr %item, i64 {OBJECT_TYPE}
  %type = load ptr, ptr %type.at
  %other.type.at = getelementptr i8, ptr %other, i64 {OBJECT_TYPE}
  %other.type = load ptr, ptr %other.type.at
  %same.type = icmp eq ptr %type, %other.type
  br i1 %same.type, label %kind, label %no
kind:
  %int.at = getelementptr i8, ptr %env, i64 {Environment.int_type}
  %int = load ptr, ptr %int.at
  %is.int = icmp eq ptr %type, %int
  br i1 %is.int, label %ints, label %nested
ints:
  %size.at = getelementptr i8, ptr %item, i64 {INT_SIZE}
  %size = load i64, ptr %size.at
  %other.size.at = getelementptr i8, ptr %other, i64 {INT_SIZE}
  %other.size = load i64, ptr %other.size.at
  %single = icmp eq i64 %size, {INT_SINGLE}
  %other.single = icmp eq i64 %other.size, {INT_SINGLE}
  %digit.at = getelementptr i8, ptr %item, i64 {INT_DIGIT}
  %digit = load i32, ptr %digit.at
  %other.digit.at = getelementptr i8, ptr %other, i64 {INT_DIGIT}
  %other.digit = load i32, ptr %other.digit.at
  %same.digit = icmp eq i32 %digit, %other.digit
  %both.single = and i1 %single, %other.single
  %equal = and i1 %both.single, %same.digit
  br i1 %equal, label %same, label %no
nested:
  %tuple.at = getelementptr i8, ptr %others, i64 {OBJECT_TYPE}
  %tuple = load ptr, ptr %tuple.at
  %is.tuple = icmp eq ptr %type, %tuple
  %may.nest = icmp sgt i64 %depth, 0
  %both = and i1 %is.tuple, %may.nest
  br i1 %both, label %deeper, label %no
deeper:
  %less = sub i64 %depth, 1
  %equal.inside = call i1 @same_items(ptr %env, ptr %item, ptr %other, i64 %less)
  br i1 %equal.inside, label %same, label %no
same:
  %i.next = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""


def index_ir(layout: ObjectLayout, slots: SlotOffsets) -> str:
    """Return the module's text for an interpreter of this layout; equal texts make equal code."""
    values = {**field_offsets(layout), "HOT": slots.hot, "CALLBACKS": slots.callbacks, "WEAK": slots.weak}
    return filled(_INDEX + ATTRIBUTES, values)
