"""fast_shared: the fast paths of shared memory, whose records lie in tables beside the block's."""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.targets.host.sanitizer.routines.access import ORDER, access_name
from gridjit.compiler.targets.host.sanitizer.routines.fast_code import (
    INVARIANT,
    all_fine,
    fast_name,
    free,
    function,
    is_fine,
    loaded,
    now,
    parameters,
    same,
    slow_path,
)
from gridjit.compiler.targets.host.sanitizer.routines.race_tests import BLOCK, FARTHER, WHEN
from gridjit.compiler.targets.host.sanitizer.routines.record import BLOCK_AT

SHARED_KINDS = ("read", "write", "atomic", "look", "update")
# Looks at a read of an array that the block has not written all of. It is a call, so that a loop that reads what is
# written stays so small that LLVM makes one of it that asks no more.
_ASK = "gridjit.check.ask"
_HARMLESS = "willreturn nofree nosync memory(read, inaccessiblemem: readwrite)"
# What it writes, the kernel's own code does not see; that LLVM does not see either what writes keeps it from thinking
# that nothing is written, and leaving it out.
ASKS = f"""
@gridjit.look = global ptr @{access_name("look", "shared")}
define internal void @{_ASK}(ptr %p, i64 %size, i64 %site, i64 %who, {ORDER}, i64 %index,
  i64 %shift, ptr %writes) nounwind noinline {_HARMLESS} {{
  %w = load i64, ptr %writes
  %block.bits = and i64 %who, {BLOCK}
  %block.first = add i64 %block.bits, 1
  %age = sub i64 %w, %block.first
  %by.block = icmp ult i64 %age, {(1 << BLOCK_AT) - 1}
  br i1 %by.block, label %done, label %slow
done:
  ret void
slow:
  %look = load ptr, ptr @gridjit.look
  call void %look(ptr %p, i64 %size, i64 %site, i64 %who, {ORDER},
    i64 %index, i64 %shift, i64 -1)
  ret void
}}
"""


def shared_path(kind: str, size: int, races: bool, unwritten: bool) -> str:
    """Return the fast path of shared memory. start, shift: where its array begins, and how large its cells are."""
    body = _LOOKS[kind](unwritten) if races and kind != "look" else _look(kind, size, unwritten)
    lines = [
        f"  %state = load ptr, ptr @{record.STATE}, {INVARIANT}",
        "  %at = ptrtoint ptr %p to i64",
        "  %base = ptrtoint ptr %shared to i64",
        "  %offset = sub i64 %at, %base",
        "  %inside = sub i64 %offset, %start",
        "  %cells = lshr i64 %inside, %shift",
        "  %index = add i64 %cells, %start",
        "  %counter = select i1 %counted, i64 %start, i64 -1",
        *now(),
        *_plane("unwritten", record.SHARED_UNWRITTEN, 1),
        *_plane("writes", record.SHARED_WRITES, 1),
        "  %left.at = getelementptr i64, ptr %unwritten.table, i64 %start",
        *(_whole() if kind == "look" and unwritten else []),
        "  %w = load i64, ptr %writes",
        *body,
        "done:",
        "  ret void",
        "slow:",
        *slow_path(kind, "shared", size, ", i64 %index, i64 %shift, i64 %counter"),
    ]
    more = "ptr %shared, i64 %start, i64 %shift, i1 %atomic, i1 %counted"
    return function(fast_name(kind, "shared", size), parameters(kind, size, more), lines)


def _whole() -> list[str]:
    """Return the code that asks whether the block has written all of an array."""
    return [
        "  %left = load i64, ptr %left.at",
        "  %none.left = icmp eq i64 %left, 0",
        "  %whole = and i1 %none.left, %counted",
        "  br i1 %whole, label %done, label %ask",
        "ask:",
    ]


def _counted() -> list[str]:
    """Return the code that counts a cell which the block has not written before."""
    return [
        "  br i1 %counted, label %count, label %keep",
        "count:",
        "  %fresh = icmp ule i64 %w, %block.bits",
        "  %one = zext i1 %fresh to i64",
        "  %left = load i64, ptr %left.at",
        "  %left.now = sub i64 %left, %one",
        "  store i64 %left.now, ptr %left.at",
        "  br label %keep",
    ]


def _plane(name: str, offset: int, words: int) -> list[str]:
    return [
        f"  %{name}.table.at = getelementptr i8, ptr %state, i64 {offset}",
        f"  %{name}.table = load ptr, ptr %{name}.table.at, {INVARIANT}",
        f"  %{name} = getelementptr [{words} x i64], ptr %{name}.table, i64 %index",
    ]


def _reads() -> list[str]:
    return [*_plane("reads", record.SHARED_READS, 2), *loaded("reads", ("r1", "r2"))]


def _without_atomics(then: str) -> list[str]:
    """Return the code that goes on where no atomic access is remembered that is not ordered before now."""
    return [
        *_plane("atomics", record.SHARED_ATOMICS, 3),
        f"  br i1 %atomic, label %look.atomics, label %{then}",
        "look.atomics:",
        *loaded("atomics", ("a1", "a2")),
        *_ordered("a1"),
        *_ordered("a2"),
        *is_fine("a1"),
        *is_fine("a2"),
        *all_fine(("a1", "a2"), then, "slow"),
    ]


def _ordered(name: str) -> list[str]:
    """Return the code that asks whether a record in shared memory is ordered before now, or there is none."""
    # No record has the number of the epoch itself, but 0 is it in a grid's beginning.
    return [f"  %{name}.before = icmp ule i64 %{name}, %epoch"]


