"""The functions of 8-bit floats that numba-cuda calls, written from their C++ names.

A function takes a pointer to what it returns, or makes, and pointers to its arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from gridjit.compiler.targets.host.library.narrow_floats.builder import BFLOAT, HALF, IRBuilder, narrowed
from gridjit.compiler.targets.host.library.narrow_floats.conversions import from_number, to_number
from gridjit.compiler.targets.host.library.narrow_floats.mangled_names import INTEGERS, CppFunction

# CUDA's numbers of two of the formats, and one of our own for that of powers of two.
_E4M3, _E5M2, _E8M0 = 0, 1, 2
_FORMATS = {"e4m3": _E4M3, "e5m2": _E5M2, "e8m0": _E8M0}
# A class by its name: how many floats it has, and their format.
_OWNERS = {
    f"__nv_fp8{several}_{name}": (count, number)
    for several, count in (("", 1), ("x2", 2), ("x4", 4))
    for name, number in _FORMATS.items()
}
# A function on bare bits: the type that it converts, how many of them, and whether to powers of two.
_CONVERSIONS = {
    f"__nv_cvt_{word}{several}_to_{to}": (letter, len(several) + 1, to.startswith("e8m0"))
    for word, letter in (("float", "f"), ("double", "d"), ("bfloat16raw", "__nv_bfloat16"))
    for several in ("", "2")
    for to in ("fp8", "e8m0", "fp8x2", "e8m0x2")
}
_TO_RAW = "__nv_cvt_e8m0_to_bf16raw"
# Types whose C++ names begin with a digit's worth of letters: what is made of several floats, and of what size each is.
_VECTORS = {"6float2": ("f", 2), "7double2": ("d", 2), "6float4": ("f", 4), "7double4": ("d", 4)}
_SIZES = {"f": 4, "d": 8}
# What constructors ask for: the largest number in place of one that is larger; and e8m0 rounds up.
_SATURATES, _UP = "1", "2"


def fp8_function(code: IRBuilder, named: CppFunction) -> bool:
    """Write what a symbol names, by pointers %r, %a, %b, %c; return whether it is a function of these formats."""
    if named.kind == "function":
        return _raw(code, named.name)
    if named.owner not in _OWNERS:
        return False
    count, of = _OWNERS[named.owner]
    if named.kind == "constructor":
        return _constructor(code, of, count, named.types)
    return _conversion(code, of, named.types) if count == 1 else _floats(code, of, count, named.types)


def _raw(code: IRBuilder, name: str) -> bool:
    """Write one of the functions on bare bits, whose arguments say how to saturate, and the format or the rounding."""
    if name == _TO_RAW:
        code.store("i16", _bfloat(code, code.load("i8", "%a")), "%r")
        return True
    if name not in _CONVERSIONS:
        return False
    saturate, how = code.load("i32", "%b"), code.load("i32", "%c")
    letter, count, powers = _CONVERSIONS[name]
    make = _exponent if powers else _narrow
    for n in range(count):
        code.store("i8", make(code, letter, code.at("%a", n * _SIZES.get(letter, 0)), saturate, how), code.at("%r", n))
    return True


def _constructor(code: IRBuilder, of: int, count: int, types: str) -> bool:
    """Write a constructor: %r is what is made, %a what it is made of."""
    if types == "v":
        return True
    letter, given = _VECTORS.get(types, (types.lstrip("0123456789"), 1))
    if given != count or not _is_number(letter):
        return False
    for n in range(count):
        code.store("i8", _made(code, of, letter, code.at("%a", n * _SIZES.get(letter, 0))), code.at("%r", n))
    return True


def _is_number(letter: str) -> bool:
    return letter in INTEGERS or letter in (*_SIZES, "__half", "__nv_bfloat16")


def _made(code: IRBuilder, of: int, letter: str, pointer: str) -> str:
    """Return a number of a type as one of a format; integers are rounded to floats first, as CUDA does it."""
    if of == _E8M0:
        return _exponent(code, letter, pointer, _SATURATES, _UP)
    return _narrow(code, letter, pointer, _SATURATES, str(of))


def _narrow(code: IRBuilder, letter: str, pointer: str, saturate: str, of: str) -> str:
    """Return a number of a type as one of e4m3 or e5m2."""
    if letter == "d":
        value = code.load("double", pointer)
        return code.put(f"call i8 @gridjit.fp8.narrow(double {value}, i32 {saturate}, i32 {of})")
    value = _float(code, letter, pointer)
    return code.put(f"call i8 @gridjit.fp8.narrow.float(float {value}, i32 {saturate}, i32 {of})")


def _float(code: IRBuilder, letter: str, pointer: str) -> str:
    if letter == "f":
        return code.load("float", pointer)
    if letter in INTEGERS:
        bits, signed = INTEGERS[letter]
        return code.put(f"{'s' if signed else 'u'}itofp i{bits} {code.load(f'i{bits}', pointer)} to float")
    bits16 = code.load("i16", pointer)
    if letter == "__half":
        return code.put(f"fpext half {code.put(f'bitcast i16 {bits16} to half')} to float")
    wide = code.put(f"shl i32 {code.put(f'zext i16 {bits16} to i32')}, 16")
    return code.put(f"bitcast i32 {wide} to float")


def _exponent(code: IRBuilder, letter: str, pointer: str, saturate: str, rounding: str) -> str:
    """Return a number of a type as one of e8m0."""
    how = f"i32 {saturate}, i32 {rounding}"
    if letter == "__nv_bfloat16":
        return code.put(f"call i8 @gridjit.fp8.exponent(i16 {code.load('i16', pointer)}, {how})")
    if letter in INTEGERS and INTEGERS[letter][0] == 64:
        return code.put(f"call i8 @gridjit.fp8.exponent(i16 {_away(code, letter, pointer)}, {how})")
    if letter == "d" or (letter in INTEGERS and INTEGERS[letter][0] == 32):
        value = code.load("double", pointer) if letter == "d" else _double(code, letter, pointer)
        return code.put(f"call i8 @gridjit.fp8.exponent.double(double {value}, {how})")
    bits = code.put(f"bitcast float {_float(code, letter, pointer)} to i32")
    return code.put(f"call i8 @gridjit.fp8.exponent.float(i32 {bits}, {how})")


def _double(code: IRBuilder, letter: str, pointer: str) -> str:
    size, signed = INTEGERS[letter]
    return code.put(f"{'s' if signed else 'u'}itofp i{size} {code.load(f'i{size}', pointer)} to double")


def _away(code: IRBuilder, letter: str, pointer: str) -> str:
    """Return an integer of 64 bits as a bfloat16, rounded away from zero."""
    value, near = code.load("i64", pointer), from_number(code, BFLOAT, letter, pointer)
    back = to_number(code, BFLOAT, letter, near)[1]
    if INTEGERS[letter][1]:
        low = code.put(f"icmp slt i64 {back}, {value}")
        high = code.put(f"icmp sgt i64 {back}, {value}")
        inner = code.choose(code.put(f"icmp sgt i64 {value}, 0"), "i1", low, high)
    else:
        inner = code.put(f"icmp ult i64 {back}, {value}")
    return code.put(f"add i16 {near}, {code.put(f'zext i1 {inner} to i16')}")


def _conversion(code: IRBuilder, of: int, to: str) -> bool:
    """Write a conversion of %a into %r."""
    x = code.load("i8", "%a")
    write = _TO.get(to.lstrip("0123456789"))
    if write is not None:
        code.store(*write(code, of, x), "%r")
    elif to in INTEGERS:
        kind, bits = (BFLOAT, _bfloat(code, x)) if of == _E8M0 else (HALF, _half(code, of, x))
        code.store(*to_number(code, kind, to, bits), "%r")
    else:
        return False
    return True


def _floats(code: IRBuilder, of: int, count: int, to: str) -> bool:
    """Write a conversion of several into as many floats."""
    if _VECTORS.get(to) != ("f", count):
        return False
    for n in range(count):
        code.store(*_to_float(code, of, code.load("i8", code.at("%a", n))), code.at("%r", 4 * n))
    return True


def _half(code: IRBuilder, of: int, x: str) -> str:
    """Return the bits of a half that is a number of e4m3 or e5m2."""
    return code.put(f"call i16 @gridjit.fp8.half(i8 {x}, i32 {of})")


def _bfloat(code: IRBuilder, x: str) -> str:
    """Return the bits of a bfloat16 that is a number of e8m0."""
    return code.put(f"call i16 @gridjit.fp8.bfloat(i8 {x})")


def _float_bits(code: IRBuilder, of: int, x: str) -> str:
    if of == _E8M0:
        return code.put(f"shl i32 {code.put(f'zext i16 {_bfloat(code, x)} to i32')}, 16")
    return code.put(f"call i32 @gridjit.fp8.float(i16 {_half(code, of, x)})")


def _to_float(code: IRBuilder, of: int, x: str) -> tuple[str, str]:
    return "i32", _float_bits(code, of, x)


def _to_double(code: IRBuilder, of: int, x: str) -> tuple[str, str]:
    value = code.put(f"bitcast i32 {_float_bits(code, of, x)} to float")
    return "double", code.put(f"fpext float {value} to double")


def _to_half(code: IRBuilder, of: int, x: str) -> tuple[str, str]:
    if of != _E8M0:
        return "i16", _half(code, of, x)
    return "i16", narrowed(code, HALF, _to_double(code, of, x)[1])


def _to_bfloat(code: IRBuilder, of: int, x: str) -> tuple[str, str]:
    if of == _E8M0:
        return "i16", _bfloat(code, x)
    return "i16", narrowed(code, BFLOAT, _to_double(code, of, x)[1])  # exact


def _to_bool(code: IRBuilder, of: int, x: str) -> tuple[str, str]:
    """Return whether a number is not zero, which those of e8m0 never are."""
    if of == _E8M0:
        return "i8", "1"
    some = code.put(f"icmp ne i8 {code.put(f'and i8 {x}, 127')}, 0")
    return "i8", code.put(f"zext i1 {some} to i8")


_TO: dict[str, Callable[[IRBuilder, int, str], tuple[str, str]]] = {
    "f": _to_float,
    "d": _to_double,
    "__half": _to_half,
    "__nv_bfloat16": _to_bfloat,
    "b": _to_bool,
}
