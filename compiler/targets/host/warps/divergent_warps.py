"""Divergent warps: the function that runs a block whose threads wait at several places, until all wait at one again.

Warps go on by themselves as far as they can. When none can, all threads that are left must wait for the block, those of
a warp at one place (PTX: bar.sync is aligned); then they pass. If they do not, nothing can go on, and the status says
who waits for whom.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import SUMMARY
from gridjit.compiler.targets.host.emit.reports import report_of
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.warp_operations import RESULT, VALUE
from gridjit.compiler.targets.host.warps.exchange import cell_addresses, kind_of
from gridjit.compiler.targets.host.warps.lanes import run_of
from gridjit.compiler.targets.host.warps.text import (
    RARE,
    changed,
    each_thread,
    each_warp,
    function,
    item,
    put,
    variable,
)
from gridjit.compiler.targets.host.warps.warp_step import RAISED, STUCK, step_of

# The region at which all threads wait, 0 if all have ended, RAISED, or a code that the status holds.
APART = f"call i32 @gridjit.apart({CONTEXT_VALUES})"
# What it returns beside, of kernels whose blocks wait for others: all threads that are left wait for the grid, or some
# are to take turns and the others can do nothing before.
OF_GRID, OF_TURNS = -103, -104
# What keeps threads from passing a barrier.
_WARP, _PLACES = 1, 2


def divergent_warps(plan: LoopPlan) -> str:
    """Return the function `i32 apart(context)`."""
    reduces = any(
        one is not None and one.kind in (warp_kinds.COUNT, warp_kinds.AND, warp_kinds.OR) for one in plan.collectives
    )
    lines = [
        *cell_addresses(plan, [RESULT, VALUE]),
        *(line for name in ("went", "left", "trouble", "sum", "every", "place") for line in variable(name, "0")),
        *(variable("turns", "0") if plan.resident else []),
        *variable("kind", "-1"),
        "  br label %round",
        *(_round(plan) if plan.of_warps else ["round:", "  br label %block"]),
        *_block(plan),
        *(_reduced() if reduces else ["pass:", "  br label %passing"]),
        *_pass(),
        *_agreed(plan),
    ]
    return function("i32", "gridjit.apart", [], lines, RARE)


def _round(plan: LoopPlan) -> list[str]:
    """Return the code that lets each warp take a step."""
    body = [
        f"  %step = {step_of('%r.lo', '%r.hi')}",
        "  %bad = icmp slt i32 %step, 0",
        "  br i1 %bad, label %bad.step, label %good.step",
        "good.step:",
        *changed("went", "or", "%step", "s"),
    ]
    return [
        "round:",
        "  store i32 0, ptr %went",
        *each_warp("r", "0", "%volume", "round", "stepped", body),
        "  %any.went = load i32, ptr %went",
        f"  %nobody = icmp eq i32 %any.went, {STUCK}",
        "  br i1 %nobody, label %block, label %agree",
        "bad.step:",
        f"  %is.raised = icmp eq i32 %step, {RAISED}",
        "  %told = load i32, ptr %status",
        f"  %bad.code = select i1 %is.raised, i32 {RAISED}, i32 %told",
        "  ret i32 %bad.code",
    ]


def _block(plan: LoopPlan) -> list[str]:
    """Return the code that looks whether all threads that are left may pass a barrier."""
    return [
        "block:",
        "  store i32 0, ptr %left",
        "  store i32 0, ptr %trouble",
        *(["  store i32 0, ptr %turns"] if plan.resident else []),
        "  store i32 -1, ptr %kind",
        *each_warp(
            "b",
            "0",
            "%volume",
            "block",
            "judged",
            ["  store i32 0, ptr %place", *each_thread("c", "%b.lo", "%b.hi", "b.warp", "b.seen", _judge(plan))],
        ),
        "  %alive = load i32, ptr %left",
        "  %over = icmp eq i32 %alive, 0",
        "  br i1 %over, label %end, label %see",
        "end:",
        "  ret i32 0",
        "see:",
        *(_of_others() if plan.resident else []),
        "  %wrong = load i32, ptr %trouble",
        "  switch i32 %wrong, label %waiting [",
        f"    i32 0, label %{'well' if plan.resident else 'pass'}",
        f"    i32 {_PLACES}, label %places",
        "  ]",
        *(_of_grid() if plan.resident else []),
        # A warp's last step told of it.
        "waiting:",
        "  %missing = load i32, ptr %status",
        "  ret i32 %missing",
        "places:",
        f"  %parted = {report_of('false')}",
        "  ret i32 %parted",
    ]


def _of_others() -> list[str]:
    """Return the code that leaves spinning threads to their turns."""
    return [
        "  %some.turn = load i32, ptr %turns",
        "  %turning = icmp ne i32 %some.turn, 0",
        "  br i1 %turning, label %leave, label %see.on",
        "leave:",
        f"  ret i32 {OF_TURNS}",
        "see.on:",
    ]


def _of_grid() -> list[str]:
    """Return the code that does not let threads pass a barrier of the grid."""
    return [
        "well:",
        "  %kind.of.all = load i32, ptr %kind",
        f"  %grid.wide = icmp eq i32 %kind.of.all, {warp_kinds.GRID}",
        "  br i1 %grid.wide, label %of.grid, label %pass",
        "of.grid:",
        f"  ret i32 {OF_GRID}",
    ]


def _turns() -> list[str]:
    """Return the code that notes whether a thread is to take a turn."""
    return [
        f"  %c.turns = icmp eq i32 %c.kind, {warp_kinds.TURN}",
        "  %c.turns.now = select i1 %c.ended, i1 false, i1 %c.turns",
        "  %c.turn = zext i1 %c.turns.now to i32",
        *changed("turns", "or", "%c.turn", "c.turn"),
    ]


def _judge(plan: LoopPlan) -> list[str]:
    """Return the code that looks at a thread, after others of its warp (%place) and block (%kind)."""
    return [
        *item("%c.state", "%states", "%c.wide"),
        *kind_of("%c.kind", "%c.state"),
        "  %c.ended = icmp eq i32 %c.state, 0",
        *(_turns() if plan.resident else []),
        "  %c.alive = select i1 %c.ended, i32 0, i32 1",
        *changed("left", "or", "%c.alive", "c.left"),
        "  %c.place = load i32, ptr %place",
        "  %c.first = icmp eq i32 %c.place, 0",
        "  %c.here = icmp eq i32 %c.place, %c.state",
        "  %c.place.fine = or i1 %c.first, %c.here",
        "  %c.place.new = select i1 %c.ended, i32 %c.place, i32 %c.state",
        "  store i32 %c.place.new, ptr %place",
        "  %c.known = load i32, ptr %kind",
        "  %c.only = icmp eq i32 %c.known, -1",
        "  %c.like = icmp eq i32 %c.known, %c.kind",
        "  %c.kind.fine = or i1 %c.only, %c.like",
        "  %c.kind.new = select i1 %c.ended, i32 %c.known, i32 %c.kind",
        "  store i32 %c.kind.new, ptr %kind",
        "  %c.both = and i1 %c.place.fine, %c.kind.fine",
        "  %c.fine = or i1 %c.ended, %c.both",
        f"  %c.apart = select i1 %c.fine, i32 0, i32 {_PLACES}",
        f"  %c.warps = icmp sge i32 %c.kind, {warp_kinds.ACTIVE}",
        f"  %c.stuck = select i1 %c.warps, i32 {_WARP}, i32 0",
        "  %c.bad = or i32 %c.apart, %c.stuck",
        *changed("trouble", "or", "%c.bad", "c.bad"),
    ]


def _reduced() -> list[str]:
    """Return the code that counts the votes of threads, and tells them the result."""
    counted = [
        *_living("q"),
        *item("%q.value", "%cell.value", "%q.wide"),
        "  %q.said = select i1 %q.alive, i32 %q.value, i32 0",
        "  %q.one = zext i1 %q.alive to i32",
        *changed("sum", "add", "%q.said", "q.sum"),
        *changed("every", "add", "%q.one", "q.every"),
    ]
    return [
        "pass:",
        "  store i32 0, ptr %sum",
        "  store i32 0, ptr %every",
        *each_thread("q", "0", "%volume", "pass", "counted", counted),
        "  %yes = load i32, ptr %sum",
        "  %asked = load i32, ptr %every",
        "  %what = load i32, ptr %kind",
        *answer("%what", "%yes", "%asked"),
        *each_thread("u", "0", "%volume", "counted", "u.told", put("u.r", "%answer", "%cell.result", "%u.wide")),
        "  br label %passing",
    ]


def answer(kind: str, yes: str, asked: str) -> list[str]:
    """Return the code that makes a barrier's result, as %answer, of how many threads said yes, of how many."""
    return [
        f"  %is.all = icmp eq i32 {yes}, {asked}",
        f"  %is.any = icmp ne i32 {yes}, 0",
        f"  %for.all = icmp eq i32 {kind}, {warp_kinds.AND}",
        f"  %for.count = icmp eq i32 {kind}, {warp_kinds.COUNT}",
        "  %truth = select i1 %for.all, i1 %is.all, i1 %is.any",
        "  %truth.word = zext i1 %truth to i32",
        f"  %answer = select i1 %for.count, i32 {yes}, i32 %truth.word",
    ]


