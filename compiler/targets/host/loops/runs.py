"""Region runs: the functions that run a region, or a whole kernel without barriers, for the threads of a block."""

from __future__ import annotations

from gridjit.compiler.targets.host.loops.frame import CONTEXT, EXTENT, arguments, bank_renewal, block_loads
from gridjit.compiler.targets.host.loops.metadata import ACCESS_GROUP
from gridjit.compiler.targets.host.loops.plan import LoopPlan
from gridjit.compiler.targets.host.loops.threads import Asked, ThreadLoops
from gridjit.compiler.targets.host.regions import bounds, guard
from gridjit.compiler.targets.host.regions.write import region_name

# A run returns its threads' lowest and highest state, and one less than the lowest that is not 0.
SUMMARY = "{ i32, i32, i32 }"
_START = {"low": "2147483647", "high": "-2147483648", "least": "-1"}


def run_name(number: int, kind: str) -> str:
    """Return the name of the function that runs a region for "all" threads or for "some"."""
    return f"gridjit.run.{number}.{kind}"


def plain_block(plan: LoopPlan, loops: ThreadLoops) -> str:
    """Return the block function of a kernel without barriers and exceptions: one loop, or two with a guard."""
    if plan.turns:
        threads = _turns(plan, loops)
    elif plan.bounded:
        threads = _bounded(plan, loops, [], skip=True)
    elif plan.guarded:
        threads = _guarded(plan, loops, [_call(plan, 0, "true")], [_call(plan, 0, "false")])
    else:
        threads = loops.loop("only", [_call(plan, 0, "false")], "entry", "over")
    head = [f"define internal i32 @gridjit.block({CONTEXT}{EXTENT}) {plan.apart} {{", "entry:", *block_loads(plan)]
    return "\n".join([*head, *threads, "  ret i32 0", "}", ""])


def region_run(plan: LoopPlan, loops: ThreadLoops, number: int, kind: str) -> str:
    """Return the function that runs a region for all threads, or for those that wait at its barrier."""
    return "\n".join(
        [
            f"define internal {SUMMARY} @{run_name(number, kind)}({CONTEXT}) {plan.apart} {{",
            "entry:",
            *block_loads(plan),
            *(f"  %{word} = alloca i32" for word in _START),
            *(f"  store i32 {value}, ptr %{word}" for word, value in _START.items()),
            *_threads(plan, loops, number, kind),
            *bank_renewal(plan, number),
            *_summary(settled=_settled(plan, number, kind)),
            "}",
            "",
        ]
    )


def _threads(plan: LoopPlan, loops: ThreadLoops, number: int, kind: str) -> list[str]:
    """Return the loops of a run."""
    if kind == "some":
        return loops.loop("some", _if_waiting(plan, number), "entry", "over", vectorize=False)
    note = _note(settled=_settled(plan, number, kind))
    if number == 0 and plan.bounded:
        return _bounded(plan, loops, note, skip=False)
    if number == 0 and plan.guarded:
        fast = [_call(plan, 0, "true"), *note]
        return _guarded(plan, loops, fast, [_call(plan, 0, "false", inline=False), *note])
    return loops.loop("only", [_call(plan, number, "false"), *note], "entry", "over")


def _settled(plan: LoopPlan, number: int, kind: str) -> bool:
    """Return whether one thread's state is that of all threads of the block."""
    return kind == "all" and plan.settled[number]


def _turns(plan: LoopPlan, loops: ThreadLoops) -> list[str]:
    """Return loops that run turn after turn, until a turn has no threads."""
    return [
        "  %went = alloca i8",
        "  br label %turns",
        "turns:",
        "  %turn = phi i64 [ 0, %entry ], [ %turn.next, %turned ]",
        "  store i8 0, ptr %went",
        *_bounded(plan, loops, [], skip=True, before="turns", after="turned"),
        "  %turn.next = add nuw nsw i64 %turn, 1",
        "  %went.on = load i8, ptr %went",
        "  %goes.on = trunc i8 %went.on to i1",
        "  br i1 %goes.on, label %turns, label %over",
        "over:",
    ]


# Notes that a turn has threads.
_WENT = [
    "  %goes = icmp ult i32 %first, %end",
    "  %went.before = load i8, ptr %went",
    "  %goes.byte = zext i1 %goes to i8",
    "  %went.now = or i8 %went.before, %goes.byte",
    "  store i8 %went.now, ptr %went",
]


def _bounded(
    plan: LoopPlan, loops: ThreadLoops, note: list[str], *, skip: bool, before: str = "entry", after: str = "over"
) -> list[str]:
    """Return loops that find where in each row the guard holds; skip: whether other threads have nothing to do."""
    inside = [_call(plan, 0, "true"), *note]
    outside = [_call(plan, 0, "false", inline=False), *note]
    ask = Asked(call=_ask_bounds(plan, loops), then=tuple(_WENT if plan.turns else ()), skip=skip)
    return loops.bounded("threads", ask, inside, outside, before, after)


