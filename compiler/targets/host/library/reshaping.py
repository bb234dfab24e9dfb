"""reshaping: the strides with which an array is seen in another shape without a copy, as numba-cuda asks for them.

The axes of both shapes are taken in groups of equal size, from the first on. A group of old axes that lies in memory
as one axis would can be divided into the new ones; else the array would have to be copied.
"""

from __future__ import annotations

from collections.abc import Iterator

NAME = "numba_attempt_nocopy_reshape"
# NumPy's limit.
_AXES = 64


def definition() -> str:
    """Return LLVM IR text that defines the function: 1, and the strides, or 0 where a copy is due."""
    return _TEXT


def _expanded(lines: str) -> Iterator[str]:
    """Yield lines in which `x <- item array i` and `x <- get variable` are loads, `set` and `put` stores."""
    for number, line in enumerate(lines.splitlines()):
        words = line.split()
        if "<-" in words and words[2] == "item":
            value, array, index = words[0], words[3], words[4]
            yield f"  %at.{number} = getelementptr i64, ptr {array}, i64 {index}"
            yield f"  {value} = load i64, ptr %at.{number}"
        elif "<-" in words and words[2] == "get":
            yield f"  {words[0]} = load i64, ptr {words[3]}"
        elif words[:1] == ["set"]:
            yield f"  store i64 {words[2]}, ptr {words[1]}"
        elif words[:1] == ["put"]:
            yield f"  %at.{number} = getelementptr i64, ptr {words[1]}, i64 {words[2]}"
            yield f"  store i64 {words[3]}, ptr %at.{number}"
        else:
            yield line


