"""Rows: the code of a row of threads: one body for each thread, or several for parts, for rows, for single threads.

The bodies are lines of LLVM IR. The code that runs them is written by work_item_loops.py. Code finds the next thread of
a row that is run by itself, or all of that kind in a part of the row, whose beginning it has in %part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.passes.peeling import Stop

# Where a part of a row begins.
PART = "%part"
# Given where a part of a row begins and where the row ends, returns a call.
Ask = Callable[[str, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRow:
    """The code of a row in parts: one body for peeled threads, another for all others.

    stops: the places of those threads along the row. ends: a call that returns where the part ends that begins at its
    first argument, in a row that ends at its second; None if parts end only at stops. The usual body finds the first
    place of its part in %part. straight: whether all rows have the same parts; the call then does not ask for the row.
    """

    stops: tuple[Stop, ...]
    usual: list[str]
    rare: list[str]
    ends: Ask | None = None
    straight: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedRow:
    """The code of a row of threads: one body if a call says that its accesses are contiguous, else another.

    call: given the row's first thread and the one behind its last.
    """

    call: Ask
    body: list[str] | SplitRow
    otherwise: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SunkRow:
    """The code of all threads of a row as if none were at a stop, and the code of threads at stops behind it."""

    stops: tuple[Stop, ...]
    usual: Usual
    sunk: list[str]


Usual = list[str] | SplitRow | VersionedRow
RowBody = Usual | SunkRow


def straight_parts(body: RowBody) -> Ask | None:
    """Return the call that finds the ends of parts, if a body is run in parts that are the same in all rows."""
    parts = body.body if isinstance(body, VersionedRow) else body
    return parts.ends if isinstance(parts, SplitRow) and parts.straight else None


def of_part(body: RowBody) -> RowBody:
    """Return the code of the threads of one part, of a body that is run in parts."""
    if isinstance(body, VersionedRow) and isinstance(body.body, SplitRow):
        return replace(body, body=body.body.usual)
    return body.usual if isinstance(body, SplitRow) else body


def next_stop(stops: Sequence[Stop], axis: str, end: str) -> list[str]:
    """Return the code that finds %stop: the next thread of a row, from %part on, that is run by itself, or end."""
    lines, nearest = list[str](), end
    for number, stop in enumerate(stops):
        at = f"%stop.{number}"
        lines += [
            f"  {at} = {_place(stop, axis)}",
            f"  {at}.ahead = icmp uge i32 {at}, %part",
            f"  {at}.from = select i1 {at}.ahead, i32 {at}, i32 {end}",
            f"  {at}.least = call i32 @llvm.umin.i32(i32 {at}.from, i32 {nearest})",
        ]
        nearest = f"{at}.least"
    return [*lines, f"  %stop = add i32 {nearest}, 0"]


def stops_within(stops: Sequence[Stop], axis: str, ends: tuple[str, str]) -> list[str]:
    """Return the code that finds %stop.<number>, and in %stop.<number>.any whether it is within ends.

    A place counts once, even if several stops name it: for the stop with the lowest number.
    """
    return [line for number, stop in enumerate(stops) for line in _within(stop, number, axis, ends)]


def _within(stop: Stop, number: int, axis: str, ends: tuple[str, str]) -> list[str]:
    at, (first, end) = f"%stop.{number}", ends
    lines = [
        f"  {at} = {_place(stop, axis)}",
        f"  {at}.from = icmp uge i32 {at}, {first}",
        f"  {at}.until = icmp ult i32 {at}, {end}",
    ]
    within = f"{at}.until"
    for other in range(number):
        lines.append(f"  {at}.besides.{other} = icmp ne i32 {at}, %stop.{other}")
        lines.append(f"  {at}.and.{other} = and i1 {within}, {at}.besides.{other}")
        within = f"{at}.and.{other}"
    return [*lines, f"  {at}.any = and i1 {at}.from, {within}"]


def _place(stop: Stop, axis: str) -> str:
    return f"add i32 {f'%ntid.{axis}' if stop.from_end else '0'}, {stop.place}"
