"""Region runs: the functions that run a region, or a whole kernel without barriers, for the threads of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gridjit.compiler.targets.host.emit.block_memory import ROW
from gridjit.compiler.targets.host.emit.frame import CONTEXT, EXTENT, OUTSIDE, arguments, bank_renewal, block_loads
from gridjit.compiler.targets.host.emit.metadata import ACCESS_GROUP
from gridjit.compiler.targets.host.emit.plan import ROWS, LoopPlan
from gridjit.compiler.targets.host.emit.rows import PART, RowBody, SplitRow, SunkRow, Usual, VersionedRow
from gridjit.compiler.targets.host.emit.work_item_loops import Asked, ThreadLoops
from gridjit.compiler.targets.host.passes import guard_hoisting, iteration_bounds
from gridjit.compiler.targets.host.passes.index_set_splitting import split_name
from gridjit.compiler.targets.host.passes.loop_versioning import version_name
from gridjit.compiler.targets.host.passes.peeling import Stop
from gridjit.compiler.targets.host.passes.region_text import region_name
from gridjit.compiler.targets.host.passes.sinking import sunk_name

# A run returns its threads' lowest and highest state.
SUMMARY = "{ i32, i32 }"
START = {"low": "2147483647", "high": "-2147483648"}


def run_name(number: int) -> str:
    """Return the name of the function that runs a region for all threads of a block."""
    return f"gridjit.run.{number}.all"


def plain_block(plan: LoopPlan, loops: ThreadLoops) -> str:
    """Return the block function of a kernel without barriers and exceptions: one loop, or two with a guard."""
    loops = _of_region(plan, loops, 0)
    if plan.strided:
        threads = _turns(plan, loops)
    elif plan.bounded:
        threads = _bounded(plan, loops, [], skip=True)
    elif plan.guarded:
        threads = _guarded(plan, loops, [call(plan, 0, "true")], [call(plan, 0, "false")])
    else:
        threads = loops.loop("only", _run(plan, loops, 0, "false", []), "entry", "over")
    given = f"{CONTEXT}{EXTENT}{OUTSIDE[plan.outside]}"
    head = [f"define internal i32 @gridjit.block({given}) {plan.attributes} {{", "entry:", *block_loads(plan)]
    return "\n".join([*head, *threads, "  ret i32 0", "}", ""])


def region_run(plan: LoopPlan, loops: ThreadLoops, number: int) -> str:
    """Return the function that runs a region for all threads, or for the threads of a row or a plane."""
    loops = _of_region(plan, loops, number)
    given = CONTEXT + (f"{OUTSIDE[plan.outside]}, i1 %is.last" if plan.outside else "")
    return "\n".join(
        [
            f"define internal {SUMMARY} @{run_name(number)}({given}) {plan.attributes} {{",
            "entry:",
            *block_loads(plan),
            *summary_start(),
            *_threads(plan, loops, number),
            *bank_renewal(plan, number),
            *summary_end(convergent=plan.convergent[number], empty=plan.narrowed and bool(plan.outside)),
            "}",
            "",
        ]
    )


def _of_region(plan: LoopPlan, loops: ThreadLoops, number: int) -> ThreadLoops:
    return replace(loops, scalar=any(plan.scattered[number : number + 1]))


def _threads(plan: LoopPlan, loops: ThreadLoops, number: int) -> list[str]:
    """Return the loops of a run."""
    noted = note(convergent=plan.convergent[number])
    if plan.narrowed:
        return _narrowed(plan, loops, number, noted)
    if number == 0 and plan.bounded:
        return _bounded(plan, loops, noted, skip=False)
    if number == 0 and plan.guarded:
        fast = [call(plan, 0, "true"), *noted]
        return _guarded(plan, loops, fast, [call(plan, 0, "false", inline=False), *noted])
    return loops.loop("only", _run(plan, loops, number, "false", noted), "entry", "over")


def _run(plan: LoopPlan, loops: ThreadLoops, number: int, every: str, noted: list[str]) -> RowBody:
    """Return the code of each thread of a row; the code of peeled threads may come after it."""

    def each(asks: str = "true", rare: str = "true", at: str = "") -> list[str]:
        return [call(plan, number, every, asks=asks, rare=rare, at=at), *noted]

    stops = plan.stops[number] if plan.stops else ()
    if not stops or not any(plan.sunk[number : number + 1]):
        return _either(plan, loops, number, each, stops)
    usual = _either(plan, loops, number, partial(each, rare="false"), ())
    return SunkRow(stops=stops, usual=usual, sunk=[call(plan, number, every, name=sunk_name(number))])


# Returns a region's call for a thread, given what the thread may leave out.
_Call = Callable[..., list[str]]


def _either(plan: LoopPlan, loops: ThreadLoops, number: int, each: _Call, stops: tuple[Stop, ...]) -> Usual:
    """Return the code of each thread of a row: a region's call, or one of two calls, one of which tests no index."""
    if not any(plan.versioned[number : number + 1]):
        return _parted(plan, loops, number, each, stops)
    return VersionedRow(
        call=partial(_ask_row, plan, loops, f"i1 @{version_name(number)}"),
        body=_parted(plan, loops, number, partial(each, asks="false"), stops),
        otherwise=each(),
    )