def _living(name: str) -> list[str]:
    return [*item(f"%{name}.state", "%states", f"%{name}.wide"), f"  %{name}.alive = icmp ne i32 %{name}.state, 0"]


def _pass() -> list[str]:
    """Return the code that lets all threads that are left go on from their barriers."""
    gather = [
        *_living("k"),
        "  %k.lane = and i32 %k.t, 31",
        "  %k.bit = shl i32 1, %k.lane",
        "  %k.own = select i1 %k.alive, i32 %k.bit, i32 0",
        *changed("every", "or", "%k.own", "k"),
    ]
    body = [
        "  store i32 0, ptr %every",
        *each_thread("k", "%p.lo", "%p.hi", "p.warp", "p.gathered", gather),
        "  %p.bits = load i32, ptr %every",
        "  %p.none = icmp eq i32 %p.bits, 0",
        "  br i1 %p.none, label %p.next, label %p.run",
        "p.run:",
        f"  %ran = {run_of('%p.lo', '%p.hi', '%p.bits')}",
        f"  %lowest = extractvalue {SUMMARY} %ran, 0",
        "  %failed = icmp slt i32 %lowest, 0",
        "  br i1 %failed, label %raised, label %p.fine",
        "p.fine:",
    ]
    return [
        "passing:",
        *each_warp("p", "0", "%volume", "passing", "agree", body),
        "  br label %look",
        "raised:",
        f"  ret i32 {RAISED}",
    ]


def _agreed(plan: LoopPlan) -> list[str]:
    """Return the code that looks whether all threads wait at one place, and takes over uniform values."""
    renewed = [
        f"  %bank.out = getelementptr inbounds i8, ptr %bank, i64 {plan.bank_bytes}",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %bank, ptr %bank.out, i64 {plan.bank_bytes}, i1 false)",
    ]
    differ = [
        *item("%d.state", "%states", "%d.wide"),
        "  %d.unlike = xor i32 %d.state, %one",
        *changed("every", "or", "%d.unlike", "d"),
    ]
    return [
        "look:",
        *(renewed if plan.bank else []),
        "  store i32 0, ptr %every",
        "  %one = load i32, ptr %states",
        *each_thread("d", "0", "%volume", "look", "compared", differ),
        "  %unlike = load i32, ptr %every",
        "  %alike = icmp eq i32 %unlike, 0",
        "  br i1 %alike, label %together, label %round",
        "together:",
        "  ret i32 %one",
    ]
