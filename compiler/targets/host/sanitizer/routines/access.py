"""Accesses as LLVM IR: the functions that check an access to memory of any size, cell by cell.

The kernel's own code (fast) decides the common cases. These functions decide the rest, and report.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.targets.host.sanitizer.routines.race_tests import MOST_CLOCK
from gridjit.compiler.targets.host.sanitizer.routines.record import (
    ATOMIC,
    CLOCK_AT,
    GLOBAL,
    LOCAL,
    RACE,
    READ,
    SHARED,
    UNWRITTEN,
    WRITE,
)

# A look is a read of memory that nobody writes until the next barrier: it only has to have been written.
KINDS = {"read": READ, "write": WRITE, "atomic": ATOMIC, "look": READ}
# Shared memory has tables of its own; where several blocks are on their way at once, it is in pages as other memory.
SPACES = {"global": GLOBAL, "shared": SHARED, "paged": SHARED, "local": LOCAL}


# The thread's clock; the clock below which its block is ordered before it; that of other blocks, with the lanes that
# are ordered before the thread's own clock.
ORDER = "i32 %clock.short, i32 %past.short, i64 %known.lanes"


def access_name(kind: str, space: str) -> str:
    """Return the function that looks at an access of a kind to a space, "unknown" among them."""
    return f"gridjit.check.{kind}.{space}"


def access_ir(checks: Collection[str]) -> str:
    """Return the functions for all kinds of accesses, which look for races and unwritten memory if checks has these."""
    races, unwritten = "races" in checks, "uninitialized" in checks
    return "\n".join(
        [
            *(_access(kind, space, races, unwritten) for kind in KINDS for space in SPACES),
            *(_unknown(kind) for kind in KINDS),
            *(_word(space) for space in ("global", "shared", "paged", "unknown")),
        ]
    )


def given(kind: str, space: str) -> str:
    """Return the parameters of such a function."""
    parameters = ["ptr %p", "i64 %size", "i64 %site", "i64 %who", ORDER, *_more(kind)]
    dense = {"shared": ["i64 %index", "i64 %shift", "i64 %counter"], "unknown": ["ptr %shared", "i64 %shift"]}
    return ", ".join([*parameters, *dense.get(space, [])])


def _more(kind: str) -> list[str]:
    return ["i1 %same"] if kind == "write" else []


def _access(kind: str, space: str, races: bool, unwritten: bool) -> str:
    """Return the function for one kind of access: it goes through the cells of the bytes, and looks at each."""
    races = races and kind != "look"
    cells = races or space != "global"
    return "\n".join(
        [
            f"define internal void @{access_name(kind, space)}({given(kind, space)}) nounwind noinline {{",
            "entry:",
            f"  %state = load ptr, ptr @{record.STATE}",
            "  %at = ptrtoint ptr %p to i64",
            "  %clock = zext i32 %clock.short to i64",
            "  %past = zext i32 %past.short to i64",
            "  %known = and i64 %known.lanes, 4294967295",
            "  %lanes = lshr i64 %known.lanes, 32",
            f"  %clock.bits = shl i64 %clock, {CLOCK_AT}",
            "  %placed = or i64 %who, %site",
            "  %now = or i64 %placed, %clock.bits",
            f"  %late = icmp ugt i64 %clock, {MOST_CLOCK}",
            "  br i1 %late, label %done, label %begin",
            "begin:",
            *(_ranges(kind) if space == "global" and unwritten else []),
            *(_cells(kind, space, races, unwritten) if cells else ["  br label %done"]),
            "done:",
            "  ret void",
            "}",
        ]
    )


def _unknown(kind: str) -> str:
    """Return the function for memory that may be shared or not: it asks where the address is."""
    passed = ", ".join(part.replace(" %", " %") for part in given(kind, "global").split(", "))
    return "\n".join(
        [
            f"define internal void @{access_name(kind, 'unknown')}({given(kind, 'unknown')}) nounwind noinline {{",
            *_where(),
            "inside:",
            "  %index = lshr i64 %offset, %shift",
            f"  call void @{access_name(kind, 'shared')}({passed}, i64 %index, i64 %shift, i64 -1)",
            "  ret void",
            "outside:",
            f"  call void @{access_name(kind, 'global')}({passed})",
            "  ret void",
            "}",
        ]
    )


def _where() -> list[str]:
    """Return the code that asks whether %p is in the block's shared memory, and where in it."""
    return [
        f"  %state = load ptr, ptr @{record.STATE}",
        "  %at = ptrtoint ptr %p to i64",
        "  %base = ptrtoint ptr %shared to i64",
        "  %offset = sub i64 %at, %base",
        f"  %bytes.at = getelementptr i8, ptr %state, i64 {record.SHARED_BYTES}",
        "  %bytes = load i64, ptr %bytes.at",
        "  %is.shared = icmp ult i64 %offset, %bytes",
        "  br i1 %is.shared, label %inside, label %outside",
    ]


