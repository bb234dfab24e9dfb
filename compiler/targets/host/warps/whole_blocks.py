"""Whole blocks: functions that do an operation for all threads of a block at once, if all wait for it at one place.

Each first makes sure that all lanes of each warp take part. Whole warps are then done by whole_warps.py; the last warp,
if it is not whole, by exchange.py.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES
from gridjit.compiler.targets.host.emit.plan import ABSENT, LoopPlan
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.warp_operations import FULL, MASK, RESULT, VALUE, Collective
from gridjit.compiler.targets.host.warps.divergent_warps import answer
from gridjit.compiler.targets.host.warps.exchange import cell_addresses, exchange_of
from gridjit.compiler.targets.host.warps.text import changed, each_thread, function, item, put, status, variable
from gridjit.compiler.targets.host.warps.whole_warps import has_vectors, whole_of

# A meeting's answer, if the block must go on by warps; 0 if all has been done; else the status says what went wrong.
AGAIN = 1
_WRONG = -1


def meets(plan: LoopPlan) -> list[int]:
    """Return the numbers of the regions before which there is something to do."""
    return [number for number, one in enumerate(plan.collectives) if one is not None and not _nothing(one)]


def _nothing(one: Collective) -> bool:
    if one.kind == warp_kinds.WARP:
        return one.mask == FULL
    return one.kind in (warp_kinds.BARRIER, warp_kinds.GRID, warp_kinds.TURN, warp_kinds.STEP)


def meet_of(plan: LoopPlan, number: int) -> str:
    """Return the call that does the operation before a region."""
    return f"call i32 @{_name(plan.alike(number))}({CONTEXT_VALUES}, i32 {number})"


def _name(number: int) -> str:
    return f"gridjit.meet.{number}"


def meeting(plan: LoopPlan, number: int) -> str:
    """Return the function `i32 meet(context, i32 number)` of a region, and of those whose threads do the same."""
    one = plan.collectives[number]
    assert one is not None  # meets() told of it
    lines = _of_block(plan, one.kind) if warp_kinds.of_block(one.kind) else _of_warps(plan, one, number)
    return function("i32", _name(number), ["i32 %number"], lines)


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
    work = [] if one.kind == warp_kinds.WARP else _work(plan, one, number)
    return [
        *cell_addresses(plan, [MASK]),
        *variable("lacking", "0"),
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
        *(_states("by.warps", AGAIN) if checks else []),
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


def _work(plan: LoopPlan, one: Collective, number: int) -> list[str]:
    """Return the code that does it: the threads' states are known to none but the slow code."""
    slow = ["  br label %remember"]
    fast = ["  %any.rest = icmp ne i32 %rest, 0", "  br i1 %any.rest, label %remember, label %states.known"]
    return [
        *(fast if has_vectors(one) else slow),
        *_states("remember", None),
        "  br label %states.known",
        "states.known:",
        "  br i1 %some.whole, label %warps, label %last",
        "warps:",
        f"  {whole_of(plan, number, '0', '%whole')}",
        "  br label %last",
        "last:",
        "  %has.last = icmp ne i32 %rest, 0",
        "  br i1 %has.last, label %partial, label %done",
        "partial:",
        f"  %asked = {exchange_of('%whole', '%rest.bits', str(one.kind))}",
        "  %fine = icmp slt i32 %asked, 0",
        "  br i1 %fine, label %done, label %absent",
        "absent:",
        "  %absent.t = add i32 %whole, %asked",
        *status(ABSENT, {0: "%absent.t", 1: "%rest.bits", 2: str(one.kind)}, "absent"),
        f"  ret i32 {_WRONG}",
        "done:",
    ]


def _states(name: str, result: int | None) -> list[str]:
    """Return a block that notes where all threads wait; it goes on, or returns result."""
    body = put(f"{name}.s", "%number", "%states", f"%{name}.t.wide")
    end = [] if result is None else [f"  ret i32 {result}"]
    return [f"{name}:", *each_thread(f"{name}.t", "0", "%volume", name, f"{name}.all", body), *end]
