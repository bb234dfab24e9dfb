"""Warp operations: the operations that threads do together, as a kernel's code calls them, and their stand-ins.

A thread stores what it gives to an operation in cells of its own, ends its region, and begins the next one by loading
what it got. Between the two, the cells of all threads that do it together are read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.intrinsics import ACTIVE_MASK, BARRIER, GRID_BARRIER, GRIDJITS, OURS, STEP, TURN
from gridjit.compiler.targets.host.ir.parse import parse

FULL = 2**32 - 1
# A thread's cells. What is read around a warp's values lies before and behind them.
RESULT, VALUE, LANE, MASK, CLAMP = (f"%gj.cell.gj.{name}" for name in ("result", "value", "lane", "mask", "clamp"))
# The type of a number and a bit.
PAIR = "{ i32, i1 }"
_NO_CELLS = (warp_kinds.BARRIER, warp_kinds.STEP, warp_kinds.WARP)
_PLAIN = {
    BARRIER: warp_kinds.BARRIER,
    f"{BARRIER}.popc": warp_kinds.COUNT,
    f"{BARRIER}.and": warp_kinds.AND,
    f"{BARRIER}.or": warp_kinds.OR,
    GRID_BARRIER: warp_kinds.GRID,
    TURN: warp_kinds.TURN,
    ACTIVE_MASK: warp_kinds.ACTIVE,
    STEP: warp_kinds.STEP,
    f"{OURS}bar.warp.sync": warp_kinds.WARP,
    f"{OURS}match.any.sync.i32": warp_kinds.MATCH_ANY,
    f"{OURS}match.any.sync.i64": warp_kinds.MATCH_ANY_64,
    f"{OURS}match.all.sync.i32": warp_kinds.MATCH_ALL,
    f"{OURS}match.all.sync.i64": warp_kinds.MATCH_ALL_64,
}
# These take their mode as the second argument.
_MODES = {f"{OURS}shfl.sync.i32": warp_kinds.SHUFFLE, f"{OURS}vote.sync": warp_kinds.ALL}
_KINDS = _PLAIN | _MODES


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One operation in a kernel: its kind, and those of its operands that are constants; None if in threads' cells."""

    kind: int
    mask: int | None = FULL
    lane: int | None = 0
    clamp: int | None = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of such an operation: the name of what it returns, its kind, and the other operands as written."""

    result: str
    kind: int
    arguments: tuple[str, ...]

    @property
    def mask(self) -> str:
        """The lanes that take part, as written."""
        return self.arguments[0] if self.kind >= warp_kinds.WARP else "-1"

    @property
    def collective(self) -> Collective:
        """The operation with the operands that are constants."""
        lane, clamp = self.arguments[2:4] if self.kind in warp_kinds.SHUFFLES else ("0", "31")
        return Collective(kind=self.kind, mask=_constant(self.mask), lane=_constant(lane), clamp=_constant(clamp))

    @property
    def paired(self) -> bool:
        """Whether it returns a number and a bit."""
        return self.kind in (*warp_kinds.SHUFFLES, *warp_kinds.VOTES, warp_kinds.MATCH_ALL, warp_kinds.MATCH_ALL_64)


def read_call(line: str) -> Call | None:
    """Return the operation that an instruction calls, or None."""
    one = parse(line) if GRIDJITS in line else None
    if one is None or one.callee_name not in _KINDS:
        return None
    arguments, kind = list(one.values), _KINDS[one.callee_name]
    if one.callee_name in _MODES:
        kind += int(arguments.pop(1))
    return Call(result=one.result, kind=kind, arguments=tuple(arguments))


def extracted(line: str) -> tuple[str, int] | None:
    """Return which part an instruction takes of which pair, or None."""
    one = parse(line)
    is_part = one.opcode == "extractvalue" and one.kind == PAIR and one.values[0].startswith("%")
    return (one.values[0], int(one.values[1])) if is_part else None


def cells(collectives: Sequence[Collective]) -> dict[str, ValueType]:
    """Return the cells of a thread that some operations need, in their order."""
    word = ValueType(text="i32", size=4, align=4)
    names = [RESULT, VALUE, LANE] if any(one.kind not in _NO_CELLS for one in collectives) else []
    names += [MASK] if any(one.mask is None for one in collectives) else []
    names += [CLAMP] if any(one.clamp is None for one in collectives) else []
    return dict.fromkeys(names, word)


def given(call: Call, number: int) -> list[str]:
    """Return the instructions that put a thread's operands into its cells; number: the call's, for names."""
    lines = _store(call.mask, MASK)
    if call.kind in warp_kinds.SHUFFLES:
        _, value, lane, clamp = call.arguments
        return [*lines, _put(value, VALUE), *_store(lane, LANE), *_store(clamp, CLAMP)]
    if call.kind in warp_kinds.VOTES:
        return [*lines, f"%gj.bit.{number} = zext i1 {call.arguments[1]} to i32", _put(f"%gj.bit.{number}", VALUE)]
    if call.kind in (warp_kinds.COUNT, warp_kinds.AND, warp_kinds.OR):
        bit = f"%gj.bit.{number}"
        return [
            f"{bit} = icmp ne i32 {call.arguments[0]}, 0",
            f"{bit}.w = zext i1 {bit} to i32",
            _put(f"{bit}.w", VALUE),
        ]
    if call.kind in (warp_kinds.MATCH_ANY_64, warp_kinds.MATCH_ALL_64):
        return [*lines, *_put_halves(call.arguments[1], f"%gj.half.{number}")]
    return [*lines, *([_put(call.arguments[1], VALUE)] if call.kind in warp_kinds.MATCHES else [])]


def got(call: Call, number: int, extracts: Sequence[str], whole: bool) -> list[str]:
    """Return the instructions that make a call's result of the thread's cell, and the extracts of its parts.

    whole: whether other instructions use the result.
    """
    if not call.result:
        return []
    if not call.paired:
        return [f"{call.result} = load i32, ptr {RESULT}"]
    word, bit = f"%gj.got.{number}", f"%gj.right.{number}"
    asked = whole or any((part := extracted(line)) and part[1] == 1 for line in extracts)
    return [
        f"{word} = load i32, ptr {RESULT}",
        *(
            (_in_range(call, bit) if call.kind in warp_kinds.SHUFFLES else [f"{bit} = icmp ne i32 {word}, 0"])
            if asked
            else []
        ),
        f"{word}.p = insertvalue {PAIR} poison, i32 {word}, 0",
        f"{call.result} = insertvalue {PAIR} {word}.p, i1 {bit if asked else 'false'}, 1",
        *extracts,
    ]


def _in_range(call: Call, bit: str) -> list[str]:
    """Return the code of PTX's predicate: whether a shuffle's source lies in the lane's segment."""
    lane, clamp = call.arguments[2:4]
    lines = {
        "own": "and i32 %gj.thread, 31",
        "by": f"and i32 {lane}, 31",
        "end": f"and i32 {clamp}, 31",
        "some": f"lshr i32 {clamp}, 8",
        "segment": f"and i32 {bit}.some, 31",
        "rest": f"xor i32 {bit}.segment, 31",
        "low": f"and i32 {bit}.own, {bit}.segment",
        "high": f"and i32 {bit}.end, {bit}.rest",
        "bound": f"or i32 {bit}.low, {bit}.high",
        "inner": f"and i32 {bit}.by, {bit}.rest",
        "from": {
            warp_kinds.SHUFFLE: f"or i32 {bit}.low, {bit}.inner",
            warp_kinds.UP: f"sub i32 {bit}.own, {bit}.by",
            warp_kinds.DOWN: f"add i32 {bit}.own, {bit}.by",
            warp_kinds.XOR: f"xor i32 {bit}.own, {bit}.by",
        }[call.kind],
    }
    order = "sge" if call.kind == warp_kinds.UP else "sle"
    return [
        *(f"{bit}.{name} = {text}" for name, text in lines.items()),
        f"{bit} = icmp {order} i32 {bit}.from, {bit}.bound",
    ]


def _constant(written: str) -> int | None:
    return int(written) & FULL if written.removeprefix("-").isdecimal() else None


def _put(value: str, cell: str) -> str:
    return f"store i32 {value}, ptr {cell}"


def _store(value: str, cell: str) -> list[str]:
    return [] if _constant(value) is not None else [_put(value, cell)]


def _put_halves(value: str, name: str) -> list[str]:
    return [
        f"{name}.low = trunc i64 {value} to i32",
        f"{name}.all = lshr i64 {value}, 32",
        f"{name}.high = trunc i64 {name}.all to i32",
        _put(f"{name}.low", VALUE),
        _put(f"{name}.high", LANE),
    ]
