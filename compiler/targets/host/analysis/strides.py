"""Strides: how far apart neighbouring threads of a kernel load and store, and along which axis that is close by.

Vectors whose items are far apart are loaded and stored item by item, which takes longer than to do without them, unless
much is computed between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME, Body, definitions_of, opcode
from gridjit.compiler.targets.host.ir.instructions import Element, Instruction, accessed, element, instruction, is_value

_CASTS = frozenset(("sext", "zext", "trunc", "ptrtoint", "inttoptr", "bitcast", "freeze"))
# What takes long enough for vectors to be worth their loads.
_LONG = regex(r" (?:fdiv|frem|[su]div|[su]rem) |call [^@]*@(?!llvm\.(?:assume|[su](?:min|max)|fma|fmuladd|fabs)\b)")
_FLOATS = regex(r" = (?:fadd|fsub|fmul) ")
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8}
# Bytes: a cache line.
_CLOSE = 64


def inner_axis(body: Body) -> str:
    """Return the axis, "x" or "y", along which more loads and stores of neighbouring threads are close by."""
    lines = definitions_of(body.lines)
    places = [place for line in body.lines if (place := accessed(line))]
    close = {axis: _count_close(places, lines, axis) for axis in "xy"}
    return "y" if close["y"] > close["x"] else "x"


def is_scattered(text: str, axis: str) -> bool:
    """Return whether neighbouring threads along axis mostly load and store far apart in a region, and compute little.

    Of a stride that is known at launch only, it is assumed to be large.
    """
    every = [line.strip() for line in text.splitlines()]
    if any(_LONG.search(line) for line in every):
        return False
    lines = definitions_of(every)
    # A thread's own variables become values.
    known: dict[str, int | None] = {name: 0 for name, line in lines.items() if opcode(line) == "alloca"}
    known |= {f"%gj.tid.{axis}": 1, "%gj.thread": 1 if axis == "x" else None}
    strides = [_stride(place, lines, known) for line in every if (place := accessed(line))]
    far = [one for one in strides if one is None or abs(one) >= _CLOSE]
    near = [one for one in strides if one is not None and 0 < abs(one) < _CLOSE]
    computed = sum(bool(_FLOATS.search(line)) for line in every)
    return bool(far) and 4 * len(near) <= len(far) and computed <= 2 * len(far)


def _count_close(places: list[str], lines: Mapping[str, str], axis: str) -> int:
    known: dict[str, int | None] = {f"%gj.tid.{axis}": 1, "%gj.thread": None}
    strides = (_stride(place, lines, known) for place in places)
    return sum(stride is not None and 0 < abs(stride) <= _CLOSE for stride in strides)


def _stride(name: str, lines: Mapping[str, str], known: dict[str, int | None]) -> int | None:
    """Return by how much a value differs between neighbouring threads, or None. known collects the answers."""
    if name not in known:
        known[name] = None  # of what goes round a loop, nothing is known
        known[name] = _of_line(lines[name], lines, known) if name in lines else 0
    return known[name]


def _of_line(line: str, lines: Mapping[str, str], known: dict[str, int | None]) -> int | None:
    def of(operand: str) -> int | None:
        return _stride(operand, lines, known) if operand.startswith("%") else 0

    found = instruction(line)
    whole = found is not None and (found.type == "ptr" or found.type.startswith("i"))
    if found and whole and found.operation in _CASTS and is_value(found.operands[0]):
        return of(found.operands[0])
    if found and whole and found.is_binary:
        a, b = map(of, found.operands)
        if found.operation in ("add", "sub", "or"):
            return None if a is None or b is None else a - b if found.operation == "sub" else a + b
        if found.operation in ("mul", "shl"):
            return _product(found, a, b)
    if (moved := element(line)) and (size := _size(moved)):
        base, index = of(moved.base), of(moved.indices[0].rpartition(" ")[2])
        return None if base is None or index is None else base + size * index
    operands = re.findall(NAME, line.partition(" = ")[2])
    same = opcode(line) not in ("load", "call", "phi", "alloca") and all(of(operand) == 0 for operand in operands)
    return 0 if same else None


def _size(moved: Element) -> int:
    """Return the bytes from one item to the next; 0 unless a pointer is moved by one number of plain items."""
    (kind, *_), values = moved, [one.partition(" ")[2] for one in moved.indices]
    if len(values) != 1 or not (is_value(moved.base) and is_value(values[0])):
        return 0
    bytes_of = kind[1:].partition(" x i8]")
    return int(bytes_of[0]) if bytes_of[1] and bytes_of[0].isdecimal() else _SIZES.get(kind, 0)


def _product(found: Instruction, a: int | None, b: int | None) -> int | None:
    factor = found.operands[1]
    if a == 0 and b == 0:
        return 0
    if not factor.startswith("%") and a is not None:
        return a << int(factor) if found.operation == "shl" else a * int(factor)
    return None
