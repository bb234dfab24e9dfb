"""Fast paths as LLVM IR: what is inlined into a checked kernel before an access, and passes nearly all that are fine.

They look at one number of 1, 2, 4 or 8 bytes that fills its cell, and pass it if what the cell remembers is of the same
thread, or of this block and before its last barrier. They remember it then as the functions of access do, to which they
leave everything else.

A record is a number whose highest bits are the block, then the clock: that it is before the last barrier, of this block
or one before, or nothing at all, is one comparison.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.checks import record
from gridjit.compiler.targets.host.checks.ir.access import access_name
from gridjit.compiler.targets.host.checks.ir.tests import BLOCK, WHEN, WHO
from gridjit.compiler.targets.host.checks.record import BLOCK_AT, CLOCK_AT, MASKED, PARTLY, RACING

SIZES = (1, 2, 4, 8)
_INVARIANT = "!invariant.load !{}"


def fast_name(kind: str, space: str, size: int) -> str:
    """Return the function that looks at an access of one number; space: "shared" or "argument"."""
    return f"gridjit.check.{kind}.{space}.{size}"


def fast_ir(checks: Collection[str], called: str) -> str:
    """Return the fast paths that a kernel's text calls."""
    races, unwritten = "races" in checks, "uninitialized" in checks
    made = {
        fast_name(kind, space, size): write(kind, size, races, unwritten)
        for size in SIZES
        for space, kinds, write in (("shared", _KINDS, _shared), ("argument", ("read", "write", "update"), _argument))
        for kind in kinds
    }
    made |= {ANY_READ: _ANY_READ, COUNT: _COUNT}
    return "\n".join([_ASKS, *(text for name, text in made.items() if f"@{name}(" in called)])


_KINDS = ("read", "write", "atomic", "look", "update")
# A read of any size: nothing is looked at where nothing has to be.
ANY_READ = "gridjit.check.read.argument"
# Looks at a read of an array that the block has not written all of. It is a call, so that a loop that reads what is
# written stays so small that LLVM makes one of it that asks no more.
_ASK = "gridjit.check.ask"
_HARMLESS = "willreturn nofree nosync memory(read, inaccessiblemem: readwrite)"
# What it writes, the kernel's own code does not see; that LLVM does not see either what writes keeps it from thinking
# that nothing is written, and leaving it out.
_ASKS = f"""
@gridjit.look = global ptr @{access_name("look", "shared")}
define internal void @{_ASK}(ptr %p, i64 %size, i64 %site, i64 %who, i32 %clock.short, i32 %known.short,
  i64 %index, i64 %shift, ptr %writes) nounwind noinline {_HARMLESS} {{
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
  call void %look(ptr %p, i64 %size, i64 %site, i64 %who,
    i32 %clock.short, i32 %known.short, i64 %index, i64 %shift, i64 -1)
  ret void
}}
"""
# Begins the count of an array's cells that the block has not written.
COUNT = "gridjit.check.count"
_COUNT = f"""
define internal void @{COUNT}(i32 %thread, i64 %start, i64 %shift, i64 %size) nounwind alwaysinline {{
entry:
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %begin, label %done
begin:
  %state = load ptr, ptr @{record.STATE}, {_INVARIANT}
  %bytes.at = getelementptr i8, ptr %state, i64 {record.SHARED_BYTES}
  %bytes = load i64, ptr %bytes.at, {_INVARIANT}
  %rest = sub i64 %bytes, %start
  %is.static = icmp sge i64 %size, 0
  %its = select i1 %is.static, i64 %size, i64 %rest
  %cells = lshr i64 %its, %shift
  %table.at = getelementptr i8, ptr %state, i64 {record.SHARED_UNWRITTEN}
  %table = load ptr, ptr %table.at, {_INVARIANT}
  %left.at = getelementptr i64, ptr %table, i64 %start
  store i64 %cells, ptr %left.at
  br label %done
done:
  ret void
}}
"""
_ANY_READ = f"""
define internal void @{ANY_READ}(ptr %p, i64 %size, i64 %site, i64 %who, i32 %clock.short, i32 %known.short,
  i64 %number)
  nounwind alwaysinline {{
  %state = load ptr, ptr @{record.STATE}, {_INVARIANT}
  %arguments.at = getelementptr i8, ptr %state, i64 {record.ARGUMENTS}
  %arguments = load ptr, ptr %arguments.at, {_INVARIANT}
  %mine = getelementptr [{record.ARGUMENT_BYTES} x i8], ptr %arguments, i64 %number
  %flags = load i64, ptr %mine, {_INVARIANT}
  %none = icmp eq i64 %flags, 0
  br i1 %none, label %done, label %slow
done:
  ret void
slow:
  call void @{access_name("read", "global")}(ptr %p, i64 %size, i64 %site, i64 %who, i32 %clock.short, i32 %known.short)
  ret void
}}
"""