_TEXT = "\n".join(
    _expanded(f"""
define i32 @{NAME}(i64 %nd, ptr %dims, ptr %strides,
    i64 %newnd, ptr %newdims, ptr %newstrides, i64 %itemsize, i32 %f) nounwind {{
entry:
  %is.f = icmp ne i32 %f, 0
  %olddims = alloca [{_AXES} x i64]
  %oldstrides = alloca [{_AXES} x i64]
  %i = alloca i64
  %oldnd = alloca i64
  %oi = alloca i64
  %oj = alloca i64
  %ni = alloca i64
  %nj = alloca i64
  %np = alloca i64
  %op = alloca i64
  set %i 0
  set %oldnd 0
  set %np 1
  set %op 1
  br label %strip
strip:
  %i1 <- get %i
  %more1 = icmp slt i64 %i1, %nd
  br i1 %more1, label %axis, label %count
axis:
  %d1 <- item %dims %i1
  %s1 <- item %strides %i1
  %op1 <- get %op
  %op2 = mul i64 %op1, %d1
  set %op %op2
  %n1 <- get %oldnd
  put %olddims %n1 %d1
  put %oldstrides %n1 %s1
  %kept = icmp ne i64 %d1, 1
  %step = zext i1 %kept to i64
  %n2 = add i64 %n1, %step
  set %oldnd %n2
  %i2 = add i64 %i1, 1
  set %i %i2
  br label %strip
count:
  set %i 0
  br label %count.axis
count.axis:
  %i3 <- get %i
  %more2 = icmp slt i64 %i3, %newnd
  br i1 %more2, label %count.one, label %compare
count.one:
  %d2 <- item %newdims %i3
  %np1 <- get %np
  %np2 = mul i64 %np1, %d2
  set %np %np2
  %i4 = add i64 %i3, 1
  set %i %i4
  br label %count.axis
compare:
  %total <- get %np
  %old.total <- get %op
  %differ = icmp ne i64 %total, %old.total
  br i1 %differ, label %copy, label %sized
sized:
  %nothing = icmp eq i64 %total, 0
  set %i 0
  br i1 %nothing, label %empty, label %groups
empty:
  %i5 <- get %i
  %more3 = icmp slt i64 %i5, %newnd
  br i1 %more3, label %empty.one, label %seen
empty.one:
  put %newstrides %i5 %itemsize
  %i6 = add i64 %i5, 1
  set %i %i6
  br label %empty
groups:
  set %oi 0
  set %oj 1
  set %ni 0
  set %nj 1
  br label %group
group:
  %ni1 <- get %ni
  %oi1 <- get %oi
  %oldnd1 <- get %oldnd
  %new.left = icmp slt i64 %ni1, %newnd
  %old.left = icmp slt i64 %oi1, %oldnd1
  %both.left = and i1 %new.left, %old.left
  br i1 %both.left, label %open, label %trailing
open:
  %first.new <- item %newdims %ni1
  %first.old <- item %olddims %oi1
  set %np %first.new
  set %op %first.old
  br label %grow
grow:
  %np3 <- get %np
  %op3 <- get %op
  %even = icmp eq i64 %np3, %op3
  br i1 %even, label %fits, label %uneven
uneven:
  %new.less = icmp slt i64 %np3, %op3
  br i1 %new.less, label %more.new, label %more.old
more.new:
  %nj1 <- get %nj
  %d3 <- item %newdims %nj1
  %np4 = mul i64 %np3, %d3
  set %np %np4
  %nj2 = add i64 %nj1, 1
  set %nj %nj2
  br label %grow
more.old:
  %oj1 <- get %oj
  %d4 <- item %olddims %oj1
  %op4 = mul i64 %op3, %d4
  set %op %op4
  %oj2 = add i64 %oj1, 1
  set %oj %oj2
  br label %grow
fits:
  %oj3 <- get %oj
  %nj3 <- get %nj
  %last.old = sub i64 %oj3, 1
  %last.new = sub i64 %nj3, 1
  set %i %oi1
  br label %pair
pair:
  %k <- get %i
  %pairs = icmp slt i64 %k, %last.old
  br i1 %pairs, label %look, label %divide
look:
  %k1 = add i64 %k, 1
  %inner = select i1 %is.f, i64 %k, i64 %k1
  %outer = select i1 %is.f, i64 %k1, i64 %k
  %d5 <- item %olddims %inner
  %s5 <- item %oldstrides %inner
  %s6 <- item %oldstrides %outer
  %due = mul i64 %d5, %s5
  %joined = icmp eq i64 %due, %s6
  set %i %k1
  br i1 %joined, label %pair, label %copy
divide:
  %at.old = select i1 %is.f, i64 %oi1, i64 %last.old
  %at.new = select i1 %is.f, i64 %ni1, i64 %last.new
  %stop = select i1 %is.f, i64 %last.new, i64 %ni1
  %onward = select i1 %is.f, i64 1, i64 -1
  %s7 <- item %oldstrides %at.old
  put %newstrides %at.new %s7
  set %i %at.new
  br label %part
part:
  %m <- get %i
  %parted = icmp eq i64 %m, %stop
  br i1 %parted, label %close, label %part.one
part.one:
  %d6 <- item %newdims %m
  %s8 <- item %newstrides %m
  %s9 = mul i64 %d6, %s8
  %m1 = add i64 %m, %onward
  put %newstrides %m1 %s9
  set %i %m1
  br label %part
close:
  set %ni %nj3
  set %oi %oj3
  %nj4 = add i64 %nj3, 1
  %oj4 = add i64 %oj3, 1
  set %nj %nj4
  set %oj %oj4
  br label %group
trailing:
  %has = icmp sgt i64 %ni1, 0
  br i1 %has, label %last, label %ones
last:
  %before = sub i64 %ni1, 1
  %s10 <- item %newstrides %before
  %d7 <- item %newdims %before
  %s11 = mul i64 %s10, %d7
  %s12 = select i1 %is.f, i64 %s11, i64 %s10
  br label %ones
ones:
  %stride = phi i64 [ %itemsize, %trailing ], [ %s12, %last ]
  set %i %ni1
  br label %one
one:
  %i7 <- get %i
  %more4 = icmp slt i64 %i7, %newnd
  br i1 %more4, label %one.more, label %seen
one.more:
  put %newstrides %i7 %stride
  %i8 = add i64 %i7, 1
  set %i %i8
  br label %one
seen:
  ret i32 1
copy:
  ret i32 0
}}
""")
)
