"""Whole warps: functions that do an operation for warps whose lanes all wait for it together.

Where they can, they work with vectors of 32 lanes, or with what LLVM makes vectors of; otherwise they use exchange.py.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.warp_operations import LANE, RESULT, VALUE, Collective
from gridjit.compiler.targets.host.warps.exchange import cell_addresses, exchange_of, verdict
from gridjit.compiler.targets.host.warps.shuffles import shuffle_warps
from gridjit.compiler.targets.host.warps.text import changed, each_thread, each_warp, function, item, put, variable

_VECTOR = "<32 x i32>"


def whole_of(plan: LoopPlan, number: int, first: str, end: str) -> str:
    """Return the call that does the operation before a region for the warps of the threads from first to end - 1."""
    return f"call void @gridjit.whole.{plan.alike(number)}({CONTEXT_VALUES}, i32 {first}, i32 {end})"


def has_vectors(one: Collective) -> bool:
    """Return whether an operation is done without looking at the threads' states."""
    if one.kind in warp_kinds.SHUFFLES:
        return one.clamp == (0 if one.kind == warp_kinds.UP else 31)
    return one.kind in warp_kinds.VOTES or one.kind == warp_kinds.ACTIVE


def warp_waits(plan: LoopPlan) -> list[int]:
    """Return the numbers of the regions before which lanes of warps do something together."""
    return [number for number, one in enumerate(plan.collectives) if one and not warp_kinds.of_block(one.kind)]


def whole(plan: LoopPlan, number: int) -> str:
    """Return the function of a region's operation; its operands are in the threads' cells."""
    one = plan.collectives[number]
    assert one is not None  # the first region is not asked for
    lines = [*cell_addresses(plan, [RESULT, VALUE, LANE]), *variable("differing", "0"), "  br label %work", "work:"]
    return function("void", f"gridjit.whole.{number}", ["i32 %first, i32 %end"], [*lines, *_work(one), "  ret void"])


def _work(one: Collective) -> list[str]:
    if not has_vectors(one):
        if one.kind in (warp_kinds.STEP, warp_kinds.WARP):
            return []
        call = f"  %w.asked = {exchange_of('%w.lo', '-1', str(one.kind))}"
        return each_warp("w", "%first", "%end", "work", "worked", [call])
    if one.kind in warp_kinds.SHUFFLES:
        return _shuffled(one)
    return _voted(one.kind) if one.kind in warp_kinds.VOTES else _present()


def _shuffled(one: Collective) -> list[str]:
    """Return the code of a shuffle: by one vector operation if all threads give the same lane, distance or mask."""
    if one.lane is not None:
        return shuffle_warps(one.kind, str(one.lane % 32), "work", "shuffled")
    differ = [
        *item("%d.lane", "%cell.lane", "%d.wide"),
        "  %d.unlike = xor i32 %d.lane, %lane.0",
        *changed("differing", "or", "%d.unlike", "d"),
    ]
    return [
        "  %first.wide = zext nneg i32 %first to i64",
        *item("%lane.0", "%cell.lane", "%first.wide"),
        *each_thread("d", "%first", "%end", "work", "compared", differ),
        "  %differs = load i32, ptr %differing",
        "  %like = icmp eq i32 %differs, 0",
        "  br i1 %like, label %alike, label %unlike",
        "alike:",
        "  %lane.all = and i32 %lane.0, 31",
        *shuffle_warps(one.kind, "%lane.all", "alike", "shuffled"),
        "  ret void",
        "unlike:",
        *each_thread("g", "%first", "%end", "unlike", "gathered", _gather(one.kind)),
    ]


def _gather(kind: int) -> list[str]:
    """Return the code that fetches a thread's value from the lane that it names."""
    source = {
        warp_kinds.SHUFFLE: ["  %g.j = add i32 %g.by, 0", "  %g.fits = icmp ult i32 %g.j, 32"],
        warp_kinds.UP: ["  %g.j = sub i32 %g.own, %g.by", "  %g.fits = icmp sge i32 %g.j, 0"],
        warp_kinds.DOWN: ["  %g.j = add i32 %g.own, %g.by", "  %g.fits = icmp ult i32 %g.j, 32"],
        warp_kinds.XOR: ["  %g.j = xor i32 %g.own, %g.by", "  %g.fits = icmp ult i32 %g.j, 32"],
    }
    return [
        *item("%g.lane", "%cell.lane", "%g.wide"),
        "  %g.by = and i32 %g.lane, 31",
        "  %g.own = and i32 %g.t, 31",
        "  %g.base = sub i32 %g.t, %g.own",
        *source[kind],
        "  %g.from = select i1 %g.fits, i32 %g.j, i32 %g.own",
        "  %g.at = add nuw nsw i32 %g.base, %g.from",
        "  %g.at.wide = zext nneg i32 %g.at to i64",
        *item("%g.value", "%cell.value", "%g.at.wide"),
        *put("g.r", "%g.value", "%cell.result", "%g.wide"),
    ]


def _voted(kind: int) -> list[str]:
    body = [
        "  %v.wide = zext nneg i32 %v.lo to i64",
        *item("%v.said", "%cell.value", "%v.wide", kind="i32")[:1],
        f"  %v.values = load {_VECTOR}, ptr %v.said.at, align 4",
        f"  %v.yes = icmp ne {_VECTOR} %v.values, zeroinitializer",
        "  %v.votes = bitcast <32 x i1> %v.yes to i32",
        *verdict(str(kind), "%v.votes", "-1"),
        *_splat("v", "%verdict"),
    ]
    return each_warp("v", "%first", "%end", "work", "voted", body)


def _present() -> list[str]:
    body = ["  %a.wide = zext nneg i32 %a.lo to i64", *_splat("a", "-1")]
    return each_warp("a", "%first", "%end", "work", "told.all", body)


def _splat(name: str, value: str) -> list[str]:
    """Return the code that gives one value to a warp, whose first thread is %NAME.wide."""
    n = f"%{name}"
    return [
        f"  {n}.one = insertelement {_VECTOR} poison, i32 {value}, i64 0",
        f"  {n}.all = shufflevector {_VECTOR} {n}.one, {_VECTOR} poison, {_VECTOR} zeroinitializer",
        f"  {n}.results = getelementptr inbounds i32, ptr %cell.result, i64 {n}.wide",
        f"  store {_VECTOR} {n}.all, ptr {n}.results, align 4",
    ]
