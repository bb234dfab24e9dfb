"""The reader of gridjit's own arrays: a slot of theirs holds the parameters."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import YES, environment, load

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
    "slot": _SLOT,
}
