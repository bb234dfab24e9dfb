"""What the readers of arrays share: writing out a shape, and whether it is dense."""

from __future__ import annotations

SHAPES = """
; Write an array's parameters; strides are multiplied by scale. Returns the number of items.
define internal i64 @write_array(ptr %out, ptr %data, i64 %itemsize, i64 %ndim, ptr %shape, ptr %strides,
                                i64 %scale) #2 {
entry:
  store i64 0, ptr %out
  %parent = getelementptr i64, ptr %out, i64 1
  store i64 0, ptr %parent
  %itemsize.out = getelementptr i64, ptr %out, i64 3
  store i64 %itemsize, ptr %itemsize.out
  %data.out = getelementptr i64, ptr %out, i64 4
  store ptr %data, ptr %data.out
  %shape.out = getelementptr i64, ptr %out, i64 5
  %strides.out = getelementptr i64, ptr %shape.out, i64 %ndim
  %scalar = icmp eq i64 %ndim, 0
  br i1 %scalar, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %items = phi i64 [ 1, %entry ], [ %items.next, %loop ]
  %dim.at = getelementptr i64, ptr %shape, i64 %i
  %dim = load i64, ptr %dim.at
  %dim.out = getelementptr i64, ptr %shape.out, i64 %i
  store i64 %dim, ptr %dim.out
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  %scaled = mul i64 %stride, %scale
  %stride.out = getelementptr i64, ptr %strides.out, i64 %i
  store i64 %scaled, ptr %stride.out
  %items.next = mul i64 %items, %dim
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %ndim
  br i1 %more, label %loop, label %done
done:
  %nitems = phi i64 [ 1, %entry ], [ %items.next, %loop ]
  %nitems.out = getelementptr i64, ptr %out, i64 2
  store i64 %nitems, ptr %nitems.out
  ret i64 %nitems
}

; Whether strides in elements are those of a dense array, the last dimension fastest (or the first).
define internal i1 @is_dense(ptr %shape, ptr %strides, i64 %ndim, i64 %last.fastest) #1 {
entry:
  %backwards = icmp ne i64 %last.fastest, 0
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %step ]
  %expected = phi i64 [ 1, %entry ], [ %larger, %step ]
  %finished = icmp sge i64 %i, %ndim
  br i1 %finished, label %yes, label %look
look:
  %mirrored.plus = sub i64 %ndim, %i
  %mirrored = sub i64 %mirrored.plus, 1
  %axis = select i1 %backwards, i64 %mirrored, i64 %i
  %dim.at = getelementptr i64, ptr %shape, i64 %axis
  %dim = load i64, ptr %dim.at
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.at
  %single = icmp eq i64 %dim, 1
  %same = icmp eq i64 %stride, %expected
  %good = or i1 %single, %same
  br i1 %good, label %step, label %no
step:
  %larger = mul i64 %expected, %dim
  %i.next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}
"""
