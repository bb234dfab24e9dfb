"""Shared atomics: atomic operations on a block's shared memory, as plain ones.

One thread of the host runs a block's threads one after the other, so no other can see its shared memory meanwhile.
Fences and memory that may be global stay as they are. The loads and stores are marked: they do depend on those of other
threads, and must not be told to LLVM as independent.
"""

from __future__ import annotations

from dataclasses import replace

from gridjit.compiler.targets.host.analysis.pointers import BLOCK, Roots
from gridjit.compiler.targets.host.ir.body import Block, Body, definitions_of
from gridjit.compiler.targets.host.ir.instructions import Instruction, beside
from gridjit.compiler.targets.host.ir.parse import parse

SIMPLE = {
    **{name: f"{name} {{type}} {{old}}, {{value}}" for name in ("add", "sub", "and", "or", "xor", "fadd", "fsub")},
    **{
        name: f"call {{type}} @llvm.{intrinsic}.{{type}}({{type}} {{old}}, {{type}} {{value}})"
        for name, intrinsic in (("max", "smax"), ("min", "smin"), ("umax", "umax"), ("umin", "umin"))
    },
}
# What loads and stores carry that depend on those of other threads.
OWN = "!gridjit.own !{}"


def plain_shared_atomics(body: Body) -> Body:
    """Return body with the atomic operations on its shared arrays written as loads and stores."""
    roots = Roots(definitions=definitions_of(body.lines), offsets={}, arrays=frozenset())
    blocks = tuple(
        Block(label=block.label, lines=tuple(new for line in block.lines for new in _plain(line, roots)))
        for block in body.blocks
    )
    return replace(body, blocks=blocks)


def _plain(line: str, roots: Roots) -> list[str]:
    """Return the instructions in place of one."""
    made = parse(line)
    write = {"atomicrmw": _exchanged, "cmpxchg": _compared}.get(made.opcode)
    if write is None or not made.result or made.is_volatile or roots.of(made.pointer) != {BLOCK}:
        return [line]
    return write(made) or [line]


def _exchanged(made: Instruction) -> list[str]:
    """Return the instructions in place of an update; none for an operation that is not simple."""
    old, value = made.result, made.values[1]
    if made.predicate == "xchg":
        return [_load(made, old), _store(made, value)]
    if made.predicate not in SIMPLE or made.operands[1].is_compound:
        return []
    new = beside(old, "new")
    operation = SIMPLE[made.predicate].format(type=made.operands[1].type, old=old, value=value)
    return [_load(made, old), f"{new} = {operation}", _store(made, new)]


def _compared(made: Instruction) -> list[str]:
    """Return the instructions in place of an exchange on a condition; none for other values than integers."""
    kind, pair, (_, expected, wanted) = made.operands[1].type, made.result, made.values
    if not kind.startswith("i"):
        return []
    old, same, new, half = (beside(pair, word) for word in ("old", "same", "new", "half"))
    both = f"{{ {kind}, i1 }}"
    return [
        _load(made, old),
        f"{same} = icmp eq {kind} {old}, {expected}",
        f"{new} = select i1 {same}, {kind} {wanted}, {kind} {old}",
        _store(made, new),
        f"{half} = insertvalue {both} poison, {kind} {old}, 0",
        f"{pair} = insertvalue {both} {half}, i1 {same}, 1",
    ]


def _load(made: Instruction, old: str) -> str:
    return f"{old} = load {made.operands[1].type}, {_place(made)}"


def _store(made: Instruction, new: str) -> str:
    return f"store {made.operands[1].type} {new}, {_place(made)}"


def _place(made: Instruction) -> str:
    align = f", align {made.alignment}" if made.alignment else ""
    return f"{made.operands[0]}{align}, {OWN}"
