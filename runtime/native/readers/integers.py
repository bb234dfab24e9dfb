"""Readers of Python's ints, and of its two bools."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import YES, environment, load


def _integer(body: str) -> str:
    """Return a reader's body that has the Python int as %value, signed."""
    return f"""
  %overflow = alloca i32
{environment("PyLong_AsLongLongAndOverflow", "convert")}
  %value = call i64 %convert(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
{body}
"""


_INT = _integer(f"""
{load("size", "tag", "limit")}
  %above = icmp sge i64 %value, %tag
  %below = icmp sle i64 %value, %limit
  %inside = and i1 %above, %below
  %good = and i1 %inside, %fits
  br i1 %good, label %write, label %no
write:
  switch i64 %size, label %no [
    i64 8, label %eight
    i64 4, label %four
    i64 2, label %two
    i64 1, label %one
  ]
eight:
  store i64 %value, ptr %out
  ret i1 true
four:
  %v4 = trunc i64 %value to i32
  store i32 %v4, ptr %out
  ret i1 true
two:
  %v2 = trunc i64 %value to i16
  store i16 %v2, ptr %out
  ret i1 true
one:
  %v1 = trunc i64 %value to i8
  store i8 %v1, ptr %out
  ret i1 true
no:
  ret i1 false
""")

_UNSIGNED = _integer(f"""
{load("limit")}
  br i1 %fits, label %small, label %large
small:
  %small.allowed = icmp ne i64 %limit, 0
  br i1 %small.allowed, label %write.small, label %no
write.small:
  store i64 %value, ptr %out
  ret i1 true
large:
  %too.large = icmp sgt i32 %over, 0
  br i1 %too.large, label %convert.large, label %no
convert.large:
{environment("PyLong_AsUnsignedLongLong", "unsigned")}
  %big = call i64 %unsigned(ptr %object)
  store i64 %big, ptr %out
{environment("PyErr_Occurred", "occurred")}
  %error = call ptr %occurred()
  %good = icmp eq ptr %error, null
  br i1 %good, label %yes, label %forget
forget:
{environment("PyErr_Clear", "clear")}
  call void %clear()
  br label %no
{YES}
""")

_INT_TO_DOUBLE = _integer("""
  %wide = sitofp i64 %value to double
  store double %wide, ptr %out
  ret i1 %fits
""")

_INT_TO_FLOAT = _integer("""
  %wide = sitofp i64 %value to double
  %narrow = fptrunc double %wide to float
  store float %narrow, ptr %out
  ret i1 %fits
""")

_BOOL = f"""
{environment("true", "true.object")}
  %is = icmp eq ptr %object, %true.object
  %byte = zext i1 %is to i8
  store i8 %byte, ptr %out
  ret i1 true
"""

READERS = {
    "int": _INT,
    "unsigned": _UNSIGNED,
    "int_to_double": _INT_TO_DOUBLE,
    "int_to_float": _INT_TO_FLOAT,
    "bool": _BOOL,
}
