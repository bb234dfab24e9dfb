"""Strides: how far apart neighbouring threads of a kernel load and store, and along which axis that is close by.

Vectors whose items are far apart are loaded and stored item by item, which takes longer than to do without them, unless
much is computed between.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.host.ir.body import Body, definitions_of, opcode, used
from gridjit.compiler.targets.host.ir.instructions import Instruction, is_value
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.types import size_of

_CASTS = frozenset(("sext", "zext", "trunc", "ptrtoint", "inttoptr", "bitcast", "freeze"))
# What takes long enough for vectors to be worth their loads.
_DIVISIONS = frozenset(("fdiv", "frem", "sdiv", "udiv", "srem", "urem"))
_FLOATS = frozenset(("fadd", "fsub", "fmul"))
# Functions that take no longer than an operation.
_SHORT = frozenset(("assume", "smin", "smax", "umin", "umax", "fma", "fmuladd", "fabs"))
# Bytes: a cache line.
_CLOSE = 64


def inner_axis(body: Body) -> str:
    """Return the axis, "x" or "y", along which more loads and stores of neighbouring threads are close by."""
    lines = definitions_of(body.lines)
    places = [place for line in body.lines if (place := parse(line).accessed)]
    close = {axis: _count_close(places, lines, axis) for axis in "xy"}
    return "y" if close["y"] > close["x"] else "x"


def is_scattered(text: str, axis: str) -> bool:
    """Return whether neighbouring threads along axis mostly load and store far apart in a region, and compute little.

    Of a stride that is known at launch only, it is assumed to be large.
    """
    every = [line.strip() for line in text.splitlines()]
    if any(map(_takes_long, map(parse, every))):
        return False
    lines = definitions_of(every)
    # A thread's own variables become values.
    known: dict[str, int | None] = {name: 0 for name, line in lines.items() if opcode(line) == "alloca"}
    known |= {f"%gj.tid.{axis}": 1, "%gj.thread": 1 if axis == "x" else None}
    strides = [_stride(place, lines, known) for line in every if (place := parse(line).accessed)]
    far = [one for one in strides if one is None or abs(one) >= _CLOSE]
    near = [one for one in strides if one is not None and 0 < abs(one) < _CLOSE]
    computed = sum(parse(line).opcode in _FLOATS for line in every)
    return bool(far) and 4 * len(near) <= len(far) and computed <= 2 * len(far)


def _takes_long(one: Instruction) -> bool:
    """Return whether an instruction takes longer than a few accesses to memory."""
    if one.opcode != "call":
        return one.opcode in _DIVISIONS
    before, _, name = one.callee_name.partition("llvm.")
    return bool(one.callee_name) and (bool(before) or name.partition(".")[0] not in _SHORT)


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

    found = parse(line)
    whole = found.kind == "ptr" or found.kind.startswith("i")
    if whole and found.opcode in _CASTS and is_value(found.values[0]):
        return of(found.values[0])
    if whole and found.is_binary:
        a, b = map(of, found.values)
        if found.opcode in ("add", "sub", "or"):
            return None if a is None or b is None else a - b if found.opcode == "sub" else a + b
        if found.opcode in ("mul", "shl"):
            return _product(found, a, b)
    if size := _size(found):
        base, index = map(of, found.values)
        return None if base is None or index is None else base + size * index
    same = found.opcode not in ("load", "call", "phi", "alloca") and all(of(name) == 0 for name in used(line))
    return 0 if same else None


def _size(moved: Instruction) -> int:
    """Return the bytes from one item to the next; 0 unless a pointer is moved by one number of plain items."""
    return size_of(moved.type) if moved.moved_by and all(map(is_value, moved.values)) else 0


def _product(found: Instruction, a: int | None, b: int | None) -> int | None:
    factor = found.values[1]
    if a == 0 and b == 0:
        return 0
    if not factor.startswith("%") and a is not None:
        return a << int(factor) if found.opcode == "shl" else a * int(factor)
    return None
