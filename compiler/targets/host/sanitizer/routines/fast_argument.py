"""fast_argument: the fast paths of memory that parameters point to, whose records lie in pages, if there are any."""

from __future__ import annotations

from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.targets.host.sanitizer.routines.access import ORDER, access_name
from gridjit.compiler.targets.host.sanitizer.routines.fast_code import (
    INVARIANT,
    all_fine,
    fast_name,
    free,
    function,
    loaded,
    now,
    parameters,
    same,
    slow_path,
)
from gridjit.compiler.targets.host.sanitizer.routines.record import MASKED, PARTLY, RACING

# What accesses to a parameter's memory have to be looked at for, which is the same all through a launch. That it may be
# asked for anywhere lets LLVM ask once for all the threads of a row.
FLAGS = "gridjit.check.flags"
FLAGS_TEXT = f"""
define internal i64 @{FLAGS}(i64 %number) noinline nounwind willreturn speculatable memory(none) {{
  %state = load ptr, ptr @{record.STATE}
  %arguments.at = getelementptr i8, ptr %state, i64 {record.ARGUMENTS}
  %arguments = load ptr, ptr %arguments.at
  %mine = getelementptr [{record.ARGUMENT_BYTES} x i8], ptr %arguments, i64 %number
  %flags = load i64, ptr %mine
  ret i64 %flags
}}
"""
# A read of any size: nothing is looked at where nothing has to be.
ANY_READ = "gridjit.check.read.argument"
ANY_READ_TEXT = f"""
define internal void @{ANY_READ}(ptr %p, i64 %size, i64 %site, i64 %who, {ORDER}, i64 %number)
  nounwind alwaysinline {{
  %flags = call i64 @{FLAGS}(i64 %number)
  %none = icmp eq i64 %flags, 0
  br i1 %none, label %done, label %slow
done:
  ret void
slow:
  call void @{access_name("read", "global")}(ptr %p, i64 %size, i64 %site, i64 %who, {ORDER})
  ret void
}}
"""


def own_path(kind: str, size: int) -> str:
    """Return the fast path of memory that most likely needs no look: what looks at it is a call.

    So the loop over threads stays small.
    """
    given = parameters(kind, size, "i64 %number")
    apart = fast_name(kind, "apart", size)
    lines = [
        f"  %flags = call i64 @{FLAGS}(i64 %number)",
        "  %nothing = icmp eq i64 %flags, 0",
        "  br i1 %nothing, label %done, label %something",
        "something:",
        f"  call void @{apart}({given})",
        "  br label %done",
        "done:",
        "  ret void",
    ]
    looks = f"  call void @{fast_name(kind, 'argument', size)}({given})\n  ret void"
    own = function(fast_name(kind, "own", size), given, lines)
    return f"{own}define internal void @{apart}({given}) nounwind noinline cold {{\n{looks}\n}}\n"


def argument_path(kind: str, size: int, races: bool, unwritten: bool) -> str:
    """Return the fast path of memory that a parameter points to. number: of the parameter."""
    seen = "look.races" if races else "done"
    lines = [
        f"  %flags = call i64 @{FLAGS}(i64 %number)",
        "  %at = ptrtoint ptr %p to i64",
        "  %nothing = icmp eq i64 %flags, 0",
        "  br i1 %nothing, label %done, label %something",
        "something:",
        f"  %state = load ptr, ptr @{record.STATE}, {INVARIANT}",
        *(_masked(kind, size, seen) if unwritten else [f"  br label %{seen}"]),
        *(_paged(kind, size) if races else []),
        "done:",
        "  ret void",
        "slow:",
        *slow_path(kind, "global", size, ""),
    ]
    return function(fast_name(kind, "argument", size), parameters(kind, size, "i64 %number"), lines)


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
        f"  %arguments.at = getelementptr i8, ptr %state, i64 {record.ARGUMENTS}",
        f"  %arguments = load ptr, ptr %arguments.at, {INVARIANT}",
        f"  %mine = getelementptr [{record.ARGUMENT_BYTES} x i8], ptr %arguments, i64 %number",
        "  %far.at = getelementptr i8, ptr %mine, i64 8",
        f"  %far = load i64, ptr %far.at, {INVARIANT}",
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
        f"  %recent = load ptr, ptr %recent.at, {INVARIANT}",
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
        *now(),
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
    """Return the code that asks whether a record is missing, or ordered before now: in other blocks, slowly."""
    return [
        f"  %{name}.age = sub i64 %{name}, %block.bits",
        f"  %{name}.past = icmp ult i64 %{name}.age, %past.bits",
        *same(name),
        f"  %{name}.before = or i1 %{name}.none, %{name}.past",
        f"  %{name}.fine = or i1 %{name}.before, %{name}.same",
    ]


def _paged_reads() -> list[str]:
    """Return the code that asks about the two reads that a cell remembers."""
    lines = ["  %place = getelementptr [2 x i64], ptr %reads, i64 %index", *loaded("place", ("r1", "r2"))]
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
        *free("r1", "r2"),
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
        *all_fine(("r1", "r2"), "forget", "slow"),
        "forget:",
        "  store [2 x i64] zeroinitializer, ptr %place",
        "  br label %keep",
        "keep:",
        "  store i64 %now, ptr %write.at",
        "  br label %done",
    ]