def _parted(
    plan: LoopPlan, loops: ThreadLoops, number: int, each: _Call, stops: tuple[Stop, ...]
) -> list[str] | SplitRow:
    """Return the code of each thread of a row: in parts, with peeled threads by themselves."""
    crosses = any(plan.split[number : number + 1])
    if not stops and not crosses:
        return each()
    usual = partial(each, rare="false") if stops else each
    if not crosses:
        return SplitRow(stops=stops, usual=usual(), rare=each())
    straight = plan.straight[number] and not stops
    ends = partial(_ask_rows if straight else _ask_row, plan, loops, f"i32 @{split_name(number)}")
    return SplitRow(stops=stops, usual=usual(at=PART), rare=each(), ends=ends, straight=straight)


def _ask_row(plan: LoopPlan, loops: ThreadLoops, function: str, first: str, end: str) -> str:
    """Return the call of a function that tells something of a row from its first thread to before another."""
    return _ask(plan, function, first, end, {f"tid_{loops.inner}": first, "thread": "%row.start"})


def _ask_rows(plan: LoopPlan, loops: ThreadLoops, function: str, first: str, end: str) -> str:
    """Return the call of a function about a row, whose answer is the same for all rows."""
    anywhere = {"tid_x": "0", "tid_y": "0", "tid_z": "0", "thread": "0"}
    return _ask(plan, function, first, end, anywhere | {f"tid_{loops.inner}": first})


def _ask(plan: LoopPlan, function: str, first: str, end: str, places: dict[str, str]) -> str:
    passed = arguments(plan.parameters, "false", **places, **_turn(plan)) + _shared(plan)
    return f"call {function}(i32 {first}, i32 {end}, {passed})"


def _shared(plan: LoopPlan) -> str:
    return "".join(f", {slot.stored} %uniform.{slot.number}" for slot in plan.uniforms)


# Where a row's first and last thread are kept, behind the states.
_ROW_AT = [
    "  %rows.at = getelementptr inbounds i32, ptr %states, i64 %threads",
    "  %row.wide = zext nneg i32 %row.number to i64",
    f"  %row.at = getelementptr inbounds [{ROW} x i8], ptr %rows.at, i64 %row.wide",
    "  %row.end.at = getelementptr inbounds i8, ptr %row.at, i64 4",
]
_ROW_ENDS = [*_ROW_AT, "  %from = load i32, ptr %row.at, align 4", "  %to = load i32, ptr %row.end.at, align 4"]


def _narrowed(plan: LoopPlan, loops: ThreadLoops, number: int, noted: list[str]) -> list[str]:
    """Return the loops of a run over the threads that passed the guard; the first region's loops find them."""
    if number:
        return loops.narrowed("only", _run(plan, loops, number, "false", noted), _ROW_ENDS, "entry", "over")
    keep = (
        *_ROW_AT,
        f"  %row.last = select i1 %known, i32 %end, i32 {loops.length}",
        "  store i32 %first, ptr %row.at, align 4",
        "  store i32 %row.last, ptr %row.end.at, align 4",
    )
    return [
        *_forgotten(plan),
        *_bounded(plan, loops, noted, skip=True, keep=keep),
    ]


def _forgotten(plan: LoopPlan) -> list[str]:
    """Return the code that clears the states of the threads that are run."""
    if not plan.outside:
        return [
            "  %states.bytes = shl nuw nsw i64 %threads, 2",
            "  call void @llvm.memset.p0.i64(ptr %states, i8 0, i64 %states.bytes, i1 false)",
        ]
    number, count = ("%row.number", "%ntid.x") if plan.outside == ROWS else ("%tid.z", "%plane")
    return [
        f"  %own.first = mul nuw nsw i32 {number}, {count}",
        "  %own.first.wide = zext nneg i32 %own.first to i64",
        "  %own.states = getelementptr inbounds i32, ptr %states, i64 %own.first.wide",
        f"  %own.count = zext nneg i32 {count} to i64",
        "  %own.bytes = shl nuw nsw i64 %own.count, 2",
        "  call void @llvm.memset.p0.i64(ptr %own.states, i8 0, i64 %own.bytes, i1 false)",
    ]


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


