"""Routines: floats to and from 8 bits, as functions in LLVM IR: each result has the bits that CUDA's headers give.

The formats are those of cuda_fp8.h: e4m3, without infinities; e5m2; and e8m0, powers of two without a sign or a zero.
"""

from __future__ import annotations

# Of e4m3 and e5m2 (0 and 1, CUDA's numbers for them): digits, bias, the largest number, what is beyond it, and a NaN.
_FORMATS = """
define i64 @gridjit.fp8.of(i32 %format, i64 %e4m3, i64 %e5m2) alwaysinline nounwind memory(none) {
  %is.e4m3 = icmp eq i32 %format, 0
  %r = select i1 %is.e4m3, i64 %e4m3, i64 %e5m2
  ret i64 %r
}
"""

# Of a double that is a NaN, the sign and, in e5m2, the first two digits are kept; of a float, neither.
_NARROW = """
define i8 @gridjit.fp8.narrow(double %x, i32 %saturate, i32 %format) alwaysinline nounwind memory(none) {
  %digits = call i64 @gridjit.fp8.of(i32 %format, i64 3, i64 2)
  %lowest = call i64 @gridjit.fp8.of(i32 %format, i64 1017, i64 1009)
  %top = call i64 @gridjit.fp8.of(i32 %format, i64 126, i64 123)
  %beyond = call i64 @gridjit.fp8.of(i32 %format, i64 127, i64 124)
  %bits = bitcast double %x to i64
  %magnitude = and i64 %bits, 9223372036854775807
  %is.nan = icmp ugt i64 %magnitude, 9218868437227405312
  %exponent = lshr i64 %magnitude, 52
  %fraction = and i64 %magnitude, 4503599627370495
  %normal = icmp ne i64 %exponent, 0
  %hidden = select i1 %normal, i64 4503599627370496, i64 0
  %significand = or i64 %fraction, %hidden
  %short = sub i64 %lowest, %exponent
  %below = call i64 @llvm.smax.i64(i64 %short, i64 0)
  %lost = sub i64 52, %digits
  %shift.any = add i64 %lost, %below
  %shift = call i64 @llvm.smin.i64(i64 %shift.any, i64 63)
  %kept = lshr i64 %significand, %shift
  %unit = shl i64 1, %shift
  %mask = sub i64 %unit, 1
  %rest = and i64 %significand, %mask
  %half = lshr i64 %unit, 1
  %more = icmp ugt i64 %rest, %half
  %tie = icmp eq i64 %rest, %half
  %odd = trunc i64 %kept to i1
  %tie.up = and i1 %tie, %odd
  %up = or i1 %more, %tie.up
  %one = zext i1 %up to i64
  %rounded = add i64 %kept, %one
  %above = sub i64 %exponent, %lowest
  %steps = call i64 @llvm.smax.i64(i64 %above, i64 0)
  %shifted = shl i64 %steps, %digits
  %number = add i64 %shifted, %rounded
  %over = icmp ugt i64 %number, %top
  %saturates = icmp eq i32 %saturate, 1
  %limit = select i1 %saturates, i64 %top, i64 %beyond
  %finite = select i1 %over, i64 %limit, i64 %number
  %first.digits = lshr i64 %fraction, 50
  %nan.digits = or i64 %first.digits, 126
  %nan = call i64 @gridjit.fp8.of(i32 %format, i64 127, i64 %nan.digits)
  %size = select i1 %is.nan, i64 %nan, i64 %finite
  %negative = lshr i64 %bits, 63
  %sign = shl i64 %negative, 7
  %signed = or i64 %size, %sign
  %r = trunc i64 %signed to i8
  ret i8 %r
}
define i8 @gridjit.fp8.narrow.float(float %x, i32 %saturate, i32 %format) alwaysinline nounwind memory(none) {
  %is.nan = fcmp uno float %x, 0.0
  %wide = fpext float %x to double
  %some = select i1 %is.nan, double 0x7FFFFFFFE0000000, double %wide
  %r = call i8 @gridjit.fp8.narrow(double %some, i32 %saturate, i32 %format)
  ret i8 %r
}
"""

