"""Peeled threads: finds the next thread of a row that is run by itself, or all of that kind in a part of the row.

The code finds where the part of a row begins in %part.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.passes.peeling import Stop


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