def _function(name: str, parameters: str, lines: list[str]) -> str:
    return "\n".join([f"define internal void @{name}({parameters}) nounwind alwaysinline {{", *lines, "}"]) + "\n"


def _now() -> list[str]:
    """Return the code that makes the record of an access that happens now."""
    return [
        "  %clock = zext i32 %clock.short to i64",
        f"  %clock.bits = shl i64 %clock, {CLOCK_AT}",
        f"  %block.bits = and i64 %who, {BLOCK}",
        "  %epoch = or i64 %block.bits, %clock.bits",
        "  %placed = or i64 %who, %site",
        "  %now = or i64 %placed, %clock.bits",
    ]


def _same(name: str) -> list[str]:
    """Return the code that asks whether a record is this thread's."""
    return [
        f"  %{name}.differs = xor i64 %{name}, %now",
        f"  %{name}.who = and i64 %{name}.differs, {WHO}",
        f"  %{name}.same = icmp eq i64 %{name}.who, 0",
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
        f"  %{name}.before = icmp ult i64 %{name}.age, %clock.bits",
    ]


def _own(name: str) -> list[str]:
    """Return the code that asks whether a record is ordered before now, or this thread's."""
    return [*_same(name), f"  %{name}.fine = or i1 %{name}.before, %{name}.same"]


def _own_write(name: str) -> list[str]:
    """Return the code that asks the same of a write that has to be there."""
    return [
        *_same(name),
        f"  %{name}.any = icmp ne i64 %{name}, 0",
        f"  %{name}.own = and i1 %{name}.same, %{name}.any",
        f"  %{name}.fine = or i1 %{name}.before, %{name}.own",
    ]


def _free(first: str, second: str) -> list[str]:
    """Return the code that asks whether the first of two places is free: no thread may ever have both."""
    return [
        f"  %{first}.others = and i1 %{first}.before, %{second}.before",
        f"  %{first}.free = or i1 %{first}.same, %{first}.others",
    ]


def _quick(names: Collection[str], then: str, label: str) -> list[str]:
    """Return the code that goes on where all of some records are ordered before now, which is what is common."""
    lines, so_far = [], "true"
    for name in names:
        lines.append(f"  %{name}.quick = and i1 {so_far}, %{name}.before")
        so_far = f"%{name}.quick"
    return [*lines, f"  br i1 {so_far}, label %{then}, label %{label}", f"{label}:"]


def _loaded(plane: str, names: Collection[str]) -> list[str]:
    """Return the code that loads the records of a plane's place."""
    lines = []
    for number, name in enumerate(names):
        lines += [
            f"  %{name}.at = getelementptr i8, ptr %{plane}, i64 {8 * number}",
            f"  %{name} = load i64, ptr %{name}.at",
        ]
    return lines


def _all(names: Collection[str], then: str, label: str) -> list[str]:
    """Return the code that goes on where all of some records are fine, and else to the slow path."""
    lines, so_far = [], "true"
    for name in names:
        lines.append(f"  %{name}.all = and i1 {so_far}, %{name}.fine")
        so_far = f"%{name}.all"
    return [*lines, f"  br i1 {so_far}, label %{then}, label %{label}"]


def _compared(size: int) -> list[str]:
    """Return the code that compares what a write writes with what is there."""
    return [
        f"  %old = load i{8 * size}, ptr %p, align 1",
        f"  %same = icmp eq i{8 * size} %old, %new",
    ]


