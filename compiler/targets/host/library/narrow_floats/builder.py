"""IRBuilder: a function's instructions as they are written, each value with a name of its own; and the two formats.

All arithmetic is in double, which holds every half and bfloat16, and is rounded once. A sum, difference, product,
quotient or square root that was rounded to double is then rounded to 16 bits as the exact one would be, since a double
has more than twice as many digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# How to round: to the nearest (ties to even), towards zero, up, down; as narrow() takes it.
MODES = {"rn": 0, "rz": 1, "ru": 2, "rd": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A floating-point format of 16 bits: the digits after the point, and the exponent's bias."""

    digits: int
    bias: int


HALF = Format(digits=10, bias=15)
BFLOAT = Format(digits=7, bias=127)


@dataclass(slots=True)
class IRBuilder:
    """Instructions of one function; put() adds one and returns its value."""

    lines: list[str] = field(default_factory=list)

    def put(self, instruction: str) -> str:
        """Add an instruction that has a value, and return the value's name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {instruction}")

    def load(self, kind: str, pointer: str) -> str:
        """Return the value at a pointer."""
        return self.put(f"load {kind}, ptr {pointer}, align 1")

    def store(self, kind: str, value: str, pointer: str) -> None:
        """Store a value at a pointer."""
        self.do(f"store {kind} {value}, ptr {pointer}, align 1")

    def at(self, pointer: str, offset: int) -> str:
        """Return a pointer a number of bytes on."""
        return self.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def call(self, kind: str, function: str, *arguments: str) -> str:
        """Return the result of a function of doubles."""
        return self.put(f"call {kind} @{function}({', '.join(f'double {one}' for one in arguments)})")

    def choose(self, condition: str, kind: str, yes: str, no: str) -> str:
        """Return one of two values."""
        return self.put(f"select i1 {condition}, {kind} {yes}, {kind} {no}")


def widened(code: IRBuilder, kind: Format, bits: str) -> str:
    """Return a number of 16 bits as a double."""
    if kind is HALF:
        return code.put(f"fpext half {code.put(f'bitcast i16 {bits} to half')} to double")
    wide = code.put(f"shl i32 {code.put(f'zext i16 {bits} to i32')}, 16")
    return code.put(f"fpext float {code.put(f'bitcast i32 {wide} to float')} to double")


def narrowed(code: IRBuilder, kind: Format, value: str, mode: str = "rn") -> str:
    """Return a double rounded to a number of 16 bits."""
    return code.put(f"call i16 @gridjit.narrow(double {value}, i32 {kind.digits}, i32 {kind.bias}, i32 {MODES[mode]})")


def added(code: IRBuilder, kind: Format, pointer: str, bits: str) -> str:
    """Atomically add a number to a number in memory; return the old one."""
    return code.put(f"call i16 @gridjit.add.narrow(ptr {pointer}, i16 {bits}, i32 {kind.digits}, i32 {kind.bias})")


# CUDA has one NaN for both formats. Digits that the format lacks decide, with the sign, whether the last one is raised.
# A number that is too large becomes infinity, or the largest number if the rounding says so.
NARROW = """
define i16 @gridjit.narrow(double %x, i32 %digits, i32 %bias, i32 %mode) alwaysinline nounwind memory(none) {
  %bits = bitcast double %x to i64
  %magnitude = and i64 %bits, 9223372036854775807
  %negative = icmp slt i64 %bits, 0
  %nan = icmp ugt i64 %magnitude, 9218868437227405312
  %infinite = icmp eq i64 %magnitude, 9218868437227405312
  %exponent.wide = lshr i64 %magnitude, 52
  %exponent = trunc i64 %exponent.wide to i32
  %fraction = and i64 %magnitude, 4503599627370495
  %normal = icmp ne i32 %exponent, 0
  %hidden = select i1 %normal, i64 4503599627370496, i64 0
  %significand = or i64 %fraction, %hidden
  %lowest = sub i32 1024, %bias
  %short = sub i32 %lowest, %exponent
  %below = call i32 @llvm.smax.i32(i32 %short, i32 0)
  %lost = sub i32 52, %digits
  %shift.any = add i32 %lost, %below
  %shift.some = call i32 @llvm.smin.i32(i32 %shift.any, i32 63)
  %shift = zext i32 %shift.some to i64
  %kept = lshr i64 %significand, %shift
  %unit = shl i64 1, %shift
  %mask = sub i64 %unit, 1
  %rest = and i64 %significand, %mask
  %half = lshr i64 %unit, 1
  %more = icmp ugt i64 %rest, %half
  %tie = icmp eq i64 %rest, %half
  %odd = trunc i64 %kept to i1
  %tie.up = and i1 %tie, %odd
  %near.up = or i1 %more, %tie.up
  %some = icmp ne i64 %rest, 0
  %positive = xor i1 %negative, true
  %up.up = and i1 %some, %positive
  %down.up = and i1 %some, %negative
  %is.rn = icmp eq i32 %mode, 0
  %is.ru = icmp eq i32 %mode, 2
  %is.rd = icmp eq i32 %mode, 3
  %a1 = and i1 %is.rn, %near.up
  %a2 = and i1 %is.ru, %up.up
  %a3 = and i1 %is.rd, %down.up
  %a12 = or i1 %a1, %a2
  %a = or i1 %a12, %a3
  %one = zext i1 %a to i64
  %rounded = add i64 %kept, %one
  %above = sub i32 %exponent, %lowest
  %steps = call i32 @llvm.smax.i32(i32 %above, i32 0)
  %steps.wide = zext i32 %steps to i64
  %digits.wide = zext i32 %digits to i64
  %shifted = shl i64 %steps.wide, %digits.wide
  %number = add i64 %shifted, %rounded
  %twice = shl i32 %bias, 1
  %top = add i32 %twice, 1
  %top.wide = zext i32 %top to i64
  %infinity = shl i64 %top.wide, %digits.wide
  %largest = sub i64 %infinity, 1
  %over = icmp uge i64 %number, %infinity
  %b1 = and i1 %is.ru, %positive
  %b2 = and i1 %is.rd, %negative
  %b12 = or i1 %b1, %b2
  %b3 = or i1 %b12, %is.rn
  %b = or i1 %b3, %infinite
  %too.large = select i1 %b, i64 %infinity, i64 %largest
  %finite = select i1 %over, i64 %too.large, i64 %number
  %sign = select i1 %negative, i64 32768, i64 0
  %signed = or i64 %finite, %sign
  %result = select i1 %nan, i64 32767, i64 %signed
  %r = trunc i64 %result to i16
  ret i16 %r
}
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
"""

ATOMIC = """
define i16 @gridjit.add.narrow(ptr %p, i16 %v, i32 %digits, i32 %bias) alwaysinline nounwind {
entry:
  %first = load atomic i16, ptr %p monotonic, align 2
  br label %try
try:
  %seen = phi i16 [ %first, %entry ], [ %now, %try ]
  %old = call double @gridjit.widen(i16 %seen, i32 %digits, i32 %bias)
  %more = call double @gridjit.widen(i16 %v, i32 %digits, i32 %bias)
  %sum = fadd double %old, %more
  %new = call i16 @gridjit.narrow(double %sum, i32 %digits, i32 %bias, i32 0)
  %pair = cmpxchg ptr %p, i16 %seen, i16 %new monotonic monotonic
  %now = extractvalue { i16, i1 } %pair, 0
  %won = extractvalue { i16, i1 } %pair, 1
  br i1 %won, label %done, label %try
done:
  ret i16 %seen
}
define double @gridjit.widen(i16 %bits, i32 %digits, i32 %bias) alwaysinline nounwind memory(none) {
  %half = bitcast i16 %bits to half
  %x = fpext half %half to double
  %wide = zext i16 %bits to i32
  %high = shl i32 %wide, 16
  %float = bitcast i32 %high to float
  %y = fpext float %float to double
  %is.half = icmp eq i32 %digits, 10
  %r = select i1 %is.half, double %x, double %y
  ret double %r
}
"""

# What definitions call: functions of LLVM's, and those above.
LIBRARY = NARROW + ATOMIC
