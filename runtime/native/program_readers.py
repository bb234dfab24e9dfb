"""The ways to read an argument, as LLVM IR: one function for each Read.

    i1 read_xxx(ptr env, ptr operation, ptr object, ptr out)

writes the argument's parameters to out and returns true, or returns false for an argument that is not as expected.
The type of the object has been compared already.
"""

from __future__ import annotations

from gridjit.runtime.native.operation import Read


def _load(*fields: str) -> str:
    """Return the lines that load fields of the operation: "tag" as i64, "at0:ptr" as another type."""
    lines = []
    for field in fields:
        name, _, kind = field.partition(":")
        lines.append(f"  %{name}.in = getelementptr i8, ptr %op, i64 {{Operation.{name}}}")
        lines.append(f"  %{name} = load {kind or 'i64'}, ptr %{name}.in")
    return "\n".join(lines)


def _reader(read: Read, body: str) -> str:
    head = f"define internal i1 @read_{read.name.lower()}(ptr %env, ptr %op, ptr %object, ptr %out) #2"
    text = body.strip("\n")
    return f"\n{head} {{\nentry:\n{text}\n}}\n"


def _environment(name: str, label: str) -> str:
    place = f"  %{label}.in = getelementptr i8, ptr %env, i64 {{Environment.{name}}}"
    return f"{place}\n  %{label} = load ptr, ptr %{label}.in"


_YES = "yes:\n  ret i1 true\nno:\n  ret i1 false"

_COPY = f"""
{_load("size", "at0", "mask")}
  %source = getelementptr i8, ptr %object, i64 %at0
  %unmasked = icmp eq i64 %mask, 0
  br i1 %unmasked, label %copy, label %compare
compare:
{_load("at1", "tag")}
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
{_load("size", "at0")}
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


def _integer(body: str) -> str:
    """Return a reader's body that has the Python int as %value, signed."""
    return f"""
  %overflow = alloca i32
{_environment("PyLong_AsLongLongAndOverflow", "convert")}
  %value = call i64 %convert(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
{body}
"""


_INT = _integer(f"""
{_load("size", "tag", "limit")}
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
{_load("limit")}
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
{_environment("PyLong_AsUnsignedLongLong", "unsigned")}
  %big = call i64 %unsigned(ptr %object)
  store i64 %big, ptr %out
{_environment("PyErr_Occurred", "occurred")}
  %error = call ptr %occurred()
  %good = icmp eq ptr %error, null
  br i1 %good, label %yes, label %forget
forget:
{_environment("PyErr_Clear", "clear")}
  call void %clear()
  br label %no
{_YES}
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
{_environment("true", "true.object")}
  %is = icmp eq ptr %object, %true.object
  %byte = zext i1 %is to i8
  store i8 %byte, ptr %out
  ret i1 true
"""

_SLOT = f"""
{_load("size", "at0", "at1", "tag:ptr")}
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
{_environment("bytes_type", "bytes.type")}
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
{_YES}
"""

# Offsets at: 0 data, 1 a word of flags (the word & mask must be limit), 2 dtype object (it must be tag), 3 ndim (or, if
# layout is not 0, the pointer to the end of the shape), 4 shape pointer, 5 strides pointer, 6 offset of the pointer
# within what at[0] points to (or -1: it is in the object), 7 offset of a 32-bit device number there. call: the device
# number that must be there, in the lower half; in the upper, the bits that neither pointer nor strides may have.
_STRIDED = f"""
{_load("ndim:i32", "itemsize", "tag:ptr", "mask", "limit", "at0", "at1", "at2", "at3", "at4", "at5", "at6")}
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
{_load("layout:i32")}
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
  br i1 %is.direct, label %write, label %indirect
indirect:
{_load("at7", "call")}
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
  %data = phi ptr [ %direct, %where ], [ %pointer, %aligned ]
  %nitems = call i64 @write_array(ptr %out, ptr %data, i64 %itemsize, i64 %ndim64, ptr %shape, ptr %strides, i64 1)
  ret i1 true
no:
  ret i1 false
"""

# A DLTensor: data 0, device {i32, i32} 8, ndim 16, dtype 20, shape 24, strides 32 (elements, or null), byte offset 40.
# tag: the device as one word. mask: the dtype's four bytes. limit: a bit that must not be set in the word at
# object -> at[0] -> at[1] (a tensor whose values are not what its memory holds).
_DLPACK = f"""
  %tensor = alloca [6 x i64], align 8
  %dense = alloca [32 x i64], align 8
{_load("limit", "call:ptr", "tag", "mask", "ndim:i32", "itemsize", "layout:i32")}
  %unguarded = icmp eq i64 %limit, 0
  br i1 %unguarded, label %export, label %guard
guard:
{_load("at0", "at1")}
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
{_environment("PyErr_Clear", "clear")}
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
{_YES}
"""

READERS = {
    read: _reader(read, body)
    for read, body in {
        Read.COPY: _COPY,
        Read.DOUBLES_TO_FLOATS: _DOUBLES_TO_FLOATS,
        Read.INT: _INT,
        Read.UNSIGNED: _UNSIGNED,
        Read.INT_TO_DOUBLE: _INT_TO_DOUBLE,
        Read.INT_TO_FLOAT: _INT_TO_FLOAT,
        Read.BOOL: _BOOL,
        Read.SLOT: _SLOT,
        Read.STRIDED: _STRIDED,
        Read.DLPACK: _DLPACK,
        Read.IGNORED: "  ret i1 true",
    }.items()
}

STRIDED_TAIL = """
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