def _turn(plan: LoopPlan) -> dict[str, str]:
    return {"turn": "%turn"} if plan.turns else {}


def _ask_bounds(plan: LoopPlan, loops: ThreadLoops) -> str:
    """Return the call that finds where in a row the guard holds."""
    places = {f"tid_{loops.inner}": "0", "thread": "%row.start", **_turn(plan)}
    passed = arguments(plan.parameters, "false", **places)
    return f"call {bounds.RESULT} @{bounds.NAME}(i32 {loops.length}, i32 {loops.step}, {passed})"


def _guarded(plan: LoopPlan, loops: ThreadLoops, fast: list[str], slow: list[str]) -> list[str]:
    """Return loops that evaluate the guard for all threads, and then run either fast or slow for all of them."""
    return [
        "  %holds = alloca i8",
        "  store i8 1, ptr %holds",
        *loops.loop("guard", _ask(plan), "entry", "asked"),
        "  %answer = load i8, ptr %holds",
        "  %every = trunc i8 %answer to i1",
        "  br i1 %every, label %full, label %part",
        "full:",
        *loops.loop("fast", fast, "full", "end"),
        "  br label %over",
        "part:",
        *loops.loop("slow", slow, "part", "rest"),
        "  br label %over",
        "over:",
    ]


def _ask(plan: LoopPlan) -> list[str]:
    return [
        f"  %passes = call i1 @{guard.NAME}({arguments(plan.parameters, 'false')})",
        "  %so.far = load i8, ptr %holds",
        "  %passes.byte = zext i1 %passes to i8",
        "  %still = and i8 %so.far, %passes.byte",
        "  store i8 %still, ptr %holds",
    ]


def _call(plan: LoopPlan, number: int, every: str, *, inline: bool = True) -> str:
    """Return the call of a region; one that is not inlined keeps a rarely used loop small."""
    how = "alwaysinline" if inline else "noinline"
    own = "".join(f", {slot.stored} %uniform.{slot.number}" for slot in plan.uniforms)
    return f"  %state = call i32 @{region_name(number)}({arguments(plan.parameters, every, **_turn(plan))}{own}) {how}"


def _if_waiting(plan: LoopPlan, number: int) -> list[str]:
    """Return the code that runs a region for a thread if it waits at the region's barrier."""
    return [
        "  %old.at = getelementptr inbounds i32, ptr %states, i64 %t.wide",
        "  %old = load i32, ptr %old.at, align 4",
        f"  %waits = icmp eq i32 %old, {number}",
        "  br i1 %waits, label %go, label %noted",
        "go:",
        _call(plan, number, "false", inline=False),
        *_note(),
        "  br label %noted",
        "noted:",
    ]


def _note(*, settled: bool = False) -> list[str]:
    """Return the code that stores a thread's state and counts it into the summary; of settled ones, the last counts."""
    if settled:
        return ["  store i32 %state, ptr %low"]
    return [
        "  %state.at = getelementptr inbounds i32, ptr %states, i64 %t.wide",
        f"  store i32 %state, ptr %state.at, align 4, {ACCESS_GROUP}",
        "  %low.old = load i32, ptr %low",
        "  %low.new = call i32 @llvm.smin.i32(i32 %low.old, i32 %state)",
        "  store i32 %low.new, ptr %low",
        "  %high.old = load i32, ptr %high",
        "  %high.new = call i32 @llvm.smax.i32(i32 %high.old, i32 %state)",
        "  store i32 %high.new, ptr %high",
        "  %state.less = sub i32 %state, 1",
        "  %least.old = load i32, ptr %least",
        "  %least.new = call i32 @llvm.umin.i32(i32 %least.old, i32 %state.less)",
        "  store i32 %least.new, ptr %least",
    ]


def _summary(*, settled: bool) -> list[str]:
    one = [
        "  %last.low = load i32, ptr %low",
        "  %last.high = add i32 %last.low, 0",
        "  %last.least = sub i32 %last.low, 1",
    ]
    return [
        *(one if settled else (f"  %last.{word} = load i32, ptr %{word}" for word in _START)),
        f"  %r0 = insertvalue {SUMMARY} poison, i32 %last.low, 0",
        f"  %r1 = insertvalue {SUMMARY} %r0, i32 %last.high, 1",
        f"  %r2 = insertvalue {SUMMARY} %r1, i32 %last.least, 2",
        f"  ret {SUMMARY} %r2",
    ]