# A half holds every number of both formats.
_WIDEN = """
define i16 @gridjit.fp8.half(i8 %x, i32 %format) alwaysinline nounwind memory(none) {
  %wide = zext i8 %x to i16
  %e5m2 = shl i16 %wide, 8
  %size = and i16 %wide, 127
  %digits = shl i16 %size, 7
  %scaled = bitcast i16 %digits to half
  %moved = fmul half %scaled, 256.0
  %moved.bits = bitcast half %moved to i16
  %sign = and i16 %e5m2, -32768
  %e4m3 = or i16 %moved.bits, %sign
  %is.e4m3 = icmp eq i32 %format, 0
  %number = select i1 %is.e4m3, i16 %e4m3, i16 %e5m2
  %largest = select i1 %is.e4m3, i16 126, i16 124
  %is.nan = icmp ugt i16 %size, %largest
  %r = select i1 %is.nan, i16 32767, i16 %number
  ret i16 %r
}
define i32 @gridjit.fp8.float(i16 %half) alwaysinline nounwind memory(none) {
  %x = bitcast i16 %half to half
  %wide = fpext half %x to float
  %bits = bitcast float %wide to i32
  %is.nan = fcmp uno half %x, 0.0
  %r = select i1 %is.nan, i32 2147483647, i32 %bits
  ret i32 %r
}
"""

# Rounding is cudaRoundMode: 1 towards zero, 2 up (of the size: a sign is dropped).
_EXPONENTS = """
define i8 @gridjit.fp8.exponent(i16 %x, i32 %saturate, i32 %rounding) alwaysinline nounwind memory(none) {
  %high = lshr i16 %x, 7
  %kept = trunc i16 %high to i8
  %size = and i16 %x, 32767
  %digits = and i16 %x, 127
  %some = icmp ne i16 %digits, 0
  %large = icmp ugt i16 %size, 64
  %finite = icmp ult i16 %size, 32640
  %up = icmp eq i32 %rounding, 2
  %a = and i1 %some, %large
  %b = and i1 %finite, %up
  %c = and i1 %a, %b
  %one = zext i1 %c to i8
  %rounded = add i8 %kept, %one
  %number = icmp ule i16 %size, 32640
  %over = icmp eq i8 %rounded, -1
  %saturates = icmp eq i32 %saturate, 1
  %d = and i1 %number, %over
  %e = and i1 %d, %saturates
  %r = select i1 %e, i8 -2, i8 %rounded
  ret i8 %r
}
define i8 @gridjit.fp8.exponent.float(i32 %bits, i32 %saturate, i32 %rounding) alwaysinline nounwind memory(none) {
  %zero = icmp eq i32 %rounding, 1
  %size = and i32 %bits, 2147483647
  %kept = select i1 %zero, i32 %bits, i32 %size
  %high = lshr i32 %kept, 16
  %low = and i32 %bits, 65535
  %some = icmp ne i32 %low, 0
  %up = xor i1 %zero, true
  %finite = icmp ult i32 %size, 2139095040
  %a = and i1 %some, %up
  %b = and i1 %a, %finite
  %one = zext i1 %b to i32
  %moved = add i32 %high, %one
  %is.nan = icmp ugt i32 %size, 2139095040
  %wide = select i1 %is.nan, i32 32767, i32 %moved
  %x = trunc i32 %wide to i16
  %r = call i8 @gridjit.fp8.exponent(i16 %x, i32 %saturate, i32 %rounding)
  ret i8 %r
}
define i8 @gridjit.fp8.exponent.double(double %x, i32 %saturate, i32 %rounding) alwaysinline nounwind memory(none) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %size.x = call double @llvm.fabs.f64(double %x)
  %size.back = call double @llvm.fabs.f64(double %back)
  %past = fcmp ogt double %size.back, %size.x
  %step = sext i1 %past to i32
  %inner = add i32 %bits, %step
  %inexact = fcmp one double %back, %x
  %sticky = zext i1 %inexact to i32
  %marked = or i32 %inner, %sticky
  %r = call i8 @gridjit.fp8.exponent.float(i32 %marked, i32 %saturate, i32 %rounding)
  ret i8 %r
}
define i16 @gridjit.fp8.bfloat(i8 %x) alwaysinline nounwind memory(none) {
  %wide = zext i8 %x to i16
  %moved = shl i16 %wide, 7
  %least = icmp eq i8 %x, 0
  %number = select i1 %least, i16 64, i16 %moved
  %is.nan = icmp eq i8 %x, -1
  %r = select i1 %is.nan, i16 32767, i16 %number
  ret i16 %r
}
"""

_DECLARED = """
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare double @llvm.fabs.f64(double)
"""

ROUTINES = _FORMATS + _NARROW + _WIDEN + _EXPONENTS + _DECLARED
