"""The block function of a kernel with co-resident blocks: it runs a block until the block has to wait."""

from __future__ import annotations

from gridjit.compiler.targets.host.blocks.coresident_runs import run_name
from gridjit.compiler.targets.host.emit.frame import CONTEXT, CONTEXT_VALUES, launch_loads
from gridjit.compiler.targets.host.emit.plan import DIVERGENT, SPINS, LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import SUMMARY
from gridjit.compiler.targets.host.emit.reports import told_of
from gridjit.compiler.targets.host.warps.divergent_warps import APART, OF_GRID, OF_TURNS
from gridjit.compiler.targets.host.warps.warp_step import RAISED
from gridjit.compiler.targets.host.warps.whole_blocks import AGAIN, meet_of, meets

# What a block is to do: start, go on - also where it waited for the grid -, or name a thread: one that takes turns, or
# one that waits anywhere.
START, GO_ON, NAME_TURN, NAME_WAIT = 0, 1, 2, 3
# What it returns beside 0, when it has ended, and codes of errors: it got on, it waits for the grid, it did not get on.
MOVED, AT_GRID, PASS = -201, -202, -203
# Passes over the threads of a block before other blocks have their turn.
_PASSES = 64


_FLAGS = {"moved": 0, "turning": -1, "passes": 0, "released": 0, "asked": 0}


def resident_block(plan: LoopPlan) -> str:
    """Return the block function; it takes the thing to do as one argument more."""
    return "\n".join(
        [
            f"define internal i32 @gridjit.block({CONTEXT}, i32 %how) {plan.attributes} {{",
            "entry:",
            *launch_loads(),
            *(f"  %{name} = alloca i32" for name in _FLAGS),
            *(f"  store i32 {value}, ptr %{name}" for name, value in _FLAGS.items()),
            f"  %progress = getelementptr inbounds i8, ptr %bank, i64 {plan.bank_bytes + plan.progress}",
            "  switch i32 %how, label %go.on [",
            f"    i32 {START}, label %start",
            f"    i32 {NAME_TURN}, label %name.turn",
            f"    i32 {NAME_WAIT}, label %name.wait",
            "  ]",
            "start:",
            f"  %started = call {SUMMARY} @{run_name(0, 'all')}({CONTEXT_VALUES})",
            "  store i32 1, ptr %moved",
            "  br label %scan",
            "go.on:",
            "  store i32 1, ptr %released",
            "  br label %scan",
            *_scan(plan),
            *_choose(plan),
            *_ask_others(plan),
            *_take_turns(plan),
            *_meet(plan),
            *_run(plan),
            *_search(plan),
            "}",
            "",
        ]
    )


def _scan(plan: LoopPlan) -> list[str]:
    """Return the code that looks at all threads: where they are, and how many take turns or have ended."""
    kept = ("raised", "low", "high", "ended", "turn")
    first = {"low": "-1"}
    phis = [f"  %{name} = phi i32 [ {first.get(name, '0')}, %scan ], [ %{name}.new, %one ]" for name in kept]
    return [
        "scan:",
        "  br label %one",
        "one:",
        "  %i = phi i64 [ 0, %scan ], [ %i.next, %one ]",
        *phis,
        "  %at = getelementptr inbounds i32, ptr %states, i64 %i",
        "  %state = load i32, ptr %at, align 4",
        "  %is.raised = icmp slt i32 %state, 0",
        "  %raised.bit = zext i1 %is.raised to i32",
        "  %raised.new = or i32 %raised, %raised.bit",
        "  %less = sub i32 %state, 1",
        "  %low.new = call i32 @llvm.umin.i32(i32 %low, i32 %less)",
        "  %high.new = call i32 @llvm.smax.i32(i32 %high, i32 %state)",
        "  %is.ended = icmp eq i32 %state, 0",
        "  %ended.bit = zext i1 %is.ended to i32",
        "  %ended.new = add i32 %ended, %ended.bit",
        f"  %is.turn = icmp sge i32 %state, {plan.first_turn}",
        "  %turn.bit = zext i1 %is.turn to i32",
        "  %turn.new = add i32 %turn, %turn.bit",
        "  %i.next = add nuw nsw i64 %i, 1",
        "  %i.more = icmp ult i64 %i.next, %threads",
        "  br i1 %i.more, label %one, label %scanned",
    ]


