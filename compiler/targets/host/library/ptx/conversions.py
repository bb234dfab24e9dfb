"""Conversions of floats to integers give what PTX's cvt gives, for numbers that the integer's type does not hold too.

LLVM leaves these undefined, and processors differ. On a GPU, they become the nearest integer of the type (of 16 bits,
of which 8 are kept, for a type of 8). NaN becomes 0, or the highest bit alone if a float64 is converted, or to 64 bits.
"""

from __future__ import annotations

import struct

from gridjit.compiler.targets.host.ir.module import with_each_line

_WORD = " = fpto"
_TYPES = ("float", "double")
_SIZES = ("i8", "i16", "i32", "i64")


def as_converted_on_gpus(text: str) -> str:
    """Return a module's text in which floats become integers as on a GPU."""
    return with_each_line(text, _WORD, _converted)


def _converted(line: str) -> str:
    """Return a conversion of a float as instructions with a result for every float."""
    before, _, made = line.partition(_WORD)
    name, words = before.strip(), made.replace(",", " ,").split(" ")
    if len(words) < 5 or words[1] not in _TYPES or words[4] not in _SIZES:
        return line
    sign, kind, value, _, to = words[:5]
    rest = made.partition(f" to {to}")[2]
    signed, bits = sign == "si", max(int(to[1:]), 16)
    low, past = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    highest_bit = 2 ** (bits - 1) if kind == "double" or bits == 64 else 0
    part = name.strip('%"') + ".cvt"
    steps = [
        f"{_part(part, 'any')} = fpto{sign} {kind} {value} to i{bits}{rest}",
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
    last = f"trunc i16 {result} to i8" if to == "i8" else f"add i{bits} {result}, 0"
    indent = before[: len(before) - len(name)]
    return "\n".join(indent + step for step in [*steps, f"{name} = {last}"])


def _part(of: str, word: str) -> str:
    return f'%"{of}.{word}"'


def _float(number: int) -> str:
    return f"0x{struct.pack('>d', number).hex()}"
