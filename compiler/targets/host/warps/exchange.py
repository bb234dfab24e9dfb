"""Exchange: the function that does one operation for some lanes of a warp, whatever their masks and places.

It is right for any lanes, and slow; whole_warps.py does it for whole warps that all do the same. A lane that takes no
part is not read from: one that asks for its value, which CUDA leaves undefined, gets its own, or with checks is named
as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.emit.frame import CONTEXT_VALUES
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.warp_operations import CLAMP, FULL, LANE, MASK, RESULT, VALUE, Collective
from gridjit.compiler.targets.host.warps.text import RARE, changed, each_lane, function, item, put, variable

_NONE = -1
# Which of an operation's operands are in the cells.
_OWN_MASK, _OWN_LANE, _OWN_CLAMP = 1, 2, 4


def tables(plan: LoopPlan) -> str:
    """Return tables of the operation at which a thread with each state waits: its kind, and its constants."""
    known = [one or Collective(kind=_NONE) for one in plan.collectives]
    columns = {
        "kind": [one.kind for one in known],
        "mask": [_signed(FULL if one.mask is None else one.mask) for one in known],
        "lane": [_signed(one.lane or 0) for one in known],
        "clamp": [_signed(one.clamp or 0) for one in known],
        "own": [_own(one) for one in known],
    }
    return "".join(
        f"@gridjit.wait.{name} = private unnamed_addr constant [{len(known)} x i32] "
        f"[{', '.join(f'i32 {value}' for value in values)}]\n"
        for name, values in columns.items()
    )


def _own(one: Collective) -> int:
    constants = (one.mask, _OWN_MASK), (one.lane, _OWN_LANE), (one.clamp, _OWN_CLAMP)
    return sum(bit for value, bit in constants if value is None)


def _signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


def cell_addresses(plan: LoopPlan, names: Sequence[str]) -> list[str]:
    """Return the code that finds the arrays of threads' cells, as %cell.NAME; of none, any memory that can be read."""
    lines = []
    for name in names:
        short = name.rpartition(".")[2]
        if name in plan.cells:
            lines.append(f"  %cell.{short}.offset = mul i64 %threads, {plan.cells[name]}")
            lines.append(f"  %cell.{short} = getelementptr inbounds i8, ptr %slab, i64 %cell.{short}.offset")
        else:
            lines.append(f"  %cell.{short} = getelementptr inbounds i8, ptr %states, i64 0")
    return lines


def kind_of(result: str, state: str) -> list[str]:
    """Return the code that finds the kind of the operation that a thread waits for."""
    return _entry(result, "kind", state)


def mask_of(name: str, state: str, wide: str) -> list[str]:
    """Return the code that finds a thread's mask, as %NAME."""
    return _operand(name, "mask", _OWN_MASK, state, wide)


def exchange(plan: LoopPlan) -> str:
    """Return the function, which returns -1, or with checks a lane that asked one that takes no part.

    i32 exchange(context, i32 lo, i32 bits, i32 kind): bits are the lanes of the warp that begins with thread lo. Their
    states say where they wait.
    """
    used = sorted({one.kind for one in plan.collectives if one and one.kind not in (warp_kinds.STEP, warp_kinds.WARP)})
    groups = (
        ("shuffle", warp_kinds.SHUFFLES, _shuffle(plan)),
        ("vote", warp_kinds.VOTES, _vote()),
        ("any", range(warp_kinds.MATCH_ANY, warp_kinds.MATCH_ALL), _match_any()),
        ("all", range(warp_kinds.MATCH_ALL, warp_kinds.MATCH_ALL_64 + 1), _match_all()),
        ("active", range(warp_kinds.ACTIVE, warp_kinds.STEP), _every("active", "%bits")),
    )
    if unknown := [
        kind for kind in used if not warp_kinds.of_block(kind) and not any(kind in group for _, group, _ in groups)
    ]:
        raise ValueError(f"warps/exchange.py has no code for {warp_kinds.WORDS[unknown[0]]}")
    wanted = [(name, code, [kind for kind in used if kind in group]) for name, group, code in groups]
    wanted = [(name, code, own) for name, code, own in wanted if own]
    lines = [
        *cell_addresses(plan, [RESULT, VALUE, LANE, MASK, CLAMP]),
        *variable("asked", str(_NONE)),
        *(line for name in ("voted", "alike", "equal") for line in variable(name, "0")),
        "  switch i32 %kind, label %done [",
        *(f"    i32 {kind}, label %{name}" for name, _, own in wanted for kind in own),
        "  ]",
        *(line for _, code, _ in wanted for line in code),
        "done:",
        "  %answer = load i32, ptr %asked",
        "  ret i32 %answer",
    ]
    return function("i32", "gridjit.exchange", ["i32 %lo", "i32 %bits", "i32 %kind"], lines, RARE)