# Notes that a thread took a turn; for rows without known bounds.
_TOOK = [
    "  %took = icmp ne i32 %state, 0",
    "  %took.before = load i8, ptr %went",
    "  %took.byte = zext i1 %took to i8",
    "  %took.now = or i8 %took.before, %took.byte",
    "  store i8 %took.now, ptr %went",
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
    plan: LoopPlan,
    loops: ThreadLoops,
    note: list[str],
    *,
    skip: bool,
    keep: tuple[str, ...] = (),
    before: str = "entry",
    after: str = "over",
) -> list[str]:
    """Return loops that find where in each row the guard holds; skip: whether other threads have nothing to do.

    keep: lines that use %first and %end, where it holds.
    """
    inside = _run(plan, loops, 0, "true", note)
    outside = [call(plan, 0, "false", inline=False), *note, *(_TOOK if plan.strided else [])]
    ask = Asked(call=_ask_bounds(plan, loops), then=(*(_WENT if plan.strided else ()), *keep), skip=skip)
    return loops.bounded("threads", ask, inside, outside, before, after)


def _turn(plan: LoopPlan) -> dict[str, str]:
    return {"turn": "%turn"} if plan.strided else {}


def _ask_bounds(plan: LoopPlan, loops: ThreadLoops) -> str:
    """Return the call that finds where in a row the guard holds."""
    places = {f"tid_{loops.inner}": "0", "thread": "%row.start", **_turn(plan)}
    passed = arguments(plan.parameters, "false", **places)
    return f"call {iteration_bounds.RESULT} @{iteration_bounds.NAME}(i32 {loops.length}, i32 {loops.step}, {passed})"


def _guarded(plan: LoopPlan, loops: ThreadLoops, fast: list[str], slow: list[str]) -> list[str]:
    """Return loops that evaluate the guard for all threads, and then run either fast or slow for all of them."""
    return [
        "  %holds = alloca i8",
        "  store i8 1, ptr %holds",
        *loops.loop("guard", _ask_guard(plan), "entry", "asked"),
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


def _ask_guard(plan: LoopPlan) -> list[str]:
    return [
        f"  %passes = call i1 @{guard_hoisting.NAME}({arguments(plan.parameters, 'false')})",
        "  %so.far = load i8, ptr %holds",
        "  %passes.byte = zext i1 %passes to i8",
        "  %still = and i8 %so.far, %passes.byte",
        "  store i8 %still, ptr %holds",
    ]


def call(
    plan: LoopPlan,
    number: int,
    every: str,
    *,
    inline: bool = True,
    asks: str = "true",
    rare: str = "true",
    at: str = "",
    apart: str = "%apart",
    name: str = "",
) -> str:
    """Return the call of a region; one that is not inlined keeps a rarely used loop small.

    at: the thread for which conditions are evaluated; the thread itself if it is not given. apart: what keeps the
    thread's divisions its own. name: the function's, if it is not the region's own.
    """
    how = "alwaysinline" if inline else "noinline"
    at = at or f"%tid.{plan.inner}"
    apart = apart if plan.divided else "0"
    passed = arguments(plan.parameters, every, asks=asks, rare=rare, at=at, apart=apart, **_turn(plan)) + _shared(plan)
    return f"  %state = call i32 @{name or region_name(number)}({passed}) {how}"


def note(*, convergent: bool = False) -> list[str]:
    """Return the code that stores a thread's state and counts it; of convergent threads, the last state counts."""
    if convergent:
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
    ]


def summary_start() -> list[str]:
    """Return the code that makes room for a summary."""
    return [
        *(f"  %{word} = alloca i32" for word in START),
        *(f"  store i32 {value}, ptr %{word}" for word, value in START.items()),
    ]


def summary_end(*, convergent: bool = False, empty: bool = False) -> list[str]:
    """Return the code that returns the summary; of convergent threads, all states are the last one's.

    empty: whether it may be that no thread was run.
    """
    none = f"  %none = icmp eq i32 %last.low, {START['low']}"
    high = f"  %last.high = select i1 %none, i32 {START['high']}, i32 %last.low"
    one = ["  %last.low = load i32, ptr %low", *([none, high] if empty else ["  %last.high = add i32 %last.low, 0"])]
    return [
        *(one if convergent else (f"  %last.{word} = load i32, ptr %{word}" for word in START)),
        f"  %r0 = insertvalue {SUMMARY} poison, i32 %last.low, 0",
        f"  %r1 = insertvalue {SUMMARY} %r0, i32 %last.high, 1",
        f"  ret {SUMMARY} %r1",
    ]
