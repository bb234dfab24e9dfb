"""Lanes: the functions that run some of a warp's threads, each from where it waits: all in one loop, or one by one."""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES, block_loads, launch_loads, position_of
from gridjit.compiler.targets.host.emit.metadata import lane_loop
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import SUMMARY, call, note, summary_end, summary_start
from gridjit.compiler.targets.host.passes.divisions import handed
from gridjit.compiler.targets.host.warps.text import each_lane, function, item, put

LANES = "i32 %lo, i32 %hi"


def run_of(lo: str, hi: str, bits: str) -> str:
    """Return the call that runs some lanes of the warp of the threads from lo to hi - 1."""
    return f"call {SUMMARY} @gridjit.run.lanes({CONTEXT_VALUES}, i32 {lo}, i32 {hi}, i32 {bits})"


def warp_run_of(number: int) -> str:
    """Return the call that runs a region for all lanes of the warp of the threads from %lo to %hi - 1."""
    return f"call {SUMMARY} @gridjit.run.{number}.warp({CONTEXT_VALUES}, {LANES})"


def lane_runs(plan: LoopPlan) -> str:
    """Return these functions; their states are kept, and those of the lanes that ran are summed up."""
    numbers = range(1, plan.regions) if plan.of_warps else range(0)
    runs = [_warp(plan, number) for number in numbers]
    return "\n".join([*runs, _choice(plan), _one_by_one(plan)])


def _warp(plan: LoopPlan, number: int) -> str:
    """Return the function that runs a region for a warp: row by row, as its threads may lie in several."""
    lines = [
        *_parameters(plan),
        *summary_start(),
        "  %x.first = urem i32 %lo, %ntid.x",
        "  %row.first = udiv i32 %lo, %ntid.x",
        "  %y.first = urem i32 %row.first, %ntid.y",
        "  %z.first = udiv i32 %row.first, %ntid.y",
        "  br label %row",
        "row:",
        "  %at = phi i32 [ %lo, %entry ], [ %at.next, %row.end ]",
        "  %x.from = phi i32 [ %x.first, %entry ], [ 0, %row.end ]",
        "  %tid.y = phi i32 [ %y.first, %entry ], [ %y.next, %row.end ]",
        "  %tid.z = phi i32 [ %z.first, %entry ], [ %z.next, %row.end ]",
        "  %x.left = sub i32 %ntid.x, %x.from",
        "  %t.left = sub i32 %hi, %at",
        "  %count = call i32 @llvm.umin.i32(i32 %x.left, i32 %t.left)",
        "  %at.next = add nuw nsw i32 %at, %count",
        "  br label %lane",
        "lane:",
        "  %j = phi i32 [ 0, %row ], [ %j.next, %lane ]",
        *(handed("row", "lane") if plan.divided else []),
        "  %tid.x = add nuw nsw i32 %x.from, %j",
        "  %t = add nuw nsw i32 %at, %j",
        "  %t.wide = zext nneg i32 %t to i64",
        call(plan, number, "false"),
        *note(),
        "  %j.next = add nuw nsw i32 %j, 1",
        "  %j.more = icmp ult i32 %j.next, %count",
        f"  br i1 %j.more, label %lane, label %row.end, !llvm.loop !{lane_loop(number)}",
        "row.end:",
        "  %y.more = add i32 %tid.y, 1",
        "  %y.over = icmp uge i32 %y.more, %ntid.y",
        "  %y.next = select i1 %y.over, i32 0, i32 %y.more",
        "  %z.step = zext i1 %y.over to i32",
        "  %z.next = add i32 %tid.z, %z.step",
        "  %more = icmp ult i32 %at.next, %hi",
        "  br i1 %more, label %row, label %over",
        "over:",
        *summary_end(),
    ]
    return function(SUMMARY, f"gridjit.run.{number}.warp", [LANES], lines)


def _choice(plan: LoopPlan) -> str:
    """Return the function that runs lanes in one loop if they are all of a warp and wait at one place."""
    alone = [
        f"  %alone = call {SUMMARY} @gridjit.run.alone({CONTEXT_VALUES}, i32 %lo, i32 %bits)",
        f"  ret {SUMMARY} %alone",
    ]
    if not plan.of_warps:
        return function(SUMMARY, "gridjit.run.lanes", [LANES, "i32 %bits"], alone)
    cases = [f"    i32 {number}, label %run.{number}" for number in range(1, plan.regions)]
    lines = [
        "  %lo.wide = zext i32 %lo to i64",
        *item("%first", "%states", "%lo.wide"),
        "  %count = sub i32 %hi, %lo",
        "  %spare = sub i32 32, %count",
        "  %all = lshr i32 -1, %spare",
        "  %whole = icmp eq i32 %all, %bits",
        "  br i1 %whole, label %look, label %apart",
        "look:",
        "  %i = phi i32 [ %lo, %entry ], [ %i.next, %look ]",
        "  %differ = phi i32 [ 0, %entry ], [ %differ.next, %look ]",
        "  %i.wide = zext i32 %i to i64",
        *item("%other", "%states", "%i.wide"),
        "  %unlike = xor i32 %other, %first",
        "  %differ.next = or i32 %differ, %unlike",
        "  %i.next = add i32 %i, 1",
        "  %i.more = icmp ult i32 %i.next, %hi",
        "  br i1 %i.more, label %look, label %looked",
        "looked:",
        "  %same = icmp eq i32 %differ.next, 0",
        "  br i1 %same, label %together, label %apart",
        "together:",
        "  switch i32 %first, label %apart [",
        *cases,
        "  ]",
        *(line for number in range(1, plan.regions) for line in _together(number)),
        "apart:",
        *alone,
    ]
    return function(SUMMARY, "gridjit.run.lanes", [LANES, "i32 %bits"], lines)


def _together(number: int) -> list[str]:
    return [
        f"run.{number}:",
        f"  %got.{number} = {warp_run_of(number)}",
        f"  ret {SUMMARY} %got.{number}",
    ]


def _one_by_one(plan: LoopPlan) -> str:
    """Return the function that runs lanes one by one, each from where it waits."""
    numbers = range(1, plan.regions)
    states = ", ".join(f"[ %state.{number}, %case.{number} ]" for number in numbers)
    body = [
        "  %t = add i32 %go.t, 0",
        *position_of("%t"),
        *item("%waits", "%states", "%go.wide"),
        "  switch i32 %waits, label %never [",
        *(f"    i32 {number}, label %case.{number}" for number in numbers),
        "  ]",
        "never:",
        "  unreachable",
        *(line for number in numbers for line in _case(plan, number)),
        "ran:",
        f"  %state = phi i32 {states}",
        *put("kept", "%state", "%states", "%go.wide"),
        *_counted(),
    ]
    lines = [*_parameters(plan), *summary_start(), *each_lane("go", "%bits", "entry", "over", body), *summary_end()]
    return function(SUMMARY, "gridjit.run.alone", ["i32 %lo", "i32 %bits"], lines)


def _case(plan: LoopPlan, number: int) -> list[str]:
    text = call(plan, number, "false", inline=False, apart="0").replace("%state =", f"%state.{number} =")
    return [f"case.{number}:", text, "  br label %ran"]


def _counted() -> list[str]:
    """Return the code that counts a state into the summary, without keeping it."""
    lines = note()
    return lines[2:]


def _parameters(plan: LoopPlan) -> list[str]:
    """Return what block_loads gives, without the launch, which is there."""
    return block_loads(plan)[len(launch_loads()) :]
