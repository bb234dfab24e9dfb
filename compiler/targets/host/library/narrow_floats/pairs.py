"""pairs: functions of two bfloat16s side by side: those of one, applied to each, and what makes and splits pairs."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.narrow_floats.arithmetic import BODIES, THREE, TWO
from gridjit.compiler.targets.host.library.narrow_floats.builder import Format, IRBuilder, added
from gridjit.compiler.targets.host.library.narrow_floats.conversions import from_number, to_number

# Where the low and the high one are, and where they are in a pair of floats.
LANES = (0, 2)
_FLOATS = (0, 4)
# Pairs made of bits that are there: (argument, offset) of the low and of the high one.
_MADE = {
    "make_bfloat162": ((0, 0), (1, 0)),
    "__halves2bfloat162": ((0, 0), (1, 0)),
    "__bfloat162bfloat162": ((0, 0), (0, 0)),
    "__low2bfloat162": ((0, 0), (0, 0)),
    "__high2bfloat162": ((0, 2), (0, 2)),
    "__lowhigh2highlow": ((0, 2), (0, 0)),
    "__lows2bfloat162": ((0, 0), (1, 0)),
    "__highs2bfloat162": ((0, 2), (1, 2)),
}
_OFFSETS = {"__low2bfloat16": 0, "__high2bfloat16": 2, "__low2float": 0, "__high2float": 2}
_FROM_FLOATS = {
    "__float2bfloat162_rn": ((0, 0), (0, 0)),
    "__floats2bfloat162_rn": ((0, 0), (1, 0)),
    "__float22bfloat162_rn": ((0, 0), (0, 4)),
}


def pair_function(code: IRBuilder, kind: Format, name: str) -> bool:
    """Write a function of pairs, by pointers %r, %a, %b, %c; return whether there is one of that name."""
    if name in _MADE:
        for lane, (argument, offset) in zip(LANES, _MADE[name], strict=True):
            code.store("i16", _lane(code, argument, offset), code.at("%r", lane))
    elif name in _FROM_FLOATS:
        for lane, (argument, offset) in zip(LANES, _FROM_FLOATS[name], strict=True):
            bits = from_number(code, kind, "f", code.at("%" + "abc"[argument], offset))
            code.store("i16", bits, code.at("%r", lane))
    elif name in _OFFSETS:
        bits = _lane(code, 0, _OFFSETS[name])
        code.store(*(to_number(code, kind, "f", bits) if name.endswith("float") else ("i16", bits)), "%r")
    elif name == "__bfloat1622float2":
        for lane, place in zip(LANES, _FLOATS, strict=True):
            code.store(*to_number(code, kind, "f", _lane(code, 0, lane)), code.at("%r", place))
    elif name == "__hcmadd":
        _complex_sum(code, kind)
    elif name == "atomicAdd":
        memory = code.load("ptr", "%a")
        for lane in LANES:
            code.store("i16", added(code, kind, code.at(memory, lane), _lane(code, 1, lane)), code.at("%r", lane))
    else:
        return _lanewise(code, kind, name)
    return True


def _lane(code: IRBuilder, argument: int, offset: int) -> str:
    return code.load("i16", code.at("%" + "abc"[argument], offset))


def _complex_sum(code: IRBuilder, kind: Format) -> None:
    """Write a * b + c of complex numbers, each of its four products rounded into its sum."""
    real, imaginary = LANES
    minus = code.put(f"xor i16 {_lane(code, 0, imaginary)}, -32768")
    for to, first, second in ((real, real, imaginary), (imaginary, imaginary, real)):
        fma = BODIES["__hfma"]
        half = fma(code, kind, [_lane(code, 0, real), _lane(code, 1, first), _lane(code, 2, to)])[1]
        factor = minus if to == real else _lane(code, 0, imaginary)
        code.store("i16", fma(code, kind, [factor, _lane(code, 1, second), half])[1], code.at("%r", to))


def _lanewise(code: IRBuilder, kind: Format, name: str) -> bool:
    """Write what a function of one does to each of a pair.

    A comparison gives 1.0 or 0.0 for each, or all bits or none, or whether both hold.
    """
    both, bits = name.startswith("__hb"), name.endswith("_mask")
    single = name.removesuffix("_mask").replace("__hb", "__h", 1).replace("2", "", 1)
    if single not in BODIES:
        return False
    count = 3 if single in THREE else 2 if single in TWO else 1
    results = [BODIES[single](code, kind, [_lane(code, one, lane) for one in range(count)]) for lane in LANES]
    if both:
        code.store("i8", code.put(f"and i8 {results[0][1]}, {results[1][1]}"), "%r")
        return True
    one = -1 if bits else kind.bias << kind.digits
    for lane, (type_, value) in zip(LANES, results, strict=True):
        if type_ != "i16":
            value = code.choose(code.put(f"icmp ne {type_} {value}, 0"), "i16", str(one), "0")
        code.store("i16", value, code.at("%r", lane))
    return True
