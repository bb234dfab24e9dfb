"""The reader of NumPy arrays that an In, Out or InOut holds: of those that a launch waits for."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import environment, load

# As for "strided", and offsets at: 7 the slot of the array, 8 the slot that says whether nobody waits, 9 the id of the
# type that the array must have. The array is left in the first word: whoever launches keeps it.
_DIRECTED = f"""
{load("at7", "at8", "at9:ptr")}
{environment("false", "false")}
  %later.at = getelementptr i8, ptr %object, i64 %at8
  %later = load ptr, ptr %later.at
  %awaited = icmp eq ptr %later, %false
  %array.at = getelementptr i8, ptr %object, i64 %at7
  %array = load ptr, ptr %array.at
  %set = icmp ne ptr %array, null
  %good = and i1 %awaited, %set
  br i1 %good, label %look, label %no
look:
  %type.at = getelementptr i8, ptr %array, i64 {{OBJECT_TYPE}}
  %type = load ptr, ptr %type.at
  %same.type = icmp eq ptr %type, %at9
  br i1 %same.type, label %read, label %no
read:
  %ok = call i1 @read_strided(ptr %env, ptr %op, ptr %array, ptr %out)
  store ptr %array, ptr %out
  ret i1 %ok
no:
  ret i1 false
"""

READERS = {
    "directed": _DIRECTED,
}
