"""Coordinates: where a thread is, and where its shared memory lies, as parameters of the kernel's one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gridjit.compiler.targets.host.ir import intrinsics
from gridjit.compiler.targets.host.ir.body import Block, Body, Parameter
from gridjit.compiler.targets.host.ir.parse import parse

# The parameters that come before the kernel's own, in order.
PLACE = (
    *(Parameter(type="i32", name=f"%gj.{name}") for name in intrinsics.COORDINATES),
    Parameter(type="i32", name="%gj.thread"),
    Parameter(type="i32", name="%gj.dynamic"),
    Parameter(type="ptr", name="%gj.shared"),
    Parameter(type="ptr", name="%gj.slab"),
    Parameter(type="ptr", name="%gj.bank"),
    Parameter(type="i64", name="%gj.threads"),
    Parameter(type="i64", name="%gj.turn"),
    Parameter(type="i1", name="%gj.all"),
    Parameter(type="i1", name="%gj.asks"),
    Parameter(type="i1", name="%gj.rare"),
    Parameter(type="i32", name="%gj.at"),
    Parameter(type="i32", name="%gj.apart"),
)


def place(body: Body, shared_offsets: Mapping[str, int]) -> Body:
    """Return body with every coordinate and shared array read from the parameters of PLACE."""
    return replace(body, blocks=tuple(_block(block, shared_offsets) for block in body.blocks))


def unread_axes(functions: Sequence[str]) -> frozenset[str]:
    """Return the axes of a block along which none of the functions, of parameters like a body's, reads its place."""
    unread = set("xyz")
    for text in functions:
        for axis in [axis for axis in unread if f"%gj.tid.{axis}" in text]:
            if any(f"%gj.tid.{axis}" in line and not _hands_on(line.strip()) for line in text.splitlines()):
                unread.discard(axis)
    return frozenset(unread)


def _hands_on(line: str) -> bool:
    """Return whether a function of the kernel's begins with a line, or is called: it reads a parameter in its code."""
    return line.startswith("define ") or parse(line).callee_name.startswith(intrinsics.GRIDJITS)


def _block(block: Block, offsets: Mapping[str, int]) -> Block:
    return Block(label=block.label, lines=tuple(_line(line, offsets) for line in block.lines))


def _line(line: str, offsets: Mapping[str, int]) -> str:
    one = parse(line) if intrinsics.GRIDJITS in line else None
    if one is None or not one.callee_name.startswith(intrinsics.GRIDJITS) or one.operands:
        return line
    result, name = one.result, one.callee_name
    coordinate = name.removeprefix(intrinsics.OURS + intrinsics.SREG)
    if coordinate in intrinsics.COORDINATES:
        return f"{result} = add i32 %gj.{coordinate}, 0"
    if name == intrinsics.DYNAMIC_BYTES:
        return f"{result} = add i32 %gj.dynamic, 0"
    if name == intrinsics.LINEAR_THREAD:
        return f"{result} = add i32 %gj.thread, 0"
    if name.startswith(intrinsics.SHARED_ARRAY):
        offset = offsets[name.removeprefix(intrinsics.SHARED_ARRAY)]
        return f"{result} = getelementptr inbounds i8, ptr %gj.shared, i64 {offset}"
    return line
