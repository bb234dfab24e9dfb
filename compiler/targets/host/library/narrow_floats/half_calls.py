"""half_calls: the functions that LLVM calls to convert halves where the processor has no instruction for it.

They are of GCC's library, which not every process has. The results are those of the instruction (F16C).
"""

from __future__ import annotations

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.llvm.features import has_feature
from gridjit.compiler.values.target import Target

_TYPE = regex(r"(?<![%.\w])half\b", needs=("half",))


def may_be_called(text: str, target: Target) -> bool:
    """Return whether code of LLVM IR text may call them on target's processor."""
    return not has_feature(target, "f16c") and _TYPE.search(text) is not None


# Ties go to the even number. A number below the smallest normal half is shifted by as much as its exponent is less.
DEFINITIONS = """
define weak_odr hidden half @__truncsfhf2(float %x) nounwind memory(none) {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %upper = lshr i32 %bits, 16
  %sign = and i32 %upper, 32768
  %exponent = lshr i32 %size, 23
  %fraction = and i32 %size, 8388607
  %significand = or i32 %fraction, 8388608
  %is.small = icmp ult i32 %exponent, 113
  %missing = sub i32 126, %exponent
  %far = call i32 @llvm.umin.i32(i32 %missing, i32 25)
  %shift = select i1 %is.small, i32 %far, i32 13
  %rebiased = sub i32 %size, 939524096
  %number = select i1 %is.small, i32 %significand, i32 %rebiased
  %unit = shl i32 1, %shift
  %half = lshr i32 %unit, 1
  %below.half = sub i32 %half, 1
  %kept = lshr i32 %number, %shift
  %odd = and i32 %kept, 1
  %up = add i32 %below.half, %odd
  %moved = add i32 %number, %up
  %rounded = lshr i32 %moved, %shift
  %finite = call i32 @llvm.umin.i32(i32 %rounded, i32 31744)
  %digits = lshr i32 %fraction, 13
  %nan = or i32 %digits, 32256
  %is.nan = icmp ugt i32 %size, 2139095040
  %found = select i1 %is.nan, i32 %nan, i32 %finite
  %signed = or i32 %found, %sign
  %short = trunc i32 %signed to i16
  %r = bitcast i16 %short to half
  ret half %r
}
define weak_odr hidden float @__extendhfsf2(half %x) nounwind memory(none) {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %size = and i32 %bits, 32767
  %lower = and i32 %bits, 32768
  %sign = shl i32 %lower, 16
  %shifted = shl i32 %size, 13
  %normal = add i32 %shifted, 939524096
  %special = or i32 %shifted, 2139095040
  %quiet = or i32 %special, 4194304
  %count = uitofp i32 %size to float
  %small = fmul float %count, 0x3E70000000000000
  %small.bits = bitcast float %small to i32
  %is.small = icmp ult i32 %size, 1024
  %is.special = icmp uge i32 %size, 31744
  %is.nan = icmp ugt i32 %size, 31744
  %finite = select i1 %is.small, i32 %small.bits, i32 %normal
  %number = select i1 %is.special, i32 %special, i32 %finite
  %found = select i1 %is.nan, i32 %quiet, i32 %number
  %signed = or i32 %found, %sign
  %r = bitcast i32 %signed to float
  ret float %r
}
declare i32 @llvm.umin.i32(i32, i32)
"""