def _slow(kind: str, space: str, size: int, more: str) -> list[str]:
    """Return the code that leaves the access to the function for all that there may be."""
    who = "i64 %who, i32 %clock.short, i32 %known.short"
    read = f"  call void @{access_name('read', space)}(ptr %p, i64 {size}, i64 %site.read, {who}{more})"
    if kind == "update":
        return ["  %site.read = or i64 %site, 1", read, *_slow("write", space, size, more)]
    same = ", i1 %same" if kind == "write" else ""
    return [
        *(_compared(size) if kind == "write" else []),
        f"  call void @{access_name(kind, space)}(ptr %p, i64 {size}, i64 %site, {who}{same}{more})",
        "  ret void",
    ]


def _parameters(kind: str, size: int, more: str) -> str:
    new = f"i{8 * size} %new, " if kind in ("write", "update") else ""
    return f"ptr %p, {new}i64 %site, i64 %who, i32 %clock.short, i32 %known.short, {more}"


def _shared(kind: str, size: int, races: bool, unwritten: bool) -> str:
    """Return the fast path of shared memory. start, shift: where its array begins, and how large its cells are."""
    body = _LOOKS[kind](unwritten) if races and kind != "look" else _look(kind, size, unwritten)
    lines = [
        f"  %state = load ptr, ptr @{record.STATE}, {_INVARIANT}",
        "  %at = ptrtoint ptr %p to i64",
        "  %base = ptrtoint ptr %shared to i64",
        "  %offset = sub i64 %at, %base",
        "  %inside = sub i64 %offset, %start",
        "  %cells = lshr i64 %inside, %shift",
        "  %index = add i64 %cells, %start",
        "  %counter = select i1 %counted, i64 %start, i64 -1",
        *_now(),
        *_plane("unwritten", record.SHARED_UNWRITTEN, 1),
        *_plane("writes", record.SHARED_WRITES, 1),
        "  %left.at = getelementptr i64, ptr %unwritten.table, i64 %start",
        *(_whole() if kind == "look" and unwritten else []),
        "  %w = load i64, ptr %writes",
        *body,
        "done:",
        "  ret void",
        "slow:",
        *_slow(kind, "shared", size, ", i64 %index, i64 %shift, i64 %counter"),
    ]
    more = "ptr %shared, i64 %start, i64 %shift, i1 %atomic, i1 %counted"
    return _function(fast_name(kind, "shared", size), _parameters(kind, size, more), lines)


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
        f"  %{name}.table = load ptr, ptr %{name}.table.at, {_INVARIANT}",
        f"  %{name} = getelementptr [{words} x i64], ptr %{name}.table, i64 %index",
    ]


def _reads() -> list[str]:
    return [*_plane("reads", record.SHARED_READS, 2), *_loaded("reads", ("r1", "r2"))]


def _without_atomics(then: str) -> list[str]:
    """Return the code that goes on where no atomic access is remembered that is not ordered before now."""
    return [
        *_plane("atomics", record.SHARED_ATOMICS, 3),
        f"  br i1 %atomic, label %look.atomics, label %{then}",
        "look.atomics:",
        *_loaded("atomics", ("a1", "a2")),
        *_ordered("a1"),
        *_ordered("a2"),
        *_own("a1"),
        *_own("a2"),
        *_all(("a1", "a2"), then, "slow"),
    ]


def _last(unwritten: bool) -> tuple[list[str], list[str]]:
    """Return the code that asks about the last write quickly, and what asks whether it is this thread's."""
    return (_written("w"), _own_write("w")) if unwritten else (_ordered("w"), _own("w"))


def _read(unwritten: bool) -> list[str]:
    last, own = _last(unwritten)
    return [
        *last,
        *_reads(),
        *_ordered("r1"),
        *_ordered("r2"),
        *_quick(("w", "r1", "r2"), "look", "again"),
        *own,
        *_same("r1"),
        *_free("r1", "r2"),
        "  %both = and i1 %w.fine, %r1.free",
        "  br i1 %both, label %look, label %slow",
        "look:",
        *_without_atomics("keep"),
        "keep:",
        "  store i64 %now, ptr %reads",
        "  br label %done",
    ]


