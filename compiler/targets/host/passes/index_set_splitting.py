"""Index-set splitting: the places of a row where conditions change (`j < columns`), between which all threads agree.

If each side of a comparison is a multiple of the place along the row plus something that does not depend on it, the
comparison changes at one place of the row, or at two if it tests equality. A loop runs the threads between two such
places and evaluates the condition once, at the first of them (`%gj.at`). LLVM sees a condition that does not change in
the loop, and needs no masks. Where a value is so large that it may wrap around, each thread is run by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.affine import ONE, PLACE, Affine, Row
from gridjit.compiler.targets.host.analysis.barriers import is_cut
from gridjit.compiler.targets.host.ir.body import Block, Body, Parameter, defined, definitions_of, opcode, used
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.guard_hoisting import PASSES
from gridjit.compiler.targets.host.passes.row_values import FAR, RegionValues, RowWriter

AT = "%gj.at"
_BRANCH = "br i1 %"
_JOINED = frozenset(("and", "or", "xor", "select"))
_RARE = "gj.met."
_EFFECTS = frozenset(("store", "call", "atomicrmw", "cmpxchg"))
# More conditions make more code than they save, and so does a region of more lines.
_MOST, _LONG = 4, 150
# So does a longer region whose rows are run part by part: LLVM copies the loops over all rows for each condition.
_LONG_STRAIGHT = 120
# No product of this and a place along a row, added to a value that is not far, wraps around.
_WIDEST = 1 << 16

# Two values; the first is less than the second up to a place of the row, or from it on.
Pair = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSetSplit:
    """A body in which some comparisons are evaluated at `%gj.at`. axis: that of a row.

    pairs: by the comparisons' numbers, the values between which they change.
    """

    body: Body
    axis: str
    pairs: tuple[tuple[Pair, ...], ...] = ()


def index_set_split(body: Body, axis: str) -> IndexSetSplit:
    """Return body with the comparisons that it branches on evaluated at `%gj.at`. axis: that of a row, x or y."""
    lines = definitions_of(body.lines)
    # Whether they are the same along a row is asked where a region begins.
    row = Row(lines, axis, [name for name, line in lines.items() if opcode(line) == "phi"])
    asked = _asked(body.blocks, lines)
    ways = body.by_label
    cuts = {block.label for block in body.blocks if any(map(is_cut, block.lines))}
    found = dict[str, _Comparison]()
    for name, labels in asked.items():
        if (one := _comparison(lines[name], row)) is not None and (
            one.moves(lines) or any(_decides(ways[label], ways, cuts) for label in labels)
        ):
            found[name] = one
        if len(found) > 2 * _MOST:
            break
    if not 0 < len(found) <= 2 * _MOST:
        return IndexSetSplit(body=body, axis=axis)
    numbers = {name: number for number, name in enumerate(found)}

    def written(line: str) -> tuple[str, ...]:
        name = defined(line)
        return found[name].text(line, numbers[name]) if name in found else (line,)

    blocks = (
        replace(block, lines=tuple(new for line in block.lines for new in written(line))) for block in body.blocks
    )
    pairs = tuple(one.pairs for one in found.values())
    return IndexSetSplit(body=replace(body, blocks=tuple(blocks)), axis=axis, pairs=pairs)


def _asked(blocks: Sequence[Block], lines: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the comparisons that branches depend on, with the labels of these branches' blocks.

    Comparisons of the guard do not count, nor do those that only peeled threads make.
    """
    found: dict[str, list[str]] = {}
    for block in blocks:
        last = block.lines[-1]
        if last.startswith(_BRANCH) and (condition := last.removeprefix("br i1 ").partition(", ")[0]) != PASSES:
            for name in _joined(condition, lines):
                found.setdefault(name, []).append(block.label)
    return {name: found[name] for name in lines if name in found}


def _joined(condition: str, lines: Mapping[str, str]) -> set[str]:
    """Return the comparisons that a condition is made of."""
    seen, waiting = set[str](), [condition]
    while waiting:
        name = waiting.pop()
        line = lines.get(name, "")
        is_joint = opcode(line) in _JOINED if line else False
        if name not in seen and line and not (is_joint and any(_is_rare(one, lines) for one in used(line))):
            seen.add(name)
            waiting += used(line) if is_joint else ()
    return {name for name in seen if opcode(lines[name]) == "icmp"}