def _choose(plan: LoopPlan) -> list[str]:
    """Return the code that chooses the next step."""
    return [
        "scanned:",
        "  %any.raised = icmp ne i32 %raised.new, 0",
        "  br i1 %any.raised, label %search.raised, label %calm",
        "calm:",
        "  %over = icmp eq i32 %high.new, 0",
        "  br i1 %over, label %ended.all, label %live",
        "ended.all:",
        "  ret i32 0",
        "live:",
        "  %any.turn = icmp ne i32 %turn.new, 0",
        "  br i1 %any.turn, label %turns, label %together",
        "together:",
        "  %lowest = add i32 %low.new, 1",
        "  %split = icmp ne i32 %lowest, %high.new",
        "  br i1 %split, label %apart, label %where",
        "where:",
        f"  %grid.wide = icmp sge i32 %high.new, {plan.first_of_grid}",
        "  br i1 %grid.wide, label %grid, label %whole",
        "whole:",
        "  %some.ended = icmp ne i32 %ended.new, 0",
        "  br i1 %some.ended, label %apart, label %meet",
        "grid:",
        "  %free = load i32, ptr %released",
        "  %is.free = icmp ne i32 %free, 0",
        "  br i1 %is.free, label %pass.grid, label %wait",
        "wait:",
        f"  ret i32 {AT_GRID}",
    ]


def _ask_others(plan: LoopPlan) -> list[str]:
    """Return the code that has threads go on that are not all at one place, as far as they can without taking turns."""
    return [
        "apart:",
        f"  %place = {APART}",
        "  switch i32 %place, label %placed [",
        "    i32 0, label %ended.all",
        f"    i32 {RAISED}, label %search.raised",
        f"    i32 {OF_GRID}, label %grid",
        f"    i32 {OF_TURNS}, label %scan",
        "  ]",
        "placed:",
        "  %is.place = icmp sgt i32 %place, 0",
        "  br i1 %is.place, label %scan, label %told",
        "told:",
        "  %told.code = load i32, ptr %status",
        "  ret i32 %told.code",
    ]


def _take_turns(plan: LoopPlan) -> list[str]:
    """Return the code that gives each thread that waits in a loop another turn, unless the last ones were in vain."""
    calls = [
        f"  %turned.{number} = call {SUMMARY} @{run_name(number, 'some')}({CONTEXT_VALUES})"
        for number in range(plan.first_turn, plan.regions)
    ]
    return [
        "turns:",
        "  store i32 0, ptr %released",
        "  %was.asked = load i32, ptr %asked",
        "  %known = icmp ne i32 %was.asked, 0",
        "  %busy = add i32 %turn.new, %ended.new",
        "  %no.others = icmp eq i32 %busy, %volume",
        "  %ready = or i1 %known, %no.others",
        "  br i1 %ready, label %turn.look, label %ask",
        "ask:",
        "  store i32 1, ptr %asked",
        "  br label %apart",
        "turn.look:",
        "  %turning.before = load i32, ptr %turning",
        "  %same.count = icmp eq i32 %turn.new, %turning.before",
        "  %changed = load i32, ptr %progress",
        "  %no.change = icmp eq i32 %changed, 0",
        "  %in.vain = and i1 %same.count, %no.change",
        "  br i1 %in.vain, label %leave, label %turn.on",
        "leave:",
        "  %moved.before = load i32, ptr %moved",
        "  %did.move = icmp ne i32 %moved.before, 0",
        f"  %answer = select i1 %did.move, i32 {MOVED}, i32 {PASS}",
        "  ret i32 %answer",
        "turn.on:",
        "  %first.turn = icmp slt i32 %turning.before, 0",
        "  %moved.so.far = load i32, ptr %moved",
        "  %moved.now = select i1 %first.turn, i32 %moved.so.far, i32 1",
        "  store i32 %moved.now, ptr %moved",
        "  %passes.before = load i32, ptr %passes",
        "  %passes.now = add i32 %passes.before, 1",
        "  store i32 %passes.now, ptr %passes",
        f"  %enough = icmp sgt i32 %passes.now, {_PASSES}",
        "  br i1 %enough, label %to.others, label %turn.all",
        "to.others:",
        f"  ret i32 {MOVED}",
        "turn.all:",
        "  store i32 %turn.new, ptr %turning",
        "  store i32 0, ptr %asked",
        *(["  store i32 0, ptr %progress"] if plan.first_turn < plan.regions else []),
        *calls,
        "  br label %scan",
    ]


