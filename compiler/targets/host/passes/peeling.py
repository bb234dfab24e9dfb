"""Loop peeling: the threads at one place of a row (`if tx == 0`, `if tx == blockDim.x - 1`), which run by themselves.

Where a region does something for such a thread only, LLVM makes masked stores of it, which all threads pay for. Here
the condition is evaluated only if `%gj.rare` is set. Loops over threads leave it unset between those places, where the
condition is known not to hold. Threads run in the same order, unless the peeled part may come after the row
(sinking.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.analysis.affine import ONE, PLACE, Affine, Row
from gridjit.compiler.targets.host.ir.body import Body, defined, definitions_of
from gridjit.compiler.targets.host.ir.instructions import beside
from gridjit.compiler.targets.host.ir.parse import parse

RARE = "%gj.rare"
_MADE = regex(r"gj\.met\.(\d+)\.", needs=("gj.met.",))
# More places would cost more than they save, and so would a region of more lines.
_MOST, _LONG = 4, 150
# The most threads that a row has.
LARGEST_BLOCK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Stop:
    """A place along a row, counted in threads from its beginning or from its end."""

    place: int
    from_end: bool = False


# A row's first and last thread.
FIRST, LAST = Stop(place=0), Stop(place=-1, from_end=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """A body in which conditions for one place along a row are evaluated only if `%gj.rare` is set; and these places.

    axis: that of a row.
    """

    body: Body
    axis: str = "x"
    stops: tuple[Stop, ...] = ()

    def of(self, region: str) -> tuple[Stop, ...]:
        """Return the places that conditions in a region's text are about."""
        met = {int(number) for number in _MADE.findall(region)}
        return tuple(self.stops[number] for number in sorted(met)) if region.count("\n") <= _LONG else ()


def peeled(body: Body, axis: str) -> Peeled:
    """Return body with such conditions evaluated only if `%gj.rare` is set. axis: that of a row, x or y."""
    lines = definitions_of(body.lines)
    row = Row(lines, axis, ())
    found = {name: stop for name, line in lines.items() if (stop := _stop(line, row)) is not None}
    stops = tuple(sorted(set(found.values())))
    if not stops or len(stops) > _MOST:
        return Peeled(body=body)
    blocks = tuple(
        replace(block, lines=tuple(new for line in block.lines for new in _written(line, found, stops)))
        for block in body.blocks
    )
    return Peeled(body=replace(body, blocks=blocks), axis=axis, stops=stops)


def _stop(line: str, row: Row) -> Stop | None:
    """Return the one place where an instruction's comparison holds, or the one where it does not."""
    found = parse(line)
    if found.opcode != "icmp" or found.predicate not in ("eq", "ne") or not found.is_binary:
        return None
    if found.kind not in ("i32", "i64") or not found.values[0].startswith("%"):
        return None
    values = [row.value(one) if found.kind == "i64" else row.widened(one, "zext") for one in found.values]
    if None in values:
        return None
    first, second = (value or {} for value in values)
    apart = {part: first.get(part, 0) - second.get(part, 0) for part in {**first, **second}}
    return _place({part: count for part, count in apart.items() if count}, row)


def _place(apart: Affine, row: Row) -> Stop | None:
    """Return the place at which a linear value is 0."""
    sign = -apart.get(PLACE, 0)
    at = apart.get(ONE, 0) * sign
    sizes = {part: count for part, count in apart.items() if part not in (PLACE, ONE)}
    if abs(sign) != 1 or len(sizes) > 1:
        return None
    if not sizes:
        return Stop(place=at) if 0 <= at < LARGEST_BLOCK else None
    part, count = next(iter(sizes.items()))
    further = beyond_size(part, row) if count == sign else None
    if further is None or not -LARGEST_BLOCK < at + further < 0:
        return None
    return Stop(place=at + further, from_end=True)


def beyond_size(part: str, row: Row) -> int | None:
    """Return by how much a value exceeds the length of a block's row; None if it is not made of that length."""
    name, more = part.rpartition(" ")[2], 0
    while name != f"%gj.n{row.place.removeprefix('%gj.')}":
        found = parse(row.lines.get(name, ""))
        if found.kind not in ("i32", "i64") or not found.values[0].startswith("%"):
            return None
        if found.opcode == "add" and found.is_binary and not found.values[1].startswith("%"):
            more += int(found.values[1])
        elif not found.cast_of("i32", "i64"):
            return None
        name = found.values[0]
    return more


def _written(line: str, found: Mapping[str, Stop], stops: Sequence[Stop]) -> tuple[str, ...]:
    """Return the instructions that take an instruction's place."""
    name = defined(line)
    if name is None or name not in found:
        return (line,)
    compared = parse(line)
    raw = beside(name, f"met.{stops.index(found[name])}")
    met = str(compared._replace(result=raw))
    if compared.predicate == "eq":
        return met, f"{name} = and i1 {raw}, {RARE}"
    other = beside(name, "usual")
    return met, f"{other} = xor i1 {RARE}, true", f"{name} = or i1 {raw}, {other}"
