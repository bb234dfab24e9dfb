"""The reader of what exports itself by DLPack's C functions: torch's tensors."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import YES, environment, load

# A DLTensor: data 0, device {i32, i32} 8, ndim 16, dtype 20, shape 24, strides 32 (elements, or null), byte offset 40.
# tag: the device as one word. mask: the dtype's four bytes. limit: a bit that must not be set in the word at
# object -> at[0] -> at[1] (a tensor whose values are not what its memory holds).
_DLPACK = f"""
  %tensor = alloca [6 x i64], align 8
  %dense = alloca [32 x i64], align 8
{load("limit", "call:ptr", "tag", "mask", "ndim:i32", "itemsize", "layout:i32")}
  %unguarded = icmp eq i64 %limit, 0
  br i1 %unguarded, label %export, label %guard
guard:
{load("at0", "at1")}
  %impl.at = getelementptr i8, ptr %object, i64 %at0
  %impl = load ptr, ptr %impl.at
  %keys.at = getelementptr i8, ptr %impl, i64 %at1
  %keys = load i64, ptr %keys.at
  %odd = and i64 %keys, %limit
  %plain = icmp eq i64 %odd, 0
  br i1 %plain, label %export, label %no
export:
  %status = call i32 %call(ptr %object, ptr %tensor)
  %exported = icmp eq i32 %status, 0
  br i1 %exported, label %compare, label %forget
forget:
{environment("PyErr_Clear", "clear")}
  call void %clear()
  br label %no
compare:
  %device.at = getelementptr i8, ptr %tensor, i64 8
  %device = load i64, ptr %device.at
  %same.device = icmp eq i64 %device, %tag
  %dtype.at = getelementptr i8, ptr %tensor, i64 20
  %dtype32 = load i32, ptr %dtype.at
  %dtype = zext i32 %dtype32 to i64
  %same.dtype = icmp eq i64 %dtype, %mask
  %nd.at = getelementptr i8, ptr %tensor, i64 16
  %nd = load i32, ptr %nd.at
  %same.ndim = icmp eq i32 %nd, %ndim
  %good.a = and i1 %same.device, %same.dtype
  %good = and i1 %good.a, %same.ndim
  br i1 %good, label %write, label %no
write:
  %ndim64 = sext i32 %ndim to i64
  %data = load ptr, ptr %tensor
  %byte.offset.at = getelementptr i8, ptr %tensor, i64 40
  %byte.offset = load i64, ptr %byte.offset.at
  %start = getelementptr i8, ptr %data, i64 %byte.offset
  %shape.at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %tensor, i64 32
  %given = load ptr, ptr %strides.at
  %not.given = icmp eq ptr %given, null
  br i1 %not.given, label %fill, label %have.strides
fill:
  %fill.i = phi i64 [ %ndim64, %write ], [ %fill.next, %fill.step ]
  %fill.stride = phi i64 [ 1, %write ], [ %fill.larger, %fill.step ]
  %fill.next = sub i64 %fill.i, 1
  %fill.done = icmp slt i64 %fill.next, 0
  br i1 %fill.done, label %have.strides, label %fill.step
fill.step:
  %fill.at = getelementptr i64, ptr %dense, i64 %fill.next
  store i64 %fill.stride, ptr %fill.at
  %fill.shape.at = getelementptr i64, ptr %shape, i64 %fill.next
  %fill.dim = load i64, ptr %fill.shape.at
  %fill.larger = mul i64 %fill.stride, %fill.dim
  br label %fill
have.strides:
  %strides = phi ptr [ %given, %write ], [ %dense, %fill ]
  %nitems = call i64 @write_array(ptr %out, ptr %start, i64 %itemsize, i64 %ndim64, ptr %shape, ptr %strides,
                                  i64 %itemsize)
  %any = icmp eq i32 %layout, 3
  br i1 %any, label %yes, label %layouts
layouts:
  %empty = icmp eq i64 %nitems, 0
  %is.c.strictly = call i1 @is_dense(ptr %shape, ptr %strides, i64 %ndim64, i64 1)
  %is.c = or i1 %is.c.strictly, %empty
  %wants.c = icmp eq i32 %layout, 0
  br i1 %wants.c, label %answer, label %not.c
answer:
  ret i1 %is.c
not.c:
  br i1 %is.c, label %no, label %f.or.any
f.or.any:
  %is.f = call i1 @is_dense(ptr %shape, ptr %strides, i64 %ndim64, i64 0)
  %number = select i1 %is.f, i32 1, i32 2
  %same.layout = icmp eq i32 %number, %layout
  br i1 %same.layout, label %yes, label %no
{YES}
"""

READERS = {
    "dlpack": _DLPACK,
}