def _write(unwritten: bool) -> list[str]:
    return _changes(_ordered("w"), _own("w"))


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
        *_own("r1"),
        *_own("r2"),
        *_all(("w", "r1", "r2"), "look", "slow"),
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
        *_own("r1"),
        *_own("r2"),
        *_all(("w", "r1", "r2"), "look", "slow"),
        "look:",
        *_plane("atomics", record.SHARED_ATOMICS, 3),
        *_loaded("atomics", ("a1", "a2")),
        *_ordered("a1"),
        *_ordered("a2"),
        *_same("a1"),
        *_same("a2"),
        *_free("a1", "a2"),
        "  br i1 %a1.free, label %keep, label %others",
        "keep:",
        "  store i64 %now, ptr %atomics",
        "  br label %done",
        # Two of this time, of other threads, are enough.
        "others:",
        "  %both = or i64 %a1.differs, %a2.differs",
        f"  %when = and i64 %both, {WHEN}",
        "  %at.once = icmp eq i64 %when, 0",
        "  %two = icmp ne i64 %a2, 0",
        "  %enough = and i1 %two, %at.once",
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
        f"  call void @{_ASK}(ptr %p, i64 {size}, i64 %site, i64 %who, i32 %clock.short, i32 %known.short, "
        "i64 %index, i64 %shift, ptr %writes)",
        "  br label %done",
    ]


_LOOKS = {"read": _read, "write": _write, "atomic": _atomic, "update": _update}


def _argument(kind: str, size: int, races: bool, unwritten: bool) -> str:
    """Return the fast path of memory that a parameter points to. number: of the parameter."""
    seen = "look.races" if races else "done"
    lines = [
        f"  %state = load ptr, ptr @{record.STATE}, {_INVARIANT}",
        f"  %arguments.at = getelementptr i8, ptr %state, i64 {record.ARGUMENTS}",
        f"  %arguments = load ptr, ptr %arguments.at, {_INVARIANT}",
        f"  %mine = getelementptr [{record.ARGUMENT_BYTES} x i8], ptr %arguments, i64 %number",
        f"  %flags = load i64, ptr %mine, {_INVARIANT}",
        "  %at = ptrtoint ptr %p to i64",
        "  %nothing = icmp eq i64 %flags, 0",
        "  br i1 %nothing, label %done, label %something",
        "something:",
        *(_masked(kind, size, seen) if unwritten else [f"  br label %{seen}"]),
        *(_paged(kind, size) if races else []),
        "done:",
        "  ret void",
        "slow:",
        *_slow(kind, "global", size, ""),
    ]
    return _function(fast_name(kind, "argument", size), _parameters(kind, size, "i64 %number"), lines)


def _masked(kind: str, size: int, seen: str) -> list[str]:
    """Return the code that looks at the mask of unwritten bytes, if there is one."""
    word = f"i{8 * size}"
    read = [
        f"  %unwritten = load {word}, ptr %mask, align 1",
        f"  %fine = icmp eq {word} %unwritten, 0",
        f"  br i1 %fine, label %{seen}, label %slow",
    ]
    return [
        f"  %partly = and i64 %flags, {MASKED | PARTLY}",
        "  %whole = icmp eq i64 %partly, 0",
        f"  br i1 %whole, label %{seen}, label %ask",
        "ask:",
        f"  %some = icmp eq i64 %partly, {MASKED}",
        "  br i1 %some, label %masked, label %slow",
        "masked:",
        "  %far.at = getelementptr i8, ptr %mine, i64 8",
        f"  %far = load i64, ptr %far.at, {_INVARIANT}",
        "  %mask = getelementptr i8, ptr %p, i64 %far",
        *(read if kind in ("read", "update") else [f"  store {word} 0, ptr %mask, align 1", f"  br label %{seen}"]),
    ]