def exchange_of(lo: str, bits: str, kind: str) -> str:
    """Return the call that does an operation of a kind for some lanes of the warp that begins with thread lo."""
    return f"call i32 @gridjit.exchange({CONTEXT_VALUES}, i32 {lo}, i32 {bits}, i32 {kind})"


def _entry(result: str, table: str, state: str) -> list[str]:
    wide = f"{result}.index"
    return [f"  {wide} = zext i32 {state} to i64", *item(result, f"@gridjit.wait.{table}", wide)]


def _operand(name: str, table: str, own: int, state: str, wide: str) -> list[str]:
    """Return the code that finds an operand of a thread, which is its own or a constant, as %NAME."""
    return [
        *_entry(f"%{name}.own", "own", state),
        f"  %{name}.flag = and i32 %{name}.own, {own}",
        f"  %{name}.constant = icmp eq i32 %{name}.flag, 0",
        *_entry(f"%{name}.known", table, state),
        *item(f"%{name}.cell", f"%cell.{table}", wide),
        f"  %{name} = select i1 %{name}.constant, i32 %{name}.known, i32 %{name}.cell",
    ]


def _shuffle(plan: LoopPlan) -> list[str]:
    """Return a shuffle of all four modes, as the PTX documentation of shfl.sync defines it."""
    body = [
        *item("%s.state", "%states", "%s.wide"),
        *_operand("s.b", "lane", _OWN_LANE, "%s.state", "%s.wide"),
        *_operand("s.c", "clamp", _OWN_CLAMP, "%s.state", "%s.wide"),
        "  %s.by = and i32 %s.b, 31",
        "  %s.end = and i32 %s.c, 31",
        "  %s.shifted = lshr i32 %s.c, 8",
        "  %s.segment = and i32 %s.shifted, 31",
        "  %s.inner = xor i32 %s.segment, 31",
        "  %s.low = and i32 %s.lane, %s.segment",
        "  %s.top = and i32 %s.end, %s.inner",
        "  %s.bound = or i32 %s.low, %s.top",
        "  %s.offset = and i32 %s.by, %s.inner",
        "  %s.j.idx = or i32 %s.low, %s.offset",
        "  %s.j.up = sub i32 %s.lane, %s.by",
        "  %s.j.down = add i32 %s.lane, %s.by",
        "  %s.j.xor = xor i32 %s.lane, %s.by",
        f"  %s.is.up = icmp eq i32 %kind, {warp_kinds.UP}",
        f"  %s.is.down = icmp eq i32 %kind, {warp_kinds.DOWN}",
        f"  %s.is.xor = icmp eq i32 %kind, {warp_kinds.XOR}",
        "  %s.j.1 = select i1 %s.is.up, i32 %s.j.up, i32 %s.j.idx",
        "  %s.j.2 = select i1 %s.is.down, i32 %s.j.down, i32 %s.j.1",
        "  %s.j.3 = select i1 %s.is.xor, i32 %s.j.xor, i32 %s.j.2",
        "  %s.not.under = icmp sge i32 %s.j.3, %s.bound",
        "  %s.not.over = icmp sle i32 %s.j.3, %s.bound",
        "  %s.fits = select i1 %s.is.up, i1 %s.not.under, i1 %s.not.over",
        "  %s.j = select i1 %s.fits, i32 %s.j.3, i32 %s.lane",
        "  %s.there = lshr i32 %bits, %s.j",
        "  %s.there.1 = trunc i32 %s.there to i1",
        "  %s.from = select i1 %s.there.1, i32 %s.j, i32 %s.lane",
        "  %s.from.t = add i32 %lo, %s.from",
        "  %s.from.wide = zext i32 %s.from.t to i64",
        *item("%s.value", "%cell.value", "%s.from.wide"),
        *put("s.result", "%s.value", "%cell.result", "%s.wide"),
    ]
    if plan.checked:
        body += [
            "  %s.before = load i32, ptr %asked",
            "  %s.bad = select i1 %s.there.1, i32 %s.before, i32 %s.lane",
            "  store i32 %s.bad, ptr %asked",
        ]
    return ["shuffle:", *each_lane("s", "%bits", "shuffle", "shuffled", body), "  br label %done"]


