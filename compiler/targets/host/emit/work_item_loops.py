"""Work-item loops: loops over threads - by planes and rows - around a body that is given as lines of LLVM IR.

A row runs along the inner axis, x or y. Where it is known which threads of a row pass a condition, a loop of their own
runs them, and another the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridjit.compiler.targets.host.emit.metadata import LAUNCH, loop_number
from gridjit.compiler.targets.host.emit.plan import PLANES, ROWS
from gridjit.compiler.targets.host.emit.rows import (
    PART,
    RowBody,
    SplitRow,
    SunkRow,
    VersionedRow,
    next_stop,
    of_part,
    stops_within,
    straight_parts,
)
from gridjit.compiler.targets.host.ir.body import defined, rename
from gridjit.compiler.targets.host.passes import iteration_bounds
from gridjit.compiler.targets.host.passes.divisions import handed
from gridjit.compiler.targets.host.passes.peeling import FIRST, LAST

# The values that a function's loops share; every other value is a loop's own.
_SHARED_NAMES = (
    *(f"%{name}" for name in LAUNCH),
    *(f"%ctaid.{axis}" for axis in "xyz"),
    *("%dynamic", "%threads", "%params", "%launch", "%shared", "%slab", "%states", "%status", "%width", "%depth"),
    *("%turn", "%went"),
    *("%low", "%high", "%holds", "%nothing"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a row's bounds are asked: by a call. then: what is done with %first and %end before any thread is run.

    skip: whether threads that are known to be outside are not run at all.
    """

    call: str
    then: tuple[str, ...]
    skip: bool


# What keeps the divisions of a row's thread apart from those of other rows.
_ROW_APART = "%row.apart"