def _paged(kind: str, size: int) -> list[str]:
    """Return the code that looks for races where the page that the place last accessed is the one."""
    return [
        "look.races:",
        f"  %racing = and i64 %flags, {RACING}",
        "  %quiet = icmp eq i64 %racing, 0",
        "  br i1 %quiet, label %done, label %find",
        "find:",
        f"  %recent.at = getelementptr i8, ptr %state, i64 {record.RECENT}",
        f"  %recent = load ptr, ptr %recent.at, {_INVARIANT}",
        f"  %entry.at = getelementptr [{record.RECENT_BYTES} x i8], ptr %recent, i64 %site",
        "  %tag = lshr i64 %at, 12",
        "  %tag.next = add i64 %tag, 1",
        "  %last = load i64, ptr %entry.at",
        "  %again = icmp eq i64 %last, %tag.next",
        "  br i1 %again, label %page.known, label %slow",
        "page.known:",
        "  %page.at = getelementptr i8, ptr %entry.at, i64 8",
        "  %page = load ptr, ptr %page.at",
        f"  %writes.at = getelementptr i8, ptr %page, i64 {record.WRITES}",
        "  %writes = load ptr, ptr %writes.at",
        *_now(),
        "  %low = and i64 %at, 4095",
        f"  %index = lshr i64 %low, {size.bit_length() - 1}",
        "  %write.at = getelementptr i64, ptr %writes, i64 %index",
        *(_plain_write(size) if kind != "read" else ["  br label %full"]),
        "full:",
        "  %shift.at = getelementptr i8, ptr %page, i64 16",
        "  %shift = load i64, ptr %shift.at",
        f"  %fits = icmp eq i64 %shift, {size.bit_length() - 1}",
        f"  %atomics.at = getelementptr i8, ptr %page, i64 {record.ATOMICS}",
        "  %atomics = load ptr, ptr %atomics.at",
        "  %no.atomics = icmp eq ptr %atomics, null",
        "  %plain = and i1 %fits, %no.atomics",
        f"  %reads.at = getelementptr i8, ptr %page, i64 {record.READS}",
        "  %reads = load ptr, ptr %reads.at",
        "  br i1 %plain, label %cell, label %slow",
        "cell:",
        "  %w = load i64, ptr %write.at",
        "  %w.none = icmp eq i64 %w, 0",
        "  br i1 %w.none, label %compare, label %older",
        "older:",
        *_before("w"),
        "  br i1 %w.fine, label %compare, label %slow",
        *(_paged_read() if kind == "read" else _paged_write()),
    ]


def _plain_write(size: int) -> list[str]:
    """Return the code that passes the first write to a cell of a page that has nothing but writes."""
    return [
        f"  %plain.at = getelementptr i8, ptr %page, i64 {record.PLAIN}",
        "  %plain.size = load i64, ptr %plain.at",
        f"  %is.plain = icmp eq i64 %plain.size, {size.bit_length() - 1}",
        "  br i1 %is.plain, label %first, label %full",
        "first:",
        "  %there = load i64, ptr %write.at",
        "  %is.first = icmp eq i64 %there, 0",
        "  br i1 %is.first, label %keep, label %full",
    ]


def _before(name: str) -> list[str]:
    """Return the code that asks whether there is no record, or it is ordered before now: in other blocks, slowly."""
    return [
        f"  %{name}.age = sub i64 %{name}, %block.bits",
        f"  %{name}.past = icmp ult i64 %{name}.age, %clock.bits",
        *_same(name),
        f"  %{name}.before = or i1 %{name}.none, %{name}.past",
        f"  %{name}.fine = or i1 %{name}.before, %{name}.same",
    ]


def _paged_reads() -> list[str]:
    """Return the code that asks about the two reads that a cell remembers."""
    lines = ["  %place = getelementptr [2 x i64], ptr %reads, i64 %index", *_loaded("place", ("r1", "r2"))]
    for name in ("r1", "r2"):
        lines += [f"  %{name}.none = icmp eq i64 %{name}, 0", *_before(name)]
    return lines


def _paged_read() -> list[str]:
    return [
        "compare:",
        "  %has.reads = icmp ne ptr %reads, null",
        "  br i1 %has.reads, label %compare.reads, label %slow",
        "compare.reads:",
        *_paged_reads(),
        *_free("r1", "r2"),
        "  br i1 %r1.free, label %keep, label %slow",
        "keep:",
        "  store i64 %now, ptr %place",
        "  br label %done",
    ]


def _paged_write() -> list[str]:
    return [
        "compare:",
        "  %has.reads = icmp ne ptr %reads, null",
        "  br i1 %has.reads, label %compare.reads, label %keep",
        "compare.reads:",
        *_paged_reads(),
        *_all(("r1", "r2"), "forget", "slow"),
        "forget:",
        "  store [2 x i64] zeroinitializer, ptr %place",
        "  br label %keep",
        "keep:",
        "  store i64 %now, ptr %write.at",
        "  br label %done",
    ]
