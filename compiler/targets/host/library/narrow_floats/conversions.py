"""conversions: between halves or bfloat16s and other numbers, with the rounding that a function's name says."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.narrow_floats.builder import Format, IRBuilder, narrowed, widened
from gridjit.compiler.targets.host.library.narrow_floats.mangled_names import INTEGERS

_ROUNDED = {"rn": "rint", "rz": "trunc", "ru": "ceil", "rd": "floor"}
# Integers by the words for them in names.
WORDS = {
    "char": "a",
    "uchar": "h",
    "short": "s",
    "ushort": "t",
    "int": "i",
    "uint": "j",
    "ll": "x",
    "ull": "y",
}


def from_number(code: IRBuilder, kind: Format, letter: str, pointer: str, mode: str = "rn") -> str:
    """Return a number of a mangled type, rounded to 16 bits."""
    if letter in "fd":
        name = "float" if letter == "f" else "double"
        value = code.load(name, pointer)
        wide = value if letter == "d" else code.put(f"fpext float {value} to double")
        return narrowed(code, kind, wide, mode)
    bits, signed = INTEGERS[letter]
    value = code.load(f"i{bits}", pointer)
    if bits == 64:
        value = _sticky(code, value, signed=signed)
    wide = code.put(f"{'s' if signed else 'u'}itofp i{bits} {value} to double")
    return narrowed(code, kind, wide, mode)


def _sticky(code: IRBuilder, value: str, *, signed: bool) -> str:
    """Return an integer that a double holds and that rounds to 16 bits as value does.

    If it has more than 53 digits, those after the 53rd become a single 1 if any of them is 1: for either sign, as the
    bits of a negative number are those below it.
    """
    size = code.put(f"call i64 @llvm.abs.i64(i64 {value}, i1 false)") if signed else value
    large = code.put(f"icmp uge i64 {size}, {2**53}")
    low = code.put(f"and i64 {value}, 2047")
    some = code.put(f"zext i1 {code.put(f'icmp ne i64 {low}, 0')} to i64")
    high = code.put(f"and i64 {value}, -2048")
    marked = code.put(f"or i64 {high}, {code.put(f'shl i64 {some}, 11')}")
    return code.choose(large, "i64", marked, value)


def to_number(code: IRBuilder, kind: Format, letter: str, bits: str, mode: str = "rz") -> tuple[str, str]:
    """Return 16 bits as a number of a mangled type, with LLVM's type: integers end at their limits, NaN is 0.

    For 64 bits, NaN is the lowest signed number, and the unsigned number with the same bits.
    """
    value = widened(code, kind, bits)
    if letter == "d":
        return "double", value
    if letter == "f":
        return "float", code.put(f"fptrunc double {value} to float")  # exact
    if letter == "b":
        return "i8", code.put(f"zext i1 {code.put(f'fcmp une double {value}, 0.0')} to i8")
    size, signed = INTEGERS[letter]
    whole = code.call("double", f"llvm.{_ROUNDED[mode]}.f64", value)
    found = code.call(f"i{size}", f"llvm.fpto{'s' if signed else 'u'}i.sat.i{size}.f64", whole)
    if size == 64:
        nan = code.put(f"fcmp uno double {value}, 0.0")
        found = code.choose(nan, "i64", str(-(2**63)), found)
    return f"i{size}", found
