"""printing: the device's vprintf on the host, which writes to a stream that the process provides.

A call prints as a whole: the C library locks the stream, so that threads do not mix within a line.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.library.symbols import STREAM
from gridjit.compiler.values.errors import UnsupportedError

NAME = "vprintf"
# Sizes of the arguments that conversions take: C's int, or eight bytes. A star takes an int besides.
_INTS, _WIDE = b"dioucxX", b"eEfFgGaAspn"
_LONG = b"lLqjzt"
_SLOTS = 127

# How the C library is handed arguments that lie one after the other in eight bytes each, by the ABI of the processor.
_LISTS = {
    "x86_64": """
  store i32 48, ptr %list
  %list.floats = getelementptr i8, ptr %list, i64 4
  store i32 176, ptr %list.floats
  %list.rest = getelementptr i8, ptr %list, i64 8
  store ptr %slots, ptr %list.rest""",
    "aarch64": """
  store ptr %slots, ptr %list""",
}


def definition(triple: str) -> str:
    """Return LLVM IR text that defines vprintf for a machine; raises UnsupportedError where its ABI is not known."""
    processor, _, system = triple.partition("-")
    if processor not in _LISTS or "linux" not in system:
        raise UnsupportedError(f"print in kernels is not offered on {triple}; it is on x86-64 and aarch64 with Linux")
    return _TEXT.replace("<list>", _LISTS[processor]).replace("<conversions>", _conversions())


def _conversions() -> str:
    """Return the arms of the switch at a character of a conversion."""
    arms = dict.fromkeys(_INTS, "int") | dict.fromkeys(_WIDE, "wide") | dict.fromkeys(_LONG, "long")
    arms |= {0: "print", ord("%"): "percent", ord("*"): "star"}
    return " ".join(f"i8 {byte}, label %{name}" for byte, name in arms.items())


# The arguments lie as CUDA packs them, each at its own alignment; the C library wants eight bytes for each.
_TEXT = f"""
@{STREAM} = external global ptr
declare i32 @vfprintf(ptr, ptr, ptr)
define i32 @{NAME}(ptr %format, ptr %packed) noinline nounwind {{
entry:
  %slots = alloca [{_SLOTS + 1} x i64], align 16
  %list = alloca [4 x i64], align 16
  call void @llvm.memset.p0.i64(ptr %slots, i8 0, i64 {8 * (_SLOTS + 1)}, i1 false)
  call void @llvm.memset.p0.i64(ptr %list, i8 0, i64 32, i1 false)
  br label %text
text:
  %p = phi ptr [ %format, %entry ], [ %p.next, %text ], [ %s.next, %percent ], [ %s.next, %taken ]
  %at = phi i64 [ 0, %entry ], [ %at, %text ], [ %s.at, %percent ], [ %at.next, %taken ]
  %n = phi i64 [ 0, %entry ], [ %n, %text ], [ %s.n, %percent ], [ %n.next, %taken ]
  %c = load i8, ptr %p
  %p.next = getelementptr i8, ptr %p, i64 1
  switch i8 %c, label %text [ i8 0, label %print i8 37, label %conversion ]
conversion:
  %s = phi ptr [ %p.next, %text ], [ %s.next, %other ], [ %s.next, %taken ]
  %s.at = phi i64 [ %at, %text ], [ %s.at, %other ], [ %at.next, %taken ]
  %s.n = phi i64 [ %n, %text ], [ %s.n, %other ], [ %n.next, %taken ]
  %is.long = phi i1 [ false, %text ], [ %long.now, %other ], [ %is.long, %taken ]
  %k = load i8, ptr %s
  %s.next = getelementptr i8, ptr %s, i64 1
  switch i8 %k, label %other [ <conversions> ]
long:
  br label %other
other:
  %long.now = phi i1 [ %is.long, %conversion ], [ true, %long ]
  br label %conversion
percent:
  br label %text
int:
  br label %take
wide:
  br label %take
star:
  br label %take
take:
  %eight = phi i1 [ %is.long, %int ], [ true, %wide ], [ false, %star ]
  %goes.on = phi i1 [ false, %int ], [ false, %wide ], [ true, %star ]
  %size = select i1 %eight, i64 8, i64 4
  %less = sub i64 %size, 1
  %past = add i64 %s.at, %less
  %mask = sub i64 0, %size
  %from = and i64 %past, %mask
  %source = getelementptr i8, ptr %packed, i64 %from
  %slot = getelementptr i64, ptr %slots, i64 %s.n
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %source, i64 %size, i1 false)
  br label %taken
taken:
  %at.next = add i64 %from, %size
  %n.more = add i64 %s.n, 1
  %n.next = call i64 @llvm.umin.i64(i64 %n.more, i64 {_SLOTS})
  br i1 %goes.on, label %conversion, label %text
print:<list>
  %stream = load ptr, ptr @{STREAM}
  %count = call i32 @vfprintf(ptr %stream, ptr %format, ptr %list)
  ret i32 %count
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
"""