def _meet(plan: LoopPlan) -> list[str]:
    """Return the code that does the operation that all threads of the block wait for at one place."""
    met = meets(plan)
    calls = [f"  %met.{number} = {meet_of(plan, number)}" for number in met]
    answers = ", ".join(f"[ %met.{number}, %meet.{number} ]" for number in met)
    judged = ["met:", f"  %said = phi i32 {answers}"]
    judged.append(f"  switch i32 %said, label %told [ i32 0, label %pass i32 {AGAIN}, label %apart ]")
    return [
        "meet:",
        "  switch i32 %high.new, label %pass [",
        *(f"    i32 {number}, label %meet.{number}" for number in met),
        "  ]",
        *(line for number, one in zip(met, calls, strict=True) for line in (f"meet.{number}:", one, "  br label %met")),
        *(judged if met else []),
    ]


def _run(plan: LoopPlan) -> list[str]:
    """Return the code that runs the region after the barrier at which all threads are, of the block or of the grid."""
    numbers = range(1, plan.first_turn)
    everywhere = [
        f"  %grid.{number} = call {SUMMARY} @{run_name(number, 'some')}({CONTEXT_VALUES})"
        for number in range(plan.first_of_grid, plan.first_turn)
    ]
    return [
        "pass.grid:",
        "  store i32 0, ptr %released",
        "  store i32 1, ptr %moved",
        "  %alive.all = icmp eq i32 %ended.new, 0",
        "  %grid.lowest = add i32 %low.new, 1",
        "  %at.one = icmp eq i32 %grid.lowest, %high.new",
        "  %grid.all = and i1 %alive.all, %at.one",
        "  br i1 %grid.all, label %pass, label %pass.some",
        "pass.some:",
        *everywhere,
        "  br label %scan",
        "pass:",
        "  switch i32 %high.new, label %never [",
        *(f"    i32 {number}, label %run.{number}" for number in numbers),
        "  ]",
        "never:",
        "  unreachable",
        *(
            line
            for number in numbers
            for line in (
                f"run.{number}:",
                f"  %got.{number} = call {SUMMARY} @{run_name(number, 'all')}({CONTEXT_VALUES})",
                "  br label %scan",
            )
        ),
    ]


def _search(plan: LoopPlan) -> list[str]:
    """Return the code that finds the first thread that raised, that waits at the last of several barriers, or at all.

    It fills the status with a code, the block and the thread, and returns the code.
    """
    return [
        "search.raised:",
        "  br label %search",
        "name.turn:",
        "  br label %search",
        "name.wait:",
        "  br label %search",
        "search:",
        f"  %least = phi i32 [ -2147483648, %search.raised ], [ {plan.first_turn}, %name.turn ], [ 1, %name.wait ]",
        "  %greatest = phi i32 [ -1, %search.raised ], [ 2147483647, %name.turn ], [ 2147483647, %name.wait ]",
        "  br label %look",
        "look:",
        "  %s = phi i32 [ 0, %search ], [ %s.next, %on ]",
        "  %s.wide = zext nneg i32 %s to i64",
        "  %s.at = getelementptr inbounds i32, ptr %states, i64 %s.wide",
        "  %s.state = load i32, ptr %s.at, align 4",
        "  %s.above = icmp sge i32 %s.state, %least",
        "  %s.below = icmp sle i32 %s.state, %greatest",
        "  %s.found = and i1 %s.above, %s.below",
        "  br i1 %s.found, label %found, label %on",
        "on:",
        "  %s.next = add nuw nsw i32 %s, 1",
        "  %s.more = icmp ult i32 %s.next, %volume",
        "  br i1 %s.more, label %look, label %nobody",
        "nobody:",
        "  ret i32 0",
        "found:",
        "  %s.raised = icmp slt i32 %s.state, 0",
        "  %s.plain = and i32 %s.state, 2147483647",
        f"  %s.names = icmp uge i32 %how, {NAME_TURN}",
        f"  %s.spins = sub i32 {SPINS}, %s.state",
        f"  %s.waits = select i1 %s.names, i32 %s.spins, i32 {DIVERGENT}",
        "  %code = select i1 %s.raised, i32 %s.plain, i32 %s.waits",
        *told_of("%s"),
    ]
