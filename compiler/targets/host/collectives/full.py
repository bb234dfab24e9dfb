"""Full: the functions that do an operation for all threads of a block at once, where all wait at one place for it.

Each first makes sure that all lanes of each warp take part. Whole warps are then done with vectors of 32 lanes; the last
warp, if it is not whole, by exchange.py.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.collectives import kinds
from gridjit.compiler.targets.host.collectives.apart import answer
from gridjit.compiler.targets.host.collectives.calls import FULL, LANE, MASK, RESULT, VALUE, Collective
from gridjit.compiler.targets.host.collectives.exchange import cell_addresses, exchange_of, verdict
from gridjit.compiler.targets.host.collectives.shuffles import shuffle_warps
from gridjit.compiler.targets.host.collectives.text import (
    changed,
    each_thread,
    each_warp,
    function,
    item,
    put,
    status,
    variable,
)
from gridjit.compiler.targets.host.loops.plan import ABSENT, LoopPlan

# A meeting's answer, if the block must go on by warps; 0 if all has been done; else the status says what went wrong.
AGAIN = 1
_WRONG = -1
_VECTOR = "<32 x i32>"


def meets(plan: LoopPlan) -> list[int]:
    """Return the numbers of the regions before which there is something to do."""
    return [number for number, one in enumerate(plan.collectives) if one is not None and not _nothing(one)]


def _nothing(one: Collective) -> bool:
    return one.kind == kinds.BARRIER or (one.kind == kinds.WARP and one.mask == FULL)


def name_of(number: int) -> str:
    """Return the name of the function that does what is to be done before a region."""
    return f"gridjit.meet.{number}"


def meeting(plan: LoopPlan, number: int) -> str:
    """Return the function `i32 meet(context)` of a region."""
    one = plan.collectives[number]
    assert one is not None  # meets() told of it
    lines = _of_block(plan, one.kind) if kinds.of_block(one.kind) else _of_warps(plan, one, number)
    return function("i32", name_of(number), [], lines)


def _of_block(plan: LoopPlan, kind: int) -> list[str]:
    said = [*item("%q.value", "%cell.value", "%q.wide"), *changed("sum", "add", "%q.value", "q")]
    return [
        *cell_addresses(plan, [RESULT, VALUE]),
        *variable("sum", "0"),
        *each_thread("q", "0", "%volume", "entry", "counted", said),
        "  %yes = load i32, ptr %sum",
        *answer(str(kind), "%yes", "%volume"),
        *each_thread("u", "0", "%volume", "counted", "over", put("u.r", "%answer", "%cell.result", "%u.wide")),
        "  ret i32 0",
    ]


def _of_warps(plan: LoopPlan, one: Collective, number: int) -> list[str]:
    checks = [] if one.mask == FULL else _check(one)
    work = [] if one.kind == kinds.WARP else _work(one, number)
    return [
        *cell_addresses(plan, [RESULT, VALUE, LANE, MASK]),
        *(line for name in ("lacking", "differing") for line in variable(name, "0")),
        "  %whole = and i32 %volume, -32",
        "  %rest = and i32 %volume, 31",
        "  %some.whole = icmp ne i32 %whole, 0",
        "  %rest.spare = sub i32 32, %rest",
        "  %rest.wide = zext i32 %rest.spare to i64",
        "  %rest.long = lshr i64 4294967295, %rest.wide",
        "  %rest.bits = trunc i64 %rest.long to i32",
        "  br label %check",
        "check:",
        *checks,
        "  br label %work",
        "work:",
        *work,
        "  ret i32 0",
        *(_states(number, "by.warps", AGAIN) if checks else []),
    ]


def _check(one: Collective) -> list[str]:
    """Return the code that leaves, by the block called by.warps, if a mask has not all lanes of its warp."""
    mask = [] if one.mask is not None else item("%c.mask", "%cell.mask", "%c.wide")
    told = "%c.mask" if one.mask is None else str(one.mask)
    body = [
        *mask,
        "  %c.in.whole = icmp ult i32 %c.t, %whole",
        "  %c.need = select i1 %c.in.whole, i32 -1, i32 %rest.bits",
        f"  %c.not = xor i32 {told}, -1",
        "  %c.lacking = and i32 %c.need, %c.not",
        *changed("lacking", "or", "%c.lacking", "c"),
    ]
    return [
        *each_thread("c", "0", "%volume", "check", "checked", body),
        "  %lacks = load i32, ptr %lacking",
        "  %good = icmp eq i32 %lacks, 0",
        "  br i1 %good, label %agreed, label %by.warps",
        "agreed:",
    ]


def _work(one: Collective, number: int) -> list[str]:
    by_vectors = (
        _shuffled(one)
        if one.kind in kinds.SHUFFLES and one.clamp == (0 if one.kind == kinds.UP else 31)
        else _voted(one.kind)
        if one.kind in kinds.VOTES
        else _present()
        if one.kind == kinds.ACTIVE
        else []
    )
    if by_vectors:
        whole = [
            "  br i1 %some.whole, label %whole.warps, label %last",
            "whole.warps:",
            *by_vectors,
            "  br label %last",
            "last:",
            "  %any.rest = icmp ne i32 %rest, 0",
            "  br i1 %any.rest, label %remember, label %done",
        ]
        first = "%whole"
    else:
        whole, first = ["  br label %remember"], "0"
    return [*whole, *_states(number, "remember", None), *_slowly(one.kind, first), "done:"]


def _states(number: int, name: str, result: int | None) -> list[str]:
    """Return a block that notes where all threads wait; it goes on, or returns result."""
    body = put(f"{name}.s", str(number), "%states", f"%{name}.t.wide")
    end = [] if result is None else [f"  ret i32 {result}"]
    return [f"{name}:", *each_thread(f"{name}.t", "0", "%volume", name, f"{name}.all", body), *end]


def _slowly(kind: int, first: str) -> list[str]:
    """Return the code that does an operation warp by warp, from the warp whose first thread is given."""
    return [
        "  br label %one.warp",
        "one.warp:",
        f"  %w.lo = phi i32 [ {first}, %remember.all ], [ %w.end, %w.fine ]",
        "  %w.end = add i32 %w.lo, 32",
        "  %w.is.whole = icmp ule i32 %w.end, %volume",
        "  %w.bits = select i1 %w.is.whole, i32 -1, i32 %rest.bits",
        f"  %w.asked = {exchange_of('%w.lo', '%w.bits', str(kind))}",
        "  %w.good = icmp slt i32 %w.asked, 0",
        "  br i1 %w.good, label %w.fine, label %w.absent",
        "w.fine:",
        "  %w.more = icmp ult i32 %w.end, %volume",
        "  br i1 %w.more, label %one.warp, label %done",
        "w.absent:",
        "  %w.t = add i32 %w.lo, %w.asked",
        *status(ABSENT, {0: "%w.t", 1: "%w.bits", 2: str(kind)}, "absent"),
        f"  ret i32 {_WRONG}",
    ]


def _shuffled(one: Collective) -> list[str]:
    """Return the code of a shuffle: by one vector operation if all threads give the same lane, distance or mask."""
    if one.lane is not None:
        return shuffle_warps(one.kind, str(one.lane % 32), "whole.warps", "whole.done")
    differ = [*item("%d.lane", "%cell.lane", "%d.wide"), "  %d.unlike = xor i32 %d.lane, %lane.0", *changed("differing", "or", "%d.unlike", "d")]
    return [
        "  %lane.0 = load i32, ptr %cell.lane",
        *each_thread("d", "0", "%whole", "whole.warps", "compared", differ),
        "  %differs = load i32, ptr %differing",
        "  %like = icmp eq i32 %differs, 0",
        "  br i1 %like, label %alike, label %unlike",
        "alike:",
        "  %lane.all = and i32 %lane.0, 31",
        *shuffle_warps(one.kind, "%lane.all", "alike", "alike.done"),
        "  br label %last",
        "unlike:",
        *each_thread("g", "0", "%whole", "unlike", "gathered", _gather(one.kind)),
    ]


def _gather(kind: int) -> list[str]:
    """Return the code that fetches a thread's value from the lane that it names."""
    source = {
        kinds.SHUFFLE: ["  %g.j = add i32 %g.by, 0", "  %g.fits = icmp ult i32 %g.j, 32"],
        kinds.UP: ["  %g.j = sub i32 %g.own, %g.by", "  %g.fits = icmp sge i32 %g.j, 0"],
        kinds.DOWN: ["  %g.j = add i32 %g.own, %g.by", "  %g.fits = icmp ult i32 %g.j, 32"],
        kinds.XOR: ["  %g.j = xor i32 %g.own, %g.by", "  %g.fits = icmp ult i32 %g.j, 32"],
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
        *splat("v", "%verdict"),
    ]
    return each_warp("v", "whole.warps", "voted", body, end="%whole")


def _present() -> list[str]:
    body = ["  %a.wide = zext nneg i32 %a.lo to i64", *splat("a", "-1")]
    return each_warp("a", "whole.warps", "told.all", body, end="%whole")


def splat(name: str, value: str) -> list[str]:
    """Return the code that gives one value to a warp, whose first thread is %NAME.wide."""
    n = f"%{name}"
    return [
        f"  {n}.one = insertelement {_VECTOR} poison, i32 {value}, i64 0",
        f"  {n}.all = shufflevector {_VECTOR} {n}.one, {_VECTOR} poison, {_VECTOR} zeroinitializer",
        f"  {n}.results = getelementptr inbounds i32, ptr %cell.result, i64 {n}.wide",
        f"  store {_VECTOR} {n}.all, ptr {n}.results, align 4",
    ]
