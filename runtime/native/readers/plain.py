"""Readers of values that the object holds in nearly the form in which they are passed."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import YES, environment, load

_COPY = f"""
{load("size", "at0", "mask")}
  %source = getelementptr i8, ptr %object, i64 %at0
  %unmasked = icmp eq i64 %mask, 0
  br i1 %unmasked, label %copy, label %compare
compare:
{load("at1", "tag")}
  %word.at = getelementptr i8, ptr %object, i64 %at1
  %word = load i64, ptr %word.at, align 1
  %masked = and i64 %word, %mask
  %same = icmp eq i64 %masked, %tag
  br i1 %same, label %copy, label %no
copy:
  switch i64 %size, label %no [
    i64 1, label %one
    i64 2, label %two
    i64 4, label %four
    i64 8, label %eight
    i64 16, label %sixteen
  ]
one:
  %v1 = load i8, ptr %source
  store i8 %v1, ptr %out
  ret i1 true
two:
  %v2 = load i16, ptr %source, align 1
  store i16 %v2, ptr %out
  ret i1 true
four:
  %v4 = load i32, ptr %source, align 1
  store i32 %v4, ptr %out
  ret i1 true
eight:
  %v8 = load i64, ptr %source, align 1
  store i64 %v8, ptr %out, align 4
  ret i1 true
sixteen:
  %v16 = load i64, ptr %source, align 1
  store i64 %v16, ptr %out
  %source.b = getelementptr i8, ptr %source, i64 8
  %out.b = getelementptr i8, ptr %out, i64 8
  %v16b = load i64, ptr %source.b, align 1
  store i64 %v16b, ptr %out.b
  ret i1 true
no:
  ret i1 false
"""

_DOUBLES_TO_FLOATS = f"""
{load("size", "at0")}
  %source = getelementptr i8, ptr %object, i64 %at0
  %count = lshr i64 %size, 2
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %from = getelementptr double, ptr %source, i64 %i
  %to = getelementptr float, ptr %out, i64 %i
  %wide = load double, ptr %from
  %narrow = fptrunc double %wide to float
  store float %narrow, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %loop, label %yes
yes:
  ret i1 true
"""

_ITSELF = f"""
{load("tag:ptr")}
  %same = icmp eq ptr %object, %tag
  store i64 0, ptr %out
  ret i1 %same
"""

# gridjit's own arrays: a slot of theirs holds the parameters.
_SLOT = f"""
{load("size", "at0", "at1", "tag:ptr")}
  %tag.at = getelementptr i8, ptr %object, i64 %at1
  %held.tag = load ptr, ptr %tag.at
  %same = icmp eq ptr %held.tag, %tag
  br i1 %same, label %find, label %no
find:
  %slot = getelementptr i8, ptr %object, i64 %at0
  %held = load ptr, ptr %slot
  %unset = icmp eq ptr %held, null
  br i1 %unset, label %no, label %compare
compare:
{environment("bytes_type", "bytes.type")}
  %held.type.at = getelementptr i8, ptr %held, i64 {{OBJECT_TYPE}}
  %held.type = load ptr, ptr %held.type.at
  %is.bytes = icmp eq ptr %held.type, %bytes.type
  %held.size.at = getelementptr i8, ptr %held, i64 {{BYTES_SIZE}}
  %held.size = load i64, ptr %held.size.at
  %right.size = icmp eq i64 %held.size, %size
  %good = and i1 %is.bytes, %right.size
  br i1 %good, label %copy, label %no
copy:
  %source = getelementptr i8, ptr %held, i64 {{BYTES_DATA}}
  br label %loop
loop:
  %i = phi i64 [ 0, %copy ], [ %i.next, %loop ]
  %from = getelementptr i8, ptr %source, i64 %i
  %to = getelementptr i8, ptr %out, i64 %i
  %word = load i64, ptr %from
  store i64 %word, ptr %to
  %i.next = add i64 %i, 8
  %more = icmp slt i64 %i.next, %size
  br i1 %more, label %loop, label %yes
{YES}
"""

READERS = {
    "copy": _COPY,
    "doubles_to_floats": _DOUBLES_TO_FLOATS,
    "ignored": "  ret i1 true",
    "itself": _ITSELF,
    "slot": _SLOT,
}