def _word(space: str) -> str:
    """Return the function that finds the cell of an atomic operation: its place, and what the last release left."""
    made = f"i64 {record.ATOMICS}, i64 {8 * record.WORDS['ATOMICS']}, i64 %at, i1 true"
    paged = [
        "  %page = call ptr @gj.page(ptr %state, i64 %at, i64 3, i64 0)",
        f"  %word = call ptr @gj.plane(ptr %state, ptr %page, {made})",
        "  ret ptr %word",
    ]
    dense = [*_table("ATOMICS"), "  ret ptr %atomics"]
    start = [f"  %state = load ptr, ptr @{record.STATE}", "  %at = ptrtoint ptr %p to i64"]
    lines = {"shared": [start[0], *dense]}.get(space, [*start, *paged])
    if space == "unknown":
        lines = [*_where(), "inside:", "  %index = lshr i64 %offset, %shift", *dense, "outside:", *paged]
    more = {"shared": ", i64 %index", "unknown": ", ptr %shared, i64 %shift"}.get(space, "")
    return "\n".join([f"define internal ptr @gj.word.{space}(ptr %p{more}) nounwind {{", *lines, "}"])


def _table(plane: str) -> list[str]:
    """Return the code that finds the place of %index in a plane of shared memory."""
    name, words = plane.lower(), record.WORDS[plane]
    offset = {"WRITES": record.SHARED_WRITES, "READS": record.SHARED_READS, "ATOMICS": record.SHARED_ATOMICS}[plane]
    return [
        f"  %{name}.table.at = getelementptr i8, ptr %state, i64 {offset}",
        f"  %{name}.table = load ptr, ptr %{name}.table.at",
        f"  %{name} = getelementptr [{words} x i64], ptr %{name}.table, i64 %index",
    ]


def _ranges(kind: str) -> list[str]:
    """Return the code that looks whether global memory was written, or notes that it is."""
    count = [
        f"  %ranges.at = getelementptr i8, ptr %state, i64 {record.RANGE_COUNT}",
        "  %ranges = load i64, ptr %ranges.at",
        "  %all.written = icmp eq i64 %ranges, 0",
        "  br i1 %all.written, label %known.written, label %ask",
        "ask:",
    ]
    mark = ["  call void @gj.now.written(ptr %state, i64 %at, i64 %size)", "  br label %known.written"]
    if kind == "write":
        return [*count, *mark, "known.written:"]
    return [
        *count,
        "  %unwritten = call i1 @gj.is.unwritten(ptr %state, i64 %at, i64 %size)",
        "  br i1 %unwritten, label %say.unwritten, label %known.written",
        "say.unwritten:",
        *_report(UNWRITTEN, "0", KINDS[kind], 0, "global"),
        *(mark if kind == "atomic" else ["  br label %known.written"]),
        "known.written:",
    ]


def _report(what: int, other: str, mine: int, its: int, space: str, at: str = "%at") -> list[str]:
    kinds = mine | its << 8 | SPACES[space] << 16
    return [f"  call void @gj.report(ptr %state, i64 {what}, i64 {at}, i64 %now, i64 {other}, i64 {kinds})"]


def _cells(kind: str, space: str, races: bool, unwritten: bool) -> list[str]:
    """Return the loop over the cells of an access."""
    body = _each_cell(kind, space) if space == "shared" else _each_paged(kind, space, unwritten)
    if unwritten and kind != "write" and space != "global":
        body += _own_unwritten(kind, space)
    if races and space != "local":
        body += _races(kind, space)
    end = ["  %i.next = add i64 %i, 1"] if space == "shared" else _step()
    if space == "shared" and kind == "write":
        body += _counted()
    return [
        *body,
        *_kept(kind, space, races),
        "  br label %passed",
        "passed:",
        *end,
        "  %a.next = add i64 %a, %step",
        "  %more = icmp ult i64 %a.next, %end",
        "  br i1 %more, label %next, label %done",
    ]