@dataclass(slots=True)
class ThreadLoops:
    """Writes loops, and remembers for their metadata which of those written may be vectorized.

    inner: the axis of a row. width, depth: how many threads there are along x and y. divided: whether each thread is
    handed what keeps its divisions its own (passes/divisions.py). outside: what the loops are called for one by one, if
    not for whole blocks: ROWS, whose numbers are in %row.number, or PLANES, whose numbers are in %tid.z. scalar:
    whether none of those written may be vectorized.
    """

    inner: str = "x"
    width: str = "%ntid.x"
    depth: str = "%ntid.y"
    divided: bool = False
    outside: str = ""
    scalar: bool = False
    vectorized: list[bool] = field(default_factory=list)

    def loop(self, name: str, body: RowBody, before: str, after: str, *, vectorize: bool = True) -> list[str]:
        """Return the loops over all threads around body; names inside are made unique by a prefix.

        They follow the block called before, and lead to the one called after. body finds the thread's number in %t
        and %t.wide.
        """
        if isinstance(body, SunkRow):
            return self._then_late(name, body, before, after)
        if (ends := straight_parts(body)) is not None:
            return self._by_parts(name, of_part(body), ends, before, after)
        return self._all(name, body, ("0", self.length), before, after, vectorize=vectorize)

    def _all(
        self, name: str, body: RowBody, ends: tuple[str, str], before: str, after: str, *, vectorize: bool = True
    ) -> list[str]:
        """Return the loops over the threads of all rows that are within ends."""
        row = self._row(f"{name}.{self.inner}", body, ends, f"{name}.row", vectorize=vectorize)
        return self._rows(name, [f"  br label %{name}.{self.inner}", *row], before, after)

    def _by_parts(
        self, name: str, body: RowBody, ends: Callable[[str, str], str], before: str, after: str
    ) -> list[str]:
        """Return the loop over the parts that all rows have, around loops over the rows: each is asked for once."""
        begun, rows, over = (f"{name}.{what}" for what in ("begun", "rows", "parted"))
        lines = [
            f"  br label %{begun}",
            f"{begun}:",
            f"  {PART} = phi i32 [ 0, %{before} ], [ %part.end, %{over} ]",
            f"  %until = {ends(PART, self.length)}",
            f"  %part.end = call i32 @llvm.umin.i32(i32 %until, i32 {self.length})",
            f"  %part.any = icmp ult i32 {PART}, %part.end",
            f"  br i1 %part.any, label %{rows}, label %{over}",
            f"{rows}:",
            *self._all(name, body, (PART, "%part.end"), rows, over),
            f"  %part.more = icmp ult i32 %part.end, {self.length}",
            f"  br i1 %part.more, label %{begun}, label %{after}, !llvm.loop !{self._number(vectorize=False)}",
            f"{after}:",
        ]
        return _prefixed(lines, name)

    def _then_late(self, name: str, body: SunkRow, before: str, after: str) -> list[str]:
        """Return the loops over all threads, and behind them, for each stop, those over the threads that are there.

        What is the same in all rows is not asked of each.
        """
        late = f"{name}.late"
        lines = self.loop(name, body.usual, before, late)
        for number in range(len(body.stops)):
            alone, over = f"{late}.{number}", f"{late}.{number}.over"
            lines += [
                *_prefixed(stops_within(body.stops[: number + 1], self.inner, ("0", self.length)), alone),
                f"  br i1 %{alone}.stop.{number}.any, label %{alone}.begin, label %{over}",
                f"{alone}.begin:",
                *self._rows(alone, self._late(alone, body, number), f"{alone}.begin", f"{alone}.done", vectorize=False),
                f"  br label %{over}",
                f"{over}:",
            ]
        return [*lines, f"  br label %{after}", f"{after}:"]

    def _late(self, name: str, body: SunkRow, number: int) -> list[str]:
        """Return the code that runs the thread at a stop, which is in the row."""
        place = f"%{name}.stop.{number}"
        alone = self._alone(f"{name}.alone", place, body.sunk)
        return [f"  br label %{name}.alone", *alone, f"  br label %{name}.row.end"]

    def narrowed(self, name: str, body: RowBody, ends: list[str], before: str, after: str) -> list[str]:
        """Return such loops over a part of each row: from %from to before %to, which the code `ends` finds."""
        lines = [
            *ends,
            "  %any = icmp ult i32 %from, %to",
            f"  br i1 %any, label %{name}.begin, label %{name}.row.end",
            f"{name}.begin:",
            f"  br label %{name}.{self.inner}",
            *self._row(f"{name}.{self.inner}", body, ("%from", "%to"), f"{name}.begin"),
        ]
        return self._rows(name, lines, before, after)

    def bounded(self, name: str, ask: Asked, inside: RowBody, outside: list[str], before: str, after: str) -> list[str]:
        """Return the loops over all threads around inside, for those within their row's bounds, and outside."""
        skip = ask.skip
        parts = ("outside", "inside", "rest")
        begins = {part: f"{name}.{part}.begin" for part in parts}
        loops = {
            "outside": self._row(f"{name}.outside", outside, ("0", "%first"), begins["outside"], vectorize=False),
            "inside": self._row(f"{name}.inside", inside, ("%first", "%end"), begins["inside"]),
            "rest": self._row(f"{name}.rest", outside, ("%further", self.length), begins["rest"], vectorize=False),
        }
        further = f"  %further = select i1 %known, i32 {self.length}, i32 0" if skip else "  %further = add i32 %end, 0"
        lines = [
            f"  %bounds = {ask.call}",
            f"  %first = extractvalue {iteration_bounds.RESULT} %bounds, 0",
            f"  %end = extractvalue {iteration_bounds.RESULT} %bounds, 1",
            f"  %known = extractvalue {iteration_bounds.RESULT} %bounds, 2",
            further,
            *ask.then,
        ]
        for part, first, end in (
            ("outside", "0", "%first"),
            ("inside", "%first", "%end"),
            ("rest", "%further", self.length),
        ):
            if part == "outside" and skip:
                continue
            lines += [
                f"  br label %{begins[part]}",
                f"{begins[part]}:",
                f"  %{part}.any = icmp ult i32 {first}, {end}",
                f"  br i1 %{part}.any, label %{name}.{part}, label %{name}.{part}.over",
                *loops[part],
                f"{name}.{part}.over:",
            ]
        return self._rows(name, [*lines, f"  br label %{name}.row.end"], before, after)

    @property
    def length(self) -> str:
        """How many threads a row has."""
        return self.width if self.inner == "x" else self.depth

    @property
    def _outer(self) -> str:
        """The axis across the rows of a plane."""
        return "y" if self.inner == "x" else "x"

    @property
    def step(self) -> str:
        """How far apart the numbers of a row's threads are."""
        return "1" if self.inner == "x" else "%ntid.x"

    def _number(self, *, vectorize: bool) -> int:
        self.vectorized.append(vectorize and not self.scalar)
        return loop_number(len(self.vectorized) - 1)

    def _rows(self, name: str, row: list[str], before: str, after: str, *, vectorize: bool = True) -> list[str]:
        """Return the loops over planes and rows around row, which begins in the block called name.row."""
        if self.outside == ROWS:
            return _prefixed(self._only_row(name, row, after), name)
        outer = self._outer
        count = self.depth if outer == "y" else self.width
        one = self.outside == PLANES
        plane, over = (before, after) if one else (f"{name}.z", f"{name}.z.end")
        planes = [f"  br label %{plane}", f"{plane}:", f"  %tid.z = phi i32 [ 0, %{before} ], [ %z.next, %{over} ]"]
        lines = [
            *([] if one else planes),
            f"  br label %{name}.row",
            f"{name}.row:",
            f"  %tid.{outer} = phi i32 [ 0, %{plane} ], [ %{outer}.next, %{name}.row.end ]",
            *(handed(plane, f"{name}.row.end", _ROW_APART) if self.divided else []),
            *self._row_start(),
            *row,
            *_end(f"{name}.row", outer, count, over, self._number(vectorize=vectorize)),
            *([] if one else _end(plane, "z", "%ntid.z", after, self._number(vectorize=vectorize))),
            f"{after}:",
        ]
        return _prefixed(lines, name)

    def _only_row(self, name: str, row: list[str], after: str) -> list[str]:
        """Return row for the row that the function is called for."""
        return [
            f"  br label %{name}.row",
            f"{name}.row:",
            *(f"  {value} = add i32 0, 0" for value in ("%tid.y", "%tid.z", *([_ROW_APART] if self.divided else []))),
            "  %row.start = mul nuw nsw i32 %row.number, %ntid.x",
            *row,
            f"{name}.row.end:",
            f"  br label %{after}",
            f"{after}:",
        ]

    def _row_start(self) -> list[str]:
        """Return the number of a row's first thread."""
        if self.inner == "x":
            return [
                "  %z.rows = mul nuw nsw i32 %tid.z, %ntid.y",
                "  %row.number = add nuw nsw i32 %z.rows, %tid.y",
                "  %row.start = mul nuw nsw i32 %row.number, %ntid.x",
            ]
        return [
            "  %z.rows = mul nuw nsw i32 %tid.z, %ntid.y",
            "  %z.start = mul nuw nsw i32 %z.rows, %ntid.x",
            "  %row.start = add nuw nsw i32 %z.start, %tid.x",
        ]

    def _row(
        self, label: str, body: RowBody, ends: tuple[str, str], before: str, *, vectorize: bool = True
    ) -> list[str]:
        """Return the loop over a row's threads from the first of ends to before the second, or one of two loops."""
        name = label.partition(".")[0]
        after = f"{name}.row.end" if label == f"{name}.{self.inner}" else f"{label}.over"
        return self._one(label, body, ends, before, after, vectorize=vectorize)

    def _plainly(
        self, label: str, body: VersionedRow, ends: tuple[str, str], after: str, *, vectorize: bool
    ) -> list[str]:
        """Return the loop over a row's threads, or one of two."""
        return [
            f"{label}:",
            f"  %{label}.plain = {body.call(*ends)}",
            f"  br i1 %{label}.plain, label %{label}.plainly, label %{label}.asking",
            *self._one(f"{label}.plainly", body.body, ends, label, after, vectorize=vectorize),
            *self._one(f"{label}.asking", body.otherwise, ends, label, after, vectorize=vectorize),
        ]

    def _one(
        self, label: str, body: RowBody, ends: tuple[str, str], before: str, after: str, *, vectorize: bool
    ) -> list[str]:
        if isinstance(body, SplitRow):
            return self._parts(label, body, ends, before, after)
        if isinstance(body, SunkRow):
            return self._afterwards(label, body, ends, after)
        if isinstance(body, VersionedRow):
            return self._plainly(label, body, ends, after, vectorize=vectorize)
        first, end = ends
        lines = [
            f"{label}:",
            f"  %tid.{self.inner} = phi i32 [ {first}, %{before} ], [ %{self.inner}.next, %{label}.end ]",
            *(handed(before, f"{label}.end") if self.divided else []),
            *self._thread(),
            *body,
            f"  br label %{label}.end",
            *_end(label, self.inner, end, after, self._number(vectorize=vectorize)),
        ]
        return _prefixed(lines, label)

    def _together(self) -> list[str]:
        """Return the code for a thread that is run outside the loop over the others of its row."""
        return [f"  %apart = add i32 {_ROW_APART}, 0"] if self.divided else []

    def _thread(self) -> list[str]:
        """Return the code that finds a thread's number from its place along the row."""
        return [
            f"  %far = mul nuw nsw i32 %tid.{self.inner}, {self.step}",
            "  %t = add nuw nsw i32 %row.start, %far",
            "  %t.wide = zext nneg i32 %t to i64",
        ]

    def _parts(self, label: str, body: SplitRow, ends: tuple[str, str], before: str, after: str) -> list[str]:
        """Return the loop over the parts of a row: the threads up to the next that is run by itself, and that one."""
        if not body.ends and {FIRST, LAST}.issuperset(body.stops):
            return self._between(label, body, ends, before, after)
        first, end = ends
        usual, alone, back = f"{label}.usual", f"{label}.alone", f"{label}.parted"
        until = body.ends(PART, end) if body.ends else f"add i32 {end}, 0"
        passed = f"phi i32 [ %part.end, %{usual}.over ], [ %alone.next, %{alone} ]"
        following = passed if body.stops else "add i32 %part.end, 0"
        lines = [
            f"{label}:",
            f"  {PART} = phi i32 [ {first}, %{before} ], [ %part.next, %{back} ]",
            *next_stop(body.stops, self.inner, end),
            f"  %until = {until}",
            "  %part.end = call i32 @llvm.umin.i32(i32 %until, i32 %stop)",
            f"  %usual.any = icmp ult i32 {PART}, %part.end",
            f"  br i1 %usual.any, label %{usual}.begin, label %{usual}.over",
            f"{usual}.begin:",
            f"  br label %{usual}",
            *self._one(usual, body.usual, (PART, "%part.end"), f"{usual}.begin", f"{usual}.over", vectorize=True),
            f"{usual}.over:",
            *(self._at_stop(alone, body, end, back) if body.stops else [f"  br label %{back}"]),
            f"{back}:",
            f"  %part.next = {following}",
            f"  %part.more = icmp ult i32 %part.next, {end}",
            f"  br i1 %part.more, label %{label}, label %{after}, !llvm.loop !{self._number(vectorize=False)}",
        ]
        return _prefixed(lines, label)

    def _between(self, label: str, body: SplitRow, ends: tuple[str, str], before: str, after: str) -> list[str]:
        """Return the loop over a row's threads; the first and the last are run by themselves if they are stops."""
        end, begin = ends[1], f"{label}.usual.begin"
        others = ("%others", end)
        lines = [f"{label}:", *self._lead(label, body, ends, begin, after)]
        if LAST in body.stops:
            lines += self._trail(label, body, others, begin, after)
        else:
            usual = self._one(f"{label}.usual", body.usual, others, begin, after, vectorize=True)
            lines += [f"  br label %{label}.usual", *usual]
        return _prefixed(lines, label)

    def _lead(self, label: str, body: SplitRow, ends: tuple[str, str], begin: str, after: str) -> list[str]:
        """Return the code that runs a row's first thread if it is a stop, and finds %others, which come after it."""
        first, end = ends
        if FIRST not in body.stops:
            return [f"  br label %{begin}", f"{begin}:", f"  %others = add i32 {first}, 0"]
        alone = f"{label}.first"
        return [
            f"  %leads = icmp eq i32 {first}, 0",
            f"  br i1 %leads, label %{alone}, label %{begin}",
            *self._alone(alone, "0", body.rare),
            f"  %others.any = icmp ult i32 1, {end}",
            f"  br i1 %others.any, label %{begin}, label %{after}",
            f"{begin}:",
            f"  %others = phi i32 [ {first}, %{label} ], [ 1, %{alone} ]",
        ]

    def _trail(self, label: str, body: SplitRow, ends: tuple[str, str], begin: str, after: str) -> list[str]:
        """Return the loop over the threads from the first of ends on, and code that runs a row's last one."""
        first, end = ends
        usual, over, alone = f"{label}.usual", f"{label}.usual.over", f"{label}.last"
        return [
            f"  %row.last = sub i32 %ntid.{self.inner}, 1",
            f"  %up.to = call i32 @llvm.umin.i32(i32 {end}, i32 %row.last)",
            f"  %usual.any = icmp ult i32 {first}, %up.to",
            f"  br i1 %usual.any, label %{usual}, label %{over}",
            *self._one(usual, body.usual, (first, "%up.to"), begin, over, vectorize=True),
            f"{over}:",
            f"  %last.any = icmp ult i32 %row.last, {end}",
            f"  br i1 %last.any, label %{alone}, label %{after}",
            *self._alone(alone, "%row.last", body.rare),
            f"  br label %{after}",
        ]

    def _alone(self, label: str, place: str, body: list[str]) -> list[str]:
        """Return the code that runs the thread at a place of a row."""
        lines = [f"{label}:", f"  %tid.{self.inner} = add i32 {place}, 0", *self._together(), *self._thread(), *body]
        return _prefixed(lines, label)

    def _at_stop(self, label: str, body: SplitRow, end: str, after: str) -> list[str]:
        """Return the code that runs the thread at %stop by itself, if the part ends there."""
        return [
            "  %at.stop = icmp eq i32 %part.end, %stop",
            f"  %in.row = icmp ult i32 %stop, {end}",
            "  %alone.any = and i1 %at.stop, %in.row",
            f"  br i1 %alone.any, label %{label}, label %{after}",
            f"{label}:",
            f"  %tid.{self.inner} = add i32 %stop, 0",
            *self._together(),
            *self._thread(),
            *body.rare,
            "  %alone.next = add nuw nsw i32 %stop, 1",
            f"  br label %{after}",
        ]

    def _afterwards(self, label: str, body: SunkRow, ends: tuple[str, str], after: str) -> list[str]:
        """Return the loop over a row's threads, and behind it code that runs each of the threads at stops once."""
        # In the order of the row's threads, unless the row is very short.
        stops = sorted(body.stops, key=lambda stop: (stop.from_end, stop.place))
        found = stops_within(stops, self.inner, ends)
        usual = self._one(f"{label}.usual", body.usual, ends, label, f"{label}.late", vectorize=True)
        lines = [f"{label}:", f"  br label %{label}.usual", *usual, f"{label}.late:", *found]
        for number in range(len(stops)):
            alone, over = f"{label}.late.{number}", f"{label}.late.{number}.over"
            over = over if number + 1 < len(stops) else after
            lines += [
                f"  br i1 %stop.{number}.any, label %{alone}, label %{over}",
                *self._alone(alone, f"%stop.{number}", body.sunk),
                f"  br label %{over}",
                *([f"{over}:"] if over != after else []),
            ]
        return _prefixed(lines, label)


def _end(label: str, axis: str, count: str, after: str, number: int) -> list[str]:
    """Return the end of the loop over an axis, which leads to its next turn or to `after`."""
    return [
        f"{label}.end:",
        f"  %{axis}.next = add nuw nsw i32 %tid.{axis}, 1",
        f"  %{axis}.more = icmp ult i32 %{axis}.next, {count}",
        f"  br i1 %{axis}.more, label %{label}, label %{after}, !llvm.loop !{number}",
    ]


def _prefixed(lines: list[str], name: str) -> list[str]:
    """Return lines in which every value and label that only this loop uses has a name of its own."""
    own = {found for line in lines if (found := defined(line.strip())) is not None} - set(_SHARED_NAMES)
    names = {value: f"%{name}.{value[1:]}" for value in own}
    return [rename(line, names) for line in lines]
