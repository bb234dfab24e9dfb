"""Conversions of floats to integers give what PTX's cvt gives, for numbers that the integer's type does not hold too.

LLVM leaves these undefined, and processors differ. On a GPU, they become the nearest integer of the type (of 16 bits,
of which 8 are kept, for a type of 8). NaN becomes 0, or the highest bit alone if a float64 is converted, or to 64 bits.
"""

from __future__ import annotations

import re
import struct

from gridjit.base.regexes import regex

_CONVERSION = regex(
    r"^(?P<indent> *)(?P<name>%\S+) = fpto(?P<sign>[su])i (?P<from>float|double) (?P<value>\S+) to "
    r"i(?P<bits>8|16|32|64)(?P<rest>\b.*)$",
    re.MULTILINE,
    needs=("= fpto",),
)


def as_converted_on_gpus(text: str) -> str:
    """Return a module's text in which floats become integers as on a GPU."""
    return _CONVERSION.sub(_converted, text)


def _converted(found: re.Match[str]) -> str:
    kind, value, name = found["from"], found["value"], found["name"]
    signed, bits = found["sign"] == "s", max(int(found["bits"]), 16)
    low, past = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    highest_bit = 2 ** (bits - 1) if kind == "double" or bits == 64 else 0
    part = name.strip('%"') + ".cvt"
    steps = [
        f"{_part(part, 'any')} = fpto{found['sign']}i {kind} {value} to i{bits}{found['rest']}",
        f"{_part(part, 'some')} = freeze i{bits} {_part(part, 'any')}",
        f"{_part(part, 'high')} = fcmp oge {kind} {value}, {_float(past)}",
        f"{_part(part, 'most')} = select i1 {_part(part, 'high')}, i{bits} {past - 1}, i{bits} {_part(part, 'some')}",
        f"{_part(part, 'in')} = fcmp {'oge' if signed else 'ogt'} {kind} {value}, {_float(low if signed else -1)}",
        f"{_part(part, 'low')} = select i1 {_part(part, 'in')}, i{bits} {_part(part, 'most')}, i{bits} {low}",
    ]
    result = _part(part, "low")
    if highest_bit != (-low if signed else low):
        steps += [
            f"{_part(part, 'nan')} = fcmp uno {kind} {value}, {_float(0)}",
            f"{_part(part, 'all')} = select i1 {_part(part, 'nan')}, i{bits} {highest_bit}, i{bits} {result}",
        ]
        result = _part(part, "all")
    last = f"trunc i16 {result} to i8" if found["bits"] == "8" else f"add i{bits} {result}, 0"
    return "\n".join(found["indent"] + step for step in [*steps, f"{name} = {last}"])


def _part(of: str, word: str) -> str:
    return f'%"{of}.{word}"'


def _float(number: int) -> str:
    return f"0x{struct.pack('>d', number).hex()}"
