"""Turns: the block function of a kernel whose blocks wait for each other. It runs a block until it has to wait."""

from __future__ import annotations

from gridjit.compiler.targets.host.loops.frame import CONTEXT, CONTEXT_VALUES, launch_loads
from gridjit.compiler.targets.host.loops.plan import DIVERGENT, SPINS, LoopPlan
from gridjit.compiler.targets.host.loops.runs import APART, SUMMARY, run_name
from gridjit.compiler.targets.host.regions.write import MOVED as CHANGED

# What a block is to do: start, go on - also where it waited for the grid -, or name a thread: one that takes turns, or
# one that waits anywhere.
START, GO_ON, NAME_TURN, NAME_WAIT = 0, 1, 2, 3
# What it returns beside 0, when it has ended, and codes of errors: it got on, it waits for the grid, it did not get on.
MOVED, AT_GRID, PASS = -201, -202, -203
# Passes over the threads of a block before other blocks have their turn.
_PASSES = 64


def resident_block(plan: LoopPlan) -> str:
    """Return the block function; it takes what to do as one argument more."""
    return "\n".join(
        [
            f"define internal i32 @gridjit.block({CONTEXT}, i32 %how) {APART} {{",
            "entry:",
            *launch_loads(),
            "  %moved = alloca i32",
            "  %turning = alloca i32",
            "  %passes = alloca i32",
            "  %released = alloca i32",
            "  store i32 0, ptr %moved",
            "  store i32 -1, ptr %turning",
            "  store i32 0, ptr %passes",
            "  store i32 0, ptr %released",
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
            *_take_turns(plan),
            *_run(plan),
            *_search(plan),
            "}",
            "",
        ]
    )


def _scan(plan: LoopPlan) -> list[str]:
    """Return the code that looks at all threads: where they are, and how many spend turns, or spent one in vain."""
    kept = ("raised", "low", "high", "ended", "turn", "vain")
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
        f"  %plain = and i32 %state, {~CHANGED & 0x7FFFFFFF}",
        "  %clean = select i1 %is.raised, i32 %state, i32 %plain",
        "  store i32 %clean, ptr %at, align 4",
        "  %less = sub i32 %clean, 1",
        "  %low.new = call i32 @llvm.umin.i32(i32 %low, i32 %less)",
        "  %high.new = call i32 @llvm.smax.i32(i32 %high, i32 %clean)",
        "  %is.ended = icmp eq i32 %clean, 0",
        "  %ended.bit = zext i1 %is.ended to i32",
        "  %ended.new = add i32 %ended, %ended.bit",
        f"  %is.turn = icmp sge i32 %clean, {plan.turns}",
        "  %turn.bit = zext i1 %is.turn to i32",
        "  %turn.new = add i32 %turn, %turn.bit",
        "  %is.same = icmp eq i32 %clean, %state",
        "  %is.vain = and i1 %is.turn, %is.same",
        "  %vain.bit = zext i1 %is.vain to i32",
        "  %vain.new = add i32 %vain, %vain.bit",
        "  %i.next = add nuw nsw i64 %i, 1",
        "  %i.more = icmp ult i64 %i.next, %threads",
        "  br i1 %i.more, label %one, label %scanned",
    ]


def _choose(plan: LoopPlan) -> list[str]:
    """Return the code that decides what comes next."""
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
        "  br i1 %any.turn, label %turns, label %meet",
        "meet:",
        "  %lowest = add i32 %low.new, 1",
        "  %split = icmp ne i32 %lowest, %high.new",
        "  br i1 %split, label %search.split, label %where",
        "where:",
        f"  %grid.wide = icmp sge i32 %high.new, {plan.grid}",
        "  br i1 %grid.wide, label %grid, label %pass",
        "grid:",
        "  %free = load i32, ptr %released",
        "  %is.free = icmp ne i32 %free, 0",
        "  br i1 %is.free, label %pass, label %wait",
        "wait:",
        f"  ret i32 {AT_GRID}",
    ]


def _take_turns(plan: LoopPlan) -> list[str]:
    """Return the code that gives each thread that waits in a loop another turn, unless the last ones were in vain."""
    calls = [
        f"  %turned.{number} = call {SUMMARY} @{run_name(number, 'some')}({CONTEXT_VALUES})"
        for number in range(plan.turns, plan.regions)
    ]
    return [
        "turns:",
        "  store i32 0, ptr %released",
        "  %turning.before = load i32, ptr %turning",
        "  %in.vain = icmp eq i32 %vain.new, %turning.before",
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
        "  br i1 %enough, label %others, label %turn.all",
        "others:",
        f"  ret i32 {MOVED}",
        "turn.all:",
        "  store i32 %turn.new, ptr %turning",
        *calls,
        "  br label %scan",
    ]


def _run(plan: LoopPlan) -> list[str]:
    """Return the code that runs the region after the barrier at which all threads are that have not ended."""
    arms, cases = [], []
    for number, kind in plan.runs:
        if 0 < number < plan.turns:
            arms.append(f"    i32 {2 * number + (kind == 'some')}, label %run.{number}.{kind}")
            call = f"call {SUMMARY} @{run_name(number, kind)}({CONTEXT_VALUES})"
            cases += [f"run.{number}.{kind}:", f"  %got.{number}.{kind} = {call}", "  br label %scan"]
    return [
        "pass:",
        "  store i32 0, ptr %released",
        "  store i32 1, ptr %moved",
        "  store i32 -1, ptr %turning",
        "  %some.ended = icmp ne i32 %ended.new, 0",
        "  %some.bit = zext i1 %some.ended to i32",
        "  %twice = shl nuw nsw i32 %high.new, 1",
        "  %choice = or disjoint i32 %twice, %some.bit",
        "  switch i32 %choice, label %never [",
        *arms,
        "  ]",
        "never:",
        "  unreachable",
        *cases,
    ]


def _search(plan: LoopPlan) -> list[str]:
    """Return the code that finds the first thread that raised, that waits at the last of several barriers, or at all.

    It fills the status with a code, the block and the thread, and returns the code.
    """
    values = ["code", *(f"ctaid.{axis}" for axis in "xyz"), *(f"tid.{axis}" for axis in "xyz")]
    lines = [
        "search.raised:",
        "  br label %search",
        "search.split:",
        "  br label %search",
        "name.turn:",
        "  br label %search",
        "name.wait:",
        "  br label %search",
        "search:",
        "  %least = phi i32 [ -2147483648, %search.raised ], [ %high.new, %search.split ], "
        f"[ {plan.turns}, %name.turn ], [ 1, %name.wait ]",
        "  %greatest = phi i32 [ -1, %search.raised ], [ %high.new, %search.split ], "
        "[ 2147483647, %name.turn ], [ 2147483647, %name.wait ]",
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
        "  %tid.x = urem i32 %s, %ntid.x",
        "  %s.row = udiv i32 %s, %ntid.x",
        "  %tid.y = urem i32 %s.row, %ntid.y",
        "  %tid.z = udiv i32 %s.row, %ntid.y",
    ]
    for index, value in enumerate(values):
        lines.append(f"  %status.{index} = getelementptr inbounds i8, ptr %status, i64 {4 * index}")
        lines.append(f"  store i32 %{value}, ptr %status.{index}, align 4")
    return [*lines, "  ret i32 %code"]