def _counted() -> list[str]:
    """Return the code that counts a cell which the block has not written before. %counter: of which array; or -1."""
    return [
        "  %again = call i1 @gj.same.block(i64 %w, i64 %now)",
        "  %uncounted = icmp slt i64 %counter, 0",
        "  %nothing = or i1 %again, %uncounted",
        "  br i1 %nothing, label %counted, label %count",
        "count:",
        f"  %left.table.at = getelementptr i8, ptr %state, i64 {record.SHARED_UNWRITTEN}",
        "  %left.table = load ptr, ptr %left.table.at",
        "  %left.at = getelementptr i64, ptr %left.table, i64 %counter",
        "  %left = load i64, ptr %left.at",
        "  %left.now = sub i64 %left, 1",
        "  store i64 %left.now, ptr %left.at",
        "  br label %counted",
        "counted:",
    ]


def _each_cell(kind: str, space: str) -> list[str]:
    """Return the beginning of a loop over places in the tables of shared memory."""
    return [
        "  %end = add i64 %at, %size",
        "  %step = shl i64 1, %shift",
        "  %i.first = add i64 %index, 0",
        "  br label %next",
        "next:",
        "  %a = phi i64 [ %at, %begin ], [ %a.next, %passed ]",
        "  %i = phi i64 [ %i.first, %begin ], [ %i.next, %passed ]",
        *(line.replace("i64 %index", "i64 %i") for plane in record.WORDS for line in _table(plane)),
        "  %w = load i64, ptr %writes",
        "  %has.atomics = icmp ne ptr %atomics, null",
        "  %has.reads = icmp ne ptr %reads, null",
    ]


def _each_paged(kind: str, space: str, unwritten: bool) -> list[str]:
    """Return the beginning of a loop over cells in pages."""
    start = "known.written" if space == "global" and unwritten else "begin"
    made = {"WRITES": True, "READS": kind == "read", "ATOMICS": kind == "atomic"}
    planes = record.WORDS if space != "local" else ["WRITES"]
    return [
        "  %end = add i64 %at, %size",
        "  %both = or i64 %at, %size",
        "  %both.some = or i64 %both, 8",
        "  %need = call i64 @llvm.cttz.i64(i64 %both.some, i1 true)",
        "  br label %next",
        "next:",
        f"  %a = phi i64 [ %at, %{start} ], [ %a.next, %passed ]",
        "  %page = call ptr @gj.page(ptr %state, i64 %a, i64 %need, i64 %site)",
        *(_plane(plane, made[plane]) for plane in planes),
        "  %w = load i64, ptr %writes",
        *(f"  %has.{plane.lower()} = icmp ne ptr %{plane.lower()}, null" for plane in planes if plane != "WRITES"),
    ]


def _plane(plane: str, made: bool) -> str:
    offset, size = getattr(record, plane), 8 * record.WORDS[plane]
    how = f"i64 {offset}, i64 {size}, i64 %a, i1 {str(made).lower()}"
    return f"  %{plane.lower()} = call ptr @gj.plane(ptr %state, ptr %page, {how})"


def _step() -> list[str]:
    return [
        "  %shift.at = getelementptr i8, ptr %page, i64 16",
        "  %shift = load i64, ptr %shift.at",
        "  %step = shl i64 1, %shift",
    ]


def _own_unwritten(kind: str, space: str) -> list[str]:
    """Return the code that looks whether this block wrote its shared memory, or this thread its local memory."""
    if space == "local":
        lines = ["  %here = icmp ne i64 %w, 0", "  br i1 %here, label %own.written, label %own.unwritten"]
    else:
        lines = [
            "  %by.block = call i1 @gj.same.block(i64 %w, i64 %now)",
            "  br i1 %by.block, label %own.written, label %or.atomic",
            "or.atomic:",
            "  br i1 %has.atomics, label %ask.atomic, label %own.unwritten",
            "ask.atomic:",
            "  %first.atomic = load i64, ptr %atomics",
            "  %by.atomic = call i1 @gj.same.block(i64 %first.atomic, i64 %now)",
            "  br i1 %by.atomic, label %own.written, label %own.unwritten",
        ]
    return [
        *lines,
        "own.unwritten:",
        *_report(UNWRITTEN, "0", KINDS[kind], 0, space, "%a"),
        "  br label %own.written",
        "own.written:",
    ]


