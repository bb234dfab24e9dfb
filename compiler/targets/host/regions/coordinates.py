"""Coordinates: where a thread is, and where its shared memory lies, as parameters of the kernel's one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gridjit.compiler.targets.host.library import intrinsics
from gridjit.compiler.targets.host.regions.body import Block, Body, Parameter
from gridjit.regexes import regex

_CALL = regex(r'^(?P<result>\S+) = (?:tail )?call (?P<attributes>[^@]*)@"?(?P<name>gridjit\.[^"(\s]+)"?\(\)')

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


def _block(block: Block, offsets: Mapping[str, int]) -> Block:
    return Block(label=block.label, lines=tuple(_line(line, offsets) for line in block.lines))


def _line(line: str, offsets: Mapping[str, int]) -> str:
    found = _CALL.match(line)
    if found is None:
        return line
    result, name = found["result"], found["name"]
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
