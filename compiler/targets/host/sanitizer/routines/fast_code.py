"""fast_code: pieces of the fast paths: what makes the record of an access, and asks whether others are fine."""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.sanitizer.routines.access import ORDER, access_name
from gridjit.compiler.targets.host.sanitizer.routines.race_tests import BLOCK, WHO
from gridjit.compiler.targets.host.sanitizer.routines.record import CLOCK_AT

INVARIANT = "!invariant.load !{}"


def fast_name(kind: str, space: str, size: int) -> str:
    """Return the function that looks at an access of one number; space: "shared" or "argument"."""
    return f"gridjit.check.{kind}.{space}.{size}"


def function(name: str, parameters: str, lines: list[str]) -> str:
    return "\n".join([f"define internal void @{name}({parameters}) nounwind alwaysinline {{", *lines, "}"]) + "\n"


def now() -> list[str]:
    """Return the code that makes the record of an access that happens now, and one that its block is ordered before."""
    return [
        "  %clock = zext i32 %clock.short to i64",
        f"  %clock.bits = shl i64 %clock, {CLOCK_AT}",
        "  %past = zext i32 %past.short to i64",
        f"  %past.bits = shl i64 %past, {CLOCK_AT}",
        f"  %block.bits = and i64 %who, {BLOCK}",
        "  %epoch = or i64 %block.bits, %past.bits",
        "  %placed = or i64 %who, %site",
        "  %now = or i64 %placed, %clock.bits",
    ]


def same(name: str) -> list[str]:
    """Return the code that asks whether a record is this thread's."""
    return [
        f"  %{name}.differs = xor i64 %{name}, %now",
        f"  %{name}.who = and i64 %{name}.differs, {WHO}",
        f"  %{name}.same = icmp eq i64 %{name}.who, 0",
    ]


def is_fine(name: str) -> list[str]:
    """Return the code that asks whether a record is ordered before now, or this thread's."""
    return [*same(name), f"  %{name}.fine = or i1 %{name}.before, %{name}.same"]


def free(first: str, second: str) -> list[str]:
    """Return the code that asks whether the first of two places is free: no thread may ever have both."""
    return [
        f"  %{first}.others = and i1 %{first}.before, %{second}.before",
        f"  %{first}.free = or i1 %{first}.same, %{first}.others",
    ]


def loaded(plane: str, names: Collection[str]) -> list[str]:
    """Return the code that loads the records of a plane's place."""
    lines = []
    for number, name in enumerate(names):
        lines += [
            f"  %{name}.at = getelementptr i8, ptr %{plane}, i64 {8 * number}",
            f"  %{name} = load i64, ptr %{name}.at",
        ]
    return lines


def all_fine(names: Collection[str], then: str, label: str) -> list[str]:
    """Return the code that goes on where all of some records are fine, and else to the slow path."""
    lines, so_far = [], "true"
    for name in names:
        lines.append(f"  %{name}.all = and i1 {so_far}, %{name}.fine")
        so_far = f"%{name}.all"
    return [*lines, f"  br i1 {so_far}, label %{then}, label %{label}"]


def _compared(size: int) -> list[str]:
    """Return the code that compares the written value with the value in memory."""
    return [
        f"  %old = load i{8 * size}, ptr %p, align 1",
        f"  %same = icmp eq i{8 * size} %old, %new",
    ]


def slow_path(kind: str, space: str, size: int, more: str) -> list[str]:
    """Return the code that leaves the access to the function that handles every case."""
    who = f"i64 %who, {ORDER}"
    read = f"  call void @{access_name('read', space)}(ptr %p, i64 {size}, i64 %site.read, {who}{more})"
    if kind == "update":
        return ["  %site.read = or i64 %site, 1", read, *slow_path("write", space, size, more)]
    same = ", i1 %same" if kind == "write" else ""
    return [
        *(_compared(size) if kind == "write" else []),
        f"  call void @{access_name(kind, space)}(ptr %p, i64 {size}, i64 %site, {who}{same}{more})",
        "  ret void",
    ]


def parameters(kind: str, size: int, more: str) -> str:
    new = f"i{8 * size} %new, " if kind in ("write", "update") else ""
    return f"ptr %p, {new}i64 %site, i64 %who, {ORDER}, {more}"
