"""Shuffles: shuffles of whole warps whose lanes all give one lane, distance or mask, by vectors of 32 lanes."""

from __future__ import annotations

from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.warps.text import each_warp, item

_VECTOR = "<32 x i32>"


def shuffle_warps(kind: int, lane: str, before: str, after: str) -> list[str]:
    """Return a loop that shuffles the warps of the threads from %first to %end - 1; lane: of all, below 32."""
    move = {warp_kinds.SHUFFLE: _from_one, warp_kinds.UP: _up, warp_kinds.DOWN: _down, warp_kinds.XOR: _crosswise}[kind]
    body = [
        "  %x.wide = zext nneg i32 %x.lo to i64",
        "  %x.values = getelementptr inbounds i32, ptr %cell.value, i64 %x.wide",
        "  %x.results = getelementptr inbounds i32, ptr %cell.result, i64 %x.wide",
        *move(lane),
        f"  store {_VECTOR} %x.moved, ptr %x.results, align 4",
    ]
    return each_warp("x", "%first", "%end", before, after, body)


def _from_one(lane: str) -> list[str]:
    return [
        f"  %x.lane = zext nneg i32 {lane} to i64",
        *item("%x.one", "%x.values", "%x.lane"),
        *_spread("x.moved", "%x.one"),
    ]


def _down(lane: str) -> list[str]:
    # Behind a warp's values lie others: those of the next warp, or the cells that follow. They are not kept.
    return [
        f"  %x.by = zext nneg i32 {lane} to i64",
        f"  %x.limit = sub i32 32, {lane}",
        *_moved("%x.by", "ult", "%x.limit"),
    ]


def _up(lane: str) -> list[str]:
    # Before the first warp's values lie the cells of results.
    return [
        f"  %x.distance = zext nneg i32 {lane} to i64",
        "  %x.by = sub nsw i64 0, %x.distance",
        *_moved("%x.by", "uge", lane),
    ]


def _moved(by: str, order: str, bound: str) -> list[str]:
    """Return the code that takes the values some places further on, in the lanes up to or from a bound."""
    lanes = "<" + ", ".join(f"i32 {lane}" for lane in range(32)) + ">"
    return [
        f"  %x.own = load {_VECTOR}, ptr %x.values, align 4",
        f"  %x.others.at = getelementptr i32, ptr %x.values, i64 {by}",
        f"  %x.others = load {_VECTOR}, ptr %x.others.at, align 4",
        *_spread("x.bound", bound),
        f"  %x.takes = icmp {order} {_VECTOR} {lanes}, %x.bound",
        f"  %x.moved = select <32 x i1> %x.takes, {_VECTOR} %x.others, {_VECTOR} %x.own",
    ]


def _crosswise(lane: str) -> list[str]:
    """Return the code that swaps lanes at distances of 1, 2, 4, 8 and 16, as the mask's bits say."""
    lines, last = [f"  %x.swap.0 = load {_VECTOR}, ptr %x.values, align 4"], "%x.swap.0"
    for bit in (1, 2, 4, 8, 16):
        order = "<" + ", ".join(f"i32 {place ^ bit}" for place in range(32)) + ">"
        name = f"%x.swap.{bit}"
        lines += [
            f"  {name}.bit = and i32 {lane}, {bit}",
            f"  {name}.on = icmp ne i32 {name}.bit, 0",
            f"  {name}.way = shufflevector {_VECTOR} {last}, {_VECTOR} poison, {_VECTOR} {order}",
            f"  {name} = select i1 {name}.on, {_VECTOR} {name}.way, {_VECTOR} {last}",
        ]
        last = name
    return [*lines, f"  %x.moved = select i1 true, {_VECTOR} {last}, {_VECTOR} poison"]


def _spread(name: str, value: str) -> list[str]:
    """Return the code that makes a vector of one value."""
    return [
        f"  %{name}.one = insertelement {_VECTOR} poison, i32 {value}, i64 0",
        f"  %{name} = shufflevector {_VECTOR} %{name}.one, {_VECTOR} poison, {_VECTOR} zeroinitializer",
    ]
