"""The reader of arrays that point to their shape and strides: NumPy's, CuPy's."""

from __future__ import annotations

from gridjit.runtime.native.readers.words import environment, load

# Offsets at: 0 data, 1 a word of flags (the word & mask must be limit), 2 dtype object (it must be tag), 3 ndim (or, if
# layout is not 0, the pointer to the end of the shape), 4 shape pointer, 5 strides pointer, 6 offset of the pointer
# within what at[0] points to (or -1: it is in the object), 7 offset of a 32-bit device number there. call: the device
# number that must be there, in the lower half; in the upper, the bits that neither pointer nor strides may have. If the
# pointer is in the object: the address of pairs, an address and the word that must be there, up to a null; or 0.
_STRIDED = f"""
{load("ndim:i32", "itemsize", "tag:ptr", "mask", "limit", "at0", "at1", "at2", "at3", "at4", "at5", "at6")}
  %dtype.at = getelementptr i8, ptr %object, i64 %at2
  %dtype = load ptr, ptr %dtype.at
  %same.dtype = icmp eq ptr %dtype, %tag
  %flags.at = getelementptr i8, ptr %object, i64 %at1
  %flags = load i64, ptr %flags.at, align 1
  %flags.masked = and i64 %flags, %mask
  %same.flags = icmp eq i64 %flags.masked, %limit
  %good = and i1 %same.dtype, %same.flags
  br i1 %good, label %rank, label %no
rank:
  %ndim64 = sext i32 %ndim to i64
  %shape.at = getelementptr i8, ptr %object, i64 %at4
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %object, i64 %at5
  %strides = load ptr, ptr %strides.at
  %nd.at = getelementptr i8, ptr %object, i64 %at3
{load("layout:i32")}
  %is.vector = icmp ne i32 %layout, 0
  br i1 %is.vector, label %vector, label %counted
vector:
  %end = load i64, ptr %nd.at
  %begin = ptrtoint ptr %shape to i64
  %bytes = sub i64 %end, %begin
  %dims = ashr i64 %bytes, 3
  br label %ranked
counted:
  %nd32 = load i32, ptr %nd.at
  %nd = sext i32 %nd32 to i64
  br label %ranked
ranked:
  %found.ndim = phi i64 [ %dims, %vector ], [ %nd, %counted ]
  %same.ndim = icmp eq i64 %found.ndim, %ndim64
  br i1 %same.ndim, label %where, label %no
where:
  %data.at = getelementptr i8, ptr %object, i64 %at0
  %direct = load ptr, ptr %data.at
  %is.direct = icmp slt i64 %at6, 0
{load("call")}
  br i1 %is.direct, label %within, label %indirect
within:
  %is.free = icmp eq i64 %call, 0
  br i1 %is.free, label %write, label %guarded
guarded:
  %guards = inttoptr i64 %call to ptr
  br label %guard
guard:
  %guard.at = phi ptr [ %guards, %guarded ], [ %guard.next, %guard.step ]
  %slot = load ptr, ptr %guard.at
  %no.slot = icmp eq ptr %slot, null
  br i1 %no.slot, label %write, label %guard.step
guard.step:
  %held = load i64, ptr %slot
  %wanted.at = getelementptr i8, ptr %guard.at, i64 8
  %wanted = load i64, ptr %wanted.at
  %same.held = icmp eq i64 %held, %wanted
  %guard.next = getelementptr i8, ptr %guard.at, i64 16
  br i1 %same.held, label %guard, label %no
indirect:
{load("at7")}
  %device.at = getelementptr i8, ptr %direct, i64 %at7
  %device = load i32, ptr %device.at
  %wanted.device = trunc i64 %call to i32
  %same.device = icmp eq i32 %device, %wanted.device
  br i1 %same.device, label %follow, label %no
follow:
  %pointer.at = getelementptr i8, ptr %direct, i64 %at6
  %pointer = load ptr, ptr %pointer.at
  %odd.bits = lshr i64 %call, 32
  %address = ptrtoint ptr %pointer to i64
  br label %align
align:
  %align.i = phi i64 [ 0, %follow ], [ %align.next, %align.step ]
  %align.bits = phi i64 [ %address, %follow ], [ %align.more, %align.step ]
  %align.done = icmp eq i64 %align.i, %ndim64
  br i1 %align.done, label %aligned, label %align.step
align.step:
  %align.at = getelementptr i64, ptr %strides, i64 %align.i
  %align.stride = load i64, ptr %align.at
  %align.more = or i64 %align.bits, %align.stride
  %align.next = add i64 %align.i, 1
  br label %align
aligned:
  %odd = and i64 %align.bits, %odd.bits
  %even = icmp eq i64 %odd, 0
  br i1 %even, label %write, label %no
write:
  %data = phi ptr [ %direct, %within ], [ %direct, %guard ], [ %pointer, %aligned ]
  %nitems = call i64 @write_array(ptr %out, ptr %data, i64 %itemsize, i64 %ndim64, ptr %shape, ptr %strides, i64 1)
  ret i1 true
no:
  ret i1 false
"""

# NumPy arrays that an In, Out or InOut holds: those that a launch waits for.
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
    "strided": _STRIDED,
    "directed": _DIRECTED,
}