def _races(kind: str, space: str) -> list[str]:
    """Return the code that compares an access with the accesses that its cell remembers."""
    lines = _against("w", "%w", WRITE, kind, space, unless="%same" if kind == "write" else "false")
    if kind == "write":
        lines += _against_update(space)
    if kind != "read":
        lines += _pair("reads", "r", READ, kind, space)
    if kind != "atomic":
        lines += _pair("atomics", "a", ATOMIC, kind, space)
    return lines


def _pair(plane: str, name: str, its: int, kind: str, space: str) -> list[str]:
    """Return the code that compares an access with two that one of its cell's planes remembers."""
    return [
        f"  br i1 %has.{plane}, label %compare.{plane}, label %compared.{plane}",
        f"compare.{plane}:",
        f"  %{name}1 = load i64, ptr %{plane}",
        f"  %{name}2.at = getelementptr i8, ptr %{plane}, i64 8",
        f"  %{name}2 = load i64, ptr %{name}2.at",
        *_against(f"{name}1", f"%{name}1", its, kind, space),
        *_against(f"{name}2", f"%{name}2", its, kind, space),
        f"  br label %compared.{plane}",
        f"compared.{plane}:",
    ]


def _against(name: str, old: str, its: int, kind: str, space: str, unless: str = "false") -> list[str]:
    """Return the code that reports an access that is unordered with a recorded one."""
    now = f"i64 %now, i64 %past, i64 %known, i64 %lanes, i1 {str(SPACES[space] == SHARED).lower()}"
    return [
        f"  %{name}.unordered = call i1 @gj.unordered(i64 {old}, {now})",
        f"  %{name}.counts = xor i1 {unless}, true",
        f"  %{name}.races = and i1 %{name}.unordered, %{name}.counts",
        f"  br i1 %{name}.races, label %{name}.say, label %{name}.fine",
        f"{name}.say:",
        *_report(RACE, old, KINDS[kind], its, space, "%a"),
        f"  br label %{name}.fine",
        f"{name}.fine:",
    ]


def _against_update(space: str) -> list[str]:
    """Return the code that reports a write of an unchanged value that nothing orders with an update, which reads it."""
    return [
        f"  %update.bit = and i64 %w, {record.UPDATES}",
        "  %is.update = icmp ne i64 %update.bit, 0",
        "  %w.reads = and i1 %w.unordered, %is.update",
        "  %w.read = and i1 %w.reads, %same",
        "  br i1 %w.read, label %w.say.read, label %w.told",
        "w.say.read:",
        "  %w.its.read = or i64 %w, 1",
        *_report(RACE, "%w.its.read", WRITE, READ, space, "%a"),
        "  br label %w.told",
        "w.told:",
    ]


def _kept(kind: str, space: str, races: bool) -> list[str]:
    """Return the code that makes the cell remember the access."""
    if kind in ("read", "look") and (not races or space == "local"):
        return []
    if kind != "write" and space != "local":
        where = "%reads" if kind == "read" else "%atomics"
        shared = str(SPACES[space] == SHARED).lower()
        return [f"  call void @gj.keep(ptr {where}, i64 %now, i64 %past, i64 %lanes, i1 {shared})"]
    if space == "local":
        return ["  store i64 %now, ptr %writes"]
    if not races:
        return ["  store i64 %now, ptr %writes", *_forgotten("reads"), *_forgotten("atomics")]
    # Of those that write one value, the first is remembered: it is not the last's own.
    return [
        "  %stays = and i1 %w.unordered, %same",
        "  %w.new = select i1 %stays, i64 %w, i64 %now",
        "  store i64 %w.new, ptr %writes",
        *_forgotten("reads"),
        *_forgotten("atomics"),
    ]


def _forgotten(plane: str) -> list[str]:
    """Return the code that forgets what a write comes after."""
    return [
        f"  br i1 %has.{plane}, label %forget.{plane}, label %forgotten.{plane}",
        f"forget.{plane}:",
        f"  store [2 x i64] zeroinitializer, ptr %{plane}",
        f"  br label %forgotten.{plane}",
        f"forgotten.{plane}:",
    ]
