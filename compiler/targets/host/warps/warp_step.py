"""Warp step: the function that takes a warp as far as its own lanes allow: every operation whose lanes have all come.

Lanes do an operation together if their kinds and masks are equal, wherever they wait; lanes that have ended count as
come. A lane that is not in its own mask is alone. A lane at cuda.activemask, or where its warp is in step, waits until
nothing else goes on, so that as many lanes as possible are there; those that are earliest in the kernel go first.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES
from gridjit.compiler.targets.host.emit.plan import ABSENT, MISSING, OUTSIDE, LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import SUMMARY
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.warp_operations import CLAMP, FULL, LANE, MASK
from gridjit.compiler.targets.host.warps.exchange import cell_addresses, exchange_of, kind_of, mask_of
from gridjit.compiler.targets.host.warps.lanes import LANES, run_of, warp_run_of
from gridjit.compiler.targets.host.warps.text import changed, each_lane, each_thread, function, item, status, variable
from gridjit.compiler.targets.host.warps.whole_warps import warp_waits, whole_of

# How often a warp steps before others do: one may wait for what another writes.
_TURNS = 64
# What a step returns: nothing could go on, something did, a thread raised, or the status says what went wrong.
STUCK, WENT, RAISED, WRONG = 0, 1, -100, -101


def step_of(lo: str, hi: str) -> str:
    """Return the call that takes a step with the warp of the threads from lo to hi - 1."""
    return f"call i32 @gridjit.warp.step({CONTEXT_VALUES}, i32 {lo}, i32 {hi})"


def warp_step(plan: LoopPlan) -> str:
    """Return the function `i32 step(context, i32 lo, i32 hi)` for the warp of the threads from lo to hi - 1.

    Before it returns STUCK, it notes in the status the lanes that some of the warp's wait for.
    """
    lines = [
        *cell_addresses(plan, [MASK, LANE, CLAMP]),
        *(line for name in ("alive", "sync", "active", "going", "group", "unlike") for line in variable(name, "0")),
        *variable("first", "2147483647"),
        "  %count = sub i32 %hi, %lo",
        "  %spare = sub i32 32, %count",
        "  %all = lshr i32 -1, %spare",
        *_together(plan),
        *each_lane("l", "%all", "one.by.one", "looked", _look()),
        "  %living = load i32, ptr %alive",
        "  %syncing = load i32, ptr %sync",
        "  br label %groups",
        *_groups(plan),
        *_active(),
        "run:",
        "  %bits = load i32, ptr %going",
        f"  %ran = {run_of('%lo', '%hi', '%bits')}",
        f"  %lowest = extractvalue {SUMMARY} %ran, 0",
        "  %raised = icmp slt i32 %lowest, 0",
        f"  %end = select i1 %raised, i32 {RAISED}, i32 {WENT}",
        "  ret i32 %end",
        "stuck:",
        f"  ret i32 {STUCK}",
    ]
    return function("i32", "gridjit.warp.step", [LANES], lines)


def _together(plan: LoopPlan) -> list[str]:
    """Return the code for a whole warp whose lanes wait at one place, as often as they do; others are left to the rest.

    From a place that all threads come to together, a warp takes only one step: values that all share are kept once.
    """
    numbers = warp_waits(plan)
    lack = [
        *item("%m.mask", "%cell.mask", "%m.wide"),
        "  %m.lacking = xor i32 %m.mask, -1",
        *changed("unlike", "or", "%m.lacking", "m"),
    ]
    return [
        *_alike(),
        "short:",
        "  %place = phi i32 [ %at.first, %of.warp ], [ %on.high, %more ]",
        "  %turn = phi i32 [ 0, %of.warp ], [ %turn.next, %more ]",
        "  switch i32 %place, label %leave [",
        *(f"    i32 {number}, label %place.{number}" for number in numbers),
        "  ]",
        "leave:",
        "  %idle = icmp eq i32 %turn, 0",
        f"  %leaving = select i1 %idle, i32 {STUCK}, i32 {WENT}",
        "  ret i32 %leaving",
        *(line for number in numbers for line in _place(plan, number, lack)),
        *_went(plan, numbers),
        "one.by.one:",
    ]


def _alike() -> list[str]:
    """Return the code that goes on only with a whole warp, all lanes of which wait for others of it at one place."""
    differ = [
        *item("%d.state", "%states", "%d.wide"),
        "  %d.unlike = xor i32 %d.state, %at.first",
        *changed("unlike", "or", "%d.unlike", "d"),
    ]
    return [
        "  %lo.wide = zext nneg i32 %lo to i64",
        *item("%at.first", "%states", "%lo.wide"),
        *each_thread("d", "%lo", "%hi", "entry", "compared", differ),
        "  %differs = load i32, ptr %unlike",
        "  %same = icmp eq i32 %differs, 0",
        "  %has.all = icmp eq i32 %count, 32",
        "  br i1 %same, label %alike, label %one.by.one",
        "alike:",
        *kind_of("%at.kind", "%at.first"),
        f"  %of.block = icmp slt i32 %at.kind, {warp_kinds.ACTIVE}",
        "  br i1 %of.block, label %stuck, label %of.warp",
        "of.warp:",
        "  br i1 %has.all, label %short, label %one.by.one",
    ]


def _went(plan: LoopPlan, numbers: list[int]) -> list[str]:
    """Return the code after a step of a whole warp: another one follows, if its lanes wait at one place again."""
    return [
        "on:",
        f"  %on.ran = phi {SUMMARY} {', '.join(f'[ %ran.{number}, %do.{number} ]' for number in numbers)}",
        f"  %on.loose = phi i1 {', '.join(f'[ {_flag(plan.loose[number])}, %do.{number} ]' for number in numbers)}",
        f"  %on.low = extractvalue {SUMMARY} %on.ran, 0",
        f"  %on.high = extractvalue {SUMMARY} %on.ran, 1",
        "  %on.raised = icmp slt i32 %on.low, 0",
        "  br i1 %on.raised, label %raises, label %went",
        "raises:",
        f"  ret i32 {RAISED}",
        "went:",
        "  %turn.next = add i32 %turn, 1",
        f"  %some.left = icmp ult i32 %turn.next, {_TURNS}",
        "  %on.one = icmp eq i32 %on.low, %on.high",
        "  %on.may = and i1 %some.left, %on.loose",
        "  %on.on = and i1 %on.may, %on.one",
        "  br i1 %on.on, label %more, label %leave.on",
        "leave.on:",
        f"  ret i32 {WENT}",
        "more:",
        "  br label %short",
    ]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _place(plan: LoopPlan, number: int, lack: list[str]) -> list[str]:
    """Return the code that takes a whole warp on from one place, if each of its masks is full."""
    one = plan.collectives[number]
    assert one is not None  # warp_waits() told of it
    n = f"place.{number}"
    asked = [line.replace("%m.", f"%m{number}.") for line in lack]
    checks = [
        *each_thread(f"m{number}", "%lo", "%hi", n, f"{n}.seen", asked),
        f"  %{n}.lacks = load i32, ptr %unlike",
        f"  %{n}.full = icmp eq i32 %{n}.lacks, 0",
        f"  br i1 %{n}.full, label %do.{number}, label %one.by.one",
    ]
    plain = [f"  br label %{'do.' + str(number) if one.mask == FULL else 'one.by.one'}"]
    return [
        f"{n}:",
        *(checks if one.mask is None else plain),
        f"do.{number}:",
        f"  {whole_of(plan, number, '%lo', '%hi')}",
        f"  %ran.{number} = {warp_run_of(number)}",
        "  br label %on",
    ]


def _look() -> list[str]:
    """Return the code that looks where a lane waits."""
    return [
        *item("%l.state", "%states", "%l.wide"),
        *kind_of("%l.kind", "%l.state"),
        "  %l.ended = icmp eq i32 %l.state, 0",
        "  %l.alive = select i1 %l.ended, i32 0, i32 %l.bit",
        f"  %l.syncs = icmp sge i32 %l.kind, {warp_kinds.WARP}",
        "  %l.sync = select i1 %l.syncs, i32 %l.bit, i32 0",
        f"  %l.lone = icmp sge i32 %l.kind, {warp_kinds.ACTIVE}",
        "  %l.asks = xor i1 %l.lone, %l.syncs",
        "  %l.active = select i1 %l.asks, i32 %l.bit, i32 0",
        *(line for name in ("alive", "sync", "active") for line in changed(name, "or", f"%l.{name}", f"l.{name}")),
    ]


def _groups(plan: LoopPlan) -> list[str]:
    """Return the code that goes through waiting lanes, and does the operations whose lanes have all come."""
    return [
        "groups:",
        "  %todo = phi i32 [ %syncing, %looked ], [ %todo.next, %waits ], [ %todo.next, %done ]",
        "  %some = icmp ne i32 %todo, 0",
        "  br i1 %some, label %lead, label %grouped",
        "lead:",
        "  %g.lane = call i32 @llvm.cttz.i32(i32 %todo, i1 true)",
        "  %g.bit = shl i32 1, %g.lane",
        "  %g.t = add i32 %lo, %g.lane",
        "  %g.wide = zext i32 %g.t to i64",
        *item("%g.state", "%states", "%g.wide"),
        *kind_of("%g.kind", "%g.state"),
        *mask_of("g.mask", "%g.state", "%g.wide"),
        "  %g.own = and i32 %g.mask, %g.bit",
        "  %g.inside = icmp ne i32 %g.own, 0",
        "  br i1 %g.inside, label %inside, label %outside",
        "outside:",
        *(_wrong(OUTSIDE, "%g.t", "%g.mask", "%g.kind") if plan.checked else ["  br label %inside"]),
        "inside:",
        "  %g.meant = select i1 %g.inside, i32 %g.mask, i32 %g.bit",
        "  %g.need = and i32 %g.meant, %living",
        "  %g.candidates = and i32 %g.need, %syncing",
        "  store i32 0, ptr %group",
        *each_lane("o", "%g.candidates", "inside", "gathered", _other()),
        "  %g.come = load i32, ptr %group",
        "  %g.kept = xor i32 %g.come, -1",
        "  %todo.next = and i32 %todo, %g.kept",
        "  %g.whole = icmp eq i32 %g.come, %g.need",
        "  br i1 %g.whole, label %do, label %waits",
        "waits:",
        "  %g.missing = and i32 %g.need, %g.kept",
        *status(MISSING, {0: "%g.t", 1: "%g.missing", 2: "%g.kind"}, "missing"),
        "  br label %groups",
        "do:",
        f"  %g.asked = {exchange_of('%lo', '%g.come', '%g.kind')}",
        "  %g.fine = icmp slt i32 %g.asked, 0",
        "  br i1 %g.fine, label %done, label %absent",
        "absent:",
        "  %absent.t = add i32 %lo, %g.asked",
        *_wrong(ABSENT, "%absent.t", "%g.come", "%g.kind"),
        "done:",
        *changed("going", "or", "%g.come", "gone"),
        "  br label %groups",
        "grouped:",
        "  %synced = load i32, ptr %going",
        "  %moves = icmp ne i32 %synced, 0",
        "  br i1 %moves, label %run, label %rest",
    ]


def _other() -> list[str]:
    """Return the code that adds a lane to the group if it waits for the same as the one that leads it."""
    return [
        *item("%o.state", "%states", "%o.wide"),
        *kind_of("%o.kind", "%o.state"),
        *mask_of("o.mask", "%o.state", "%o.wide"),
        "  %o.is = icmp eq i32 %o.kind, %g.kind",
        "  %o.so = icmp eq i32 %o.mask, %g.mask",
        "  %o.both = and i1 %o.is, %o.so",
        "  %o.joins = select i1 %o.both, i32 %o.bit, i32 0",
        *changed("group", "or", "%o.joins", "o"),
    ]


def _wrong(code: int, thread: str, lanes: str, kind: str) -> list[str]:
    name = f"wrong{-code}"
    return [*status(code, {0: thread, 1: lanes, 2: kind}, name), f"  ret i32 {WRONG}"]


def _active() -> list[str]:
    """Return the code that lets those lanes go that ask for the lanes that are active, at the earliest such place."""
    least = "call i32 @llvm.smin.i32(i32 %a.first, i32 %a.state)"
    return [
        "rest:",
        "  %asking = load i32, ptr %active",
        "  %none = icmp eq i32 %asking, 0",
        "  br i1 %none, label %stuck, label %choose",
        "choose:",
        *each_lane(
            "a",
            "%asking",
            "choose",
            "chosen",
            [
                *item("%a.state", "%states", "%a.wide"),
                "  %a.first = load i32, ptr %first",
                f"  %a.least = {least}",
                "  store i32 %a.least, ptr %first",
            ],
        ),
        "  %earliest = load i32, ptr %first",
        *each_lane(
            "p",
            "%asking",
            "chosen",
            "placed",
            [
                *item("%p.state", "%states", "%p.wide"),
                "  %p.here = icmp eq i32 %p.state, %earliest",
                "  %p.goes = select i1 %p.here, i32 %p.bit, i32 0",
                *changed("going", "or", "%p.goes", "p"),
            ],
        ),
        "  %present = load i32, ptr %going",
        f"  %told = {exchange_of('%lo', '%present', str(warp_kinds.ACTIVE))}",
        "  br label %run",
    ]