def _written(name: str) -> list[str]:
    """Return the code that asks whether a write is there, of this block, and ordered before now."""
    return [
        "  %block.first = add i64 %block.bits, 1",
        f"  %{name}.age = sub i64 %{name}, %block.first",
        f"  %{name}.before = icmp ult i64 %{name}.age, %past.bits",
    ]


def _own_write(name: str) -> list[str]:
    """Return the code that asks the same of a write that has to be there."""
    return [
        *same(name),
        f"  %{name}.any = icmp ne i64 %{name}, 0",
        f"  %{name}.own = and i1 %{name}.same, %{name}.any",
        f"  %{name}.fine = or i1 %{name}.before, %{name}.own",
    ]


def _quick(names: Collection[str], then: str, label: str) -> list[str]:
    """Return the code that goes on where all of some records are ordered before now, which is what is common."""
    lines, so_far = [], "true"
    for name in names:
        lines.append(f"  %{name}.quick = and i1 {so_far}, %{name}.before")
        so_far = f"%{name}.quick"
    return [*lines, f"  br i1 {so_far}, label %{then}, label %{label}", f"{label}:"]


def _last(unwritten: bool) -> tuple[list[str], list[str]]:
    """Return the code that asks about the last write quickly, and what asks whether it is this thread's."""
    return (_written("w"), _own_write("w")) if unwritten else (_ordered("w"), is_fine("w"))


def _read(unwritten: bool) -> list[str]:
    last, own = _last(unwritten)
    return [
        *last,
        *_reads(),
        *_ordered("r1"),
        *_ordered("r2"),
        *_quick(("w", "r1", "r2"), "look", "again"),
        *own,
        *same("r1"),
        *free("r1", "r2"),
        "  %both = and i1 %w.fine, %r1.free",
        "  br i1 %both, label %look, label %slow",
        "look:",
        *_without_atomics("keep"),
        "keep:",
        "  store i64 %now, ptr %reads",
        "  br label %done",
    ]


def _write(unwritten: bool) -> list[str]:
    return _changes(_ordered("w"), is_fine("w"))


def _update(unwritten: bool) -> list[str]:
    return _changes(*_last(unwritten))


def _changes(last: list[str], own: list[str]) -> list[str]:
    """Return the code of a write. last, own: what asks about the write before it."""
    return [
        *last,
        *_reads(),
        *_ordered("r1"),
        *_ordered("r2"),
        *_quick(("w", "r1", "r2"), "look", "again"),
        *own,
        *is_fine("r1"),
        *is_fine("r2"),
        *all_fine(("w", "r1", "r2"), "look", "slow"),
        "look:",
        *_without_atomics("kept"),
        "kept:",
        *_counted(),
        "keep:",
        "  store i64 %now, ptr %writes",
        "  store [2 x i64] zeroinitializer, ptr %reads",
        "  br i1 %atomic, label %forget, label %done",
        "forget:",
        "  store [2 x i64] zeroinitializer, ptr %atomics",
        "  br label %done",
    ]


def _atomic(unwritten: bool) -> list[str]:
    last, own = _last(unwritten)
    return [
        *last,
        *_reads(),
        *_ordered("r1"),
        *_ordered("r2"),
        *_quick(("w", "r1", "r2"), "look", "again"),
        *own,
        *is_fine("r1"),
        *is_fine("r2"),
        *all_fine(("w", "r1", "r2"), "look", "slow"),
        "look:",
        *_plane("atomics", record.SHARED_ATOMICS, 3),
        *loaded("atomics", ("a1", "a2")),
        *_ordered("a1"),
        *_ordered("a2"),
        *same("a1"),
        *same("a2"),
        *free("a1", "a2"),
        "  br i1 %a1.free, label %keep, label %others",
        "keep:",
        "  store i64 %now, ptr %atomics",
        "  br label %done",
        # Two of this time are enough, unless this one is of a thread farther from the first.
        "others:",
        "  %both = or i64 %a1.differs, %a2.differs",
        f"  %when = and i64 %both, {WHEN}",
        "  %at.once = icmp eq i64 %when, 0",
        "  %two = icmp ne i64 %a2, 0",
        f"  %apart = call i1 @{FARTHER}(i64 %a1, i64 %a2, i64 %now)",
        "  %near = xor i1 %apart, true",
        "  %both.once = and i1 %two, %at.once",
        "  %enough = and i1 %both.once, %near",
        "  br i1 %enough, label %done, label %slow",
    ]


def _look(kind: str, size: int, unwritten: bool) -> list[str]:
    """Return the code that only asks whether the block wrote the memory, or notes that it did."""
    if kind == "write":
        return [*_counted(), "keep:", "  store i64 %now, ptr %writes", "  br label %done"]
    if not unwritten:
        return ["  br label %done"]
    if kind in ("atomic", "update"):
        return [
            "  %block.first = add i64 %block.bits, 1",
            "  %age = sub i64 %w, %block.first",
            f"  %by.block = icmp ult i64 %age, {(1 << BLOCK_AT) - 1}",
            "  br i1 %by.block, label %done, label %slow",
        ]
    return [
        f"  call void @{_ASK}(ptr %p, i64 {size}, i64 %site, i64 %who, {ORDER}, i64 %index, i64 %shift, ptr %writes)",
        "  br label %done",
    ]


_LOOKS = {"read": _read, "write": _write, "atomic": _atomic, "update": _update}