def _decides(block: Block, ways: Mapping[str, Block], cuts: Collection[str]) -> bool:
    """Return whether a branch decides on anything with effects, since masked code for it is slow."""
    sides = [_reached(label, ways, cuts) for label in block.successors]
    apart = set().union(*sides) - set(sides[0]).intersection(*sides)
    return any(opcode(line) in _EFFECTS and "@llvm." not in line for label in apart for line in ways[label].lines)


def _reached(start: str, ways: Mapping[str, Block], cuts: Collection[str]) -> set[str]:
    """Return the labels of the blocks that follow, up to the next barrier; cuts: the blocks that have one."""
    return set(reached([start], lambda label: () if label in cuts else ways[label].successors))


def _is_rare(name: str, lines: Mapping[str, str]) -> bool:
    return any(_RARE in one for one in (name, *used(lines.get(name, ""))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """A comparison of linear values of 64 bits, and between which values it changes."""

    predicate: str
    first: Affine
    second: Affine
    pairs: tuple[Pair, ...]

    def moves(self, lines: Mapping[str, str]) -> bool:
        """Return whether the place where it changes depends on the block.

        Most blocks then have none, so splitting for it costs little.
        """
        parts = [part.rpartition(" ")[2] for value in (self.first, self.second) for part in value]
        return any(name.startswith("%gj.ctaid.") for name in reached(parts, lambda name: used(lines.get(name, ""))))

    def text(self, line: str, number: int) -> tuple[str, ...]:
        """Return the instructions that replace the instruction; the first gives `_at`, as `split_region` expects."""
        made = [f"{_at(number)} = zext i32 {AT} to i64"]
        a, b = (_sum(value, number, side, made) for side, value in enumerate((self.first, self.second)))
        return *made, f"{defined(line)} = icmp {self.predicate} i64 {a}, {b}"


def _at(number: int) -> str:
    return f'%"gj.split.{number}.at"'


def _sum(value: Affine, number: int, side: int, made: list[str]) -> str:
    """Return a linear value at `%gj.at`; the instructions that compute it are added to `made`."""
    total, fresh = str(value.get(ONE, 0)), 0
    for part, times in value.items():
        if part == ONE:
            continue
        fresh += 1
        name = f'%"gj.split.{number}.{side}.{fresh}"'
        how, _, one = part.rpartition(" ")
        if part == PLACE:
            one = _at(number)
        elif how:
            made.append(f'{name[:-1]}.wide" = {how} i32 {one} to i64')
            one = f'{name[:-1]}.wide"'
        made.append(f'{name[:-1]}.part" = mul i64 {one}, {times}')
        made.append(f'{name} = add i64 {total}, {name[:-1]}.part"')
        total = name
    return total


def _comparison(line: str, row: Row) -> _Comparison | None:
    """Return an instruction's comparison if it compares linear values, at least one of which varies along the row."""
    found = parse(line)
    if found.opcode != "icmp" or found.kind not in ("i32", "i64") or not found.is_binary:
        return None
    predicate, kind = found.flags[-1], found.kind
    how = "zext" if predicate[0] == "u" else "sext"
    values = [row.value(one) if kind == "i64" else row.widened(one, how) for one in found.values]
    if None in values or _RARE in found.result:
        return None
    a, b = (value or {} for value in values)
    if not any(PLACE in one for one in (a, b)) or any(abs(one.get(PLACE, 0)) > _WIDEST for one in (a, b)):
        return None
    pairs = dict.fromkeys(_pairs(predicate, kind, a, b))
    return _Comparison(predicate=predicate, first=a, second=b, pairs=tuple(pairs))


def _pairs(predicate: str, kind: str, a: Affine, b: Affine) -> Iterator[Pair]:
    """Yield the pairs between which a comparison changes. Values that were zero-extended are not negative."""
    if predicate in ("eq", "ne", "sgt", "sle", "ugt", "ule"):
        yield _frozen(b), _frozen(a)
    if predicate in ("eq", "ne", "slt", "sge", "ult", "uge"):
        yield _frozen(a), _frozen(b)
    if predicate[0] == "u" and kind == "i64":
        yield from ((_frozen(one), ()) for one in (a, b) if PLACE in one)


def _frozen(value: Affine) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(value.items()))


def split_name(number: int) -> str:
    """Return the name of the function that returns the next place of a row where a region's conditions change."""
    return f"gridjit.split.{number}"


def is_straight(region: str, ends: str, axis: str) -> bool:
    """Return whether the ends of parts are the same in all rows of a region that tells its rows apart, and is not long.

    Threads that do not ask for their row mostly have only one. axis: that of a row.
    """
    if region.count("\n") > _LONG_STRAIGHT:
        return False
    across = {f"%gj.tid.{other}" for other in "xyz" if other != axis}
    asks, finds = (used(text.partition("{\n")[2]) for text in (region, ends))
    return not asks.isdisjoint(across) and finds.isdisjoint({*across, "%gj.thread"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRegion:
    """A region's text, and the function that finds where the parts of its rows end; "" if rows are run as a whole."""

    region: str
    ends: str = ""


def split_region(
    index_set_split: IndexSetSplit,
    number: int,
    text: str,
    region: RegionValues,
    parameters: Sequence[Parameter],
    *,
    alone: bool,
) -> SplitRegion:
    """Return a region in which each thread evaluates the conditions whose changes are not known before a row is run.

    text: the region's. parameters: its own. alone: whether it does not continue in another region.
    """
    mine = [one for one in range(len(index_set_split.pairs)) if f"{_at(one)} = " in text]
    writer, nearest, known = RowWriter(region, parameters), "%gj.end", set[int]()
    for one in mine if alone and text.count("\n") <= _LONG else ():
        if len(known) < _MOST and (ends := _ends(writer, index_set_split.pairs[one])) is not None:
            known.add(one)
            for end in ends:
                nearest = writer.new(f"call i64 @llvm.umin.i64(i64 {nearest}, i64 {end})")
    for one in mine:
        if one not in known:
            text = text.replace(
                f"{_at(one)} = zext i32 {AT} ", f"{_at(one)} = zext i32 %gj.tid.{index_set_split.axis} "
            )
    if not known:
        return SplitRegion(region=text)
    one_further = writer.new("add i64 %gj.place, 1")
    end = writer.new(f"trunc i64 {writer.new(f'select i1 {writer.all}, i64 {nearest}, i64 {one_further}')} to i32")
    return SplitRegion(region=text, ends=writer.function(split_name(number), "i32", end))


def _ends(writer: RowWriter, pairs: Sequence[Pair]) -> list[str] | None:
    """Write the code that finds where each pair changes next, behind %gj.place, the first place of a part.

    It is asked anew for each part. The place may lie beyond the row; %gj.end stands for none. None: it is not known
    before the row is run.
    """
    starts = []
    for pair in pairs:
        values = [writer.total(dict(value), "0") for value in pair]
        if None in values:
            return None
        starts.append(values)
    return [_end(writer, pair, first or "", second or "") for pair, (first, second) in zip(pairs, starts, strict=True)]


def _end(writer: RowWriter, pair: Pair, first: str, second: str) -> str:
    """Write the code that finds where `first + a * place < second + b * place` changes; first, second: at place 0."""
    slopes = [dict(value).get(PLACE, 0) for value in pair]
    for start, slope in zip((first, second), slopes, strict=True):
        if slope:
            moved = writer.new(f"add i64 {start}, {FAR}")
            writer.holds(f"icmp ult i64 {moved}, {2 * FAR}")
    way = slopes[0] - slopes[1]
    if not way:
        return "%gj.end"
    # It holds where way * place is less than the gap: before the place gap / way, or after it.
    low, high = (first, second) if way > 0 else (second, first)
    gap = writer.new(f"call i64 @llvm.ssub.sat.i64(i64 {high}, i64 {low})")
    before = writer.new(f"call i64 @llvm.ssub.sat.i64(i64 {gap}, i64 1)") if way > 0 else gap
    steps = writer.new(f"sdiv i64 {before}, {abs(way)}")
    at = writer.new(f"add i64 {steps}, 1")
    inside = writer.new(f"icmp ugt i64 {at}, %gj.place")
    ahead = writer.new(f"icmp sge i64 {before}, 0")
    both = writer.new(f"and i1 {inside}, {ahead}")
    return writer.new(f"select i1 {both}, i64 {at}, i64 %gj.end")