def _vote() -> list[str]:
    body = [
        *item("%v.value", "%cell.value", "%v.wide"),
        "  %v.no = icmp eq i32 %v.value, 0",
        "  %v.yes = select i1 %v.no, i32 0, i32 %v.bit",
        *changed("voted", "or", "%v.yes", "v"),
    ]
    return [
        "vote:",
        *each_lane("v", "%bits", "vote", "counted", body),
        "  %votes = load i32, ptr %voted",
        *verdict("%kind", "%votes", "%bits"),
        "  br label %tell",
        *_every("tell", "%verdict"),
    ]


def verdict(kind: str, votes: str, bits: str) -> list[str]:
    """Return the code that makes a vote's result, as %verdict, of the lanes that said yes and the lanes that voted."""
    return [
        f"  %v.is.all = icmp eq i32 {votes}, {bits}",
        f"  %v.is.none = icmp eq i32 {votes}, 0",
        "  %v.is.any = xor i1 %v.is.none, true",
        "  %v.is.equal = or i1 %v.is.all, %v.is.none",
        f"  %v.for.all = icmp eq i32 {kind}, {warp_kinds.ALL}",
        f"  %v.for.any = icmp eq i32 {kind}, {warp_kinds.ANY}",
        f"  %v.for.ballot = icmp eq i32 {kind}, {warp_kinds.BALLOT}",
        "  %v.1 = select i1 %v.for.any, i1 %v.is.any, i1 %v.is.equal",
        "  %v.2 = select i1 %v.for.all, i1 %v.is.all, i1 %v.1",
        "  %v.truth = zext i1 %v.2 to i32",
        f"  %verdict = select i1 %v.for.ballot, i32 {votes}, i32 %v.truth",
    ]


def _every(name: str, value: str) -> list[str]:
    """Return the code, from the block called name on, that gives each lane one value."""
    n = f"{name}.e"
    told = put(f"{n}.r", value, "%cell.result", f"%{n}.wide")
    return [f"{name}:", *each_lane(n, "%bits", name, f"{name}.told", told), "  br label %done"]


def _match_any() -> list[str]:
    inner = each_lane("w", "%bits", "m.do", "m.found", [*_equal("w", "m"), *changed("alike", "or", "%w.alike", "w")])
    body = [
        *_words("m"),
        "  store i32 0, ptr %alike",
        *inner,
        "  %m.alike = load i32, ptr %alike",
        *put("m.r", "%m.alike", "%cell.result", "%m.wide"),
    ]
    return ["any:", *each_lane("m", "%bits", "any", "matched", body), "  br label %done"]


def _words(name: str) -> list[str]:
    """Return the loads of a lane's value, of 32 or 64 bits."""
    n = f"%{name}"
    return [*item(f"{n}.word", "%cell.value", f"{n}.wide"), *item(f"{n}.high", "%cell.lane", f"{n}.wide")]


def _equal(name: str, other: str) -> list[str]:
    """Return the code that sets %NAME.alike to the lane's bit if its value is that of another lane, and else to 0."""
    n, o = f"%{name}", f"%{other}"
    return [
        *_words(name),
        f"  {n}.low.same = icmp eq i32 {n}.word, {o}.word",
        f"  {n}.high.same = icmp eq i32 {n}.high, {o}.high",
        f"  {n}.short.1 = icmp eq i32 %kind, {warp_kinds.MATCH_ANY}",
        f"  {n}.short.2 = icmp eq i32 %kind, {warp_kinds.MATCH_ALL}",
        f"  {n}.short = or i1 {n}.short.1, {n}.short.2",
        f"  {n}.rest.same = or i1 {n}.short, {n}.high.same",
        f"  {n}.same = and i1 {n}.low.same, {n}.rest.same",
        f"  {n}.alike = select i1 {n}.same, i32 {n}.bit, i32 0",
    ]


def _match_all() -> list[str]:
    return [
        "all:",
        "  %f.lane = call i32 @llvm.cttz.i32(i32 %bits, i1 true)",
        "  %f.t = add i32 %lo, %f.lane",
        "  %f.wide = zext i32 %f.t to i64",
        *_words("f"),
        *each_lane("a", "%bits", "all", "compared", [*_equal("a", "f"), *changed("equal", "or", "%a.alike", "a")]),
        "  %equals = load i32, ptr %equal",
        "  %is.all = icmp eq i32 %equals, %bits",
        "  %agreed = select i1 %is.all, i32 %bits, i32 0",
        "  br label %agree",
        *_every("agree", "%agreed"),
    ]
