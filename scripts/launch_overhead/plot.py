"""plot: the rows of a run as a picture: an SVG file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridjit.commands.markup import Markup, element
from gridjit.commands.svg import number, whole_file, words
from launch_overhead.timing import Row

Point = tuple[float, float]
_COLORS = ("c0", "c4", "c3", "c2", "c5", "c1", "c6")  # of the palette, one for each whose launch
_DASHES = {"scalars": "", "own arrays": "6 3", "torch tensors": "2 2", "CuPy arrays": "8 3 2 3", "NumPy arrays": "1 4"}
_FLOOR = "ink"
_LEFT, _TOP, _WIDTH, _HEIGHT, _LEGEND = 70, 50, 560, 380, 300


def draw(rows: Sequence[Row], names: Sequence[str], title: str, file: Path) -> Path:
    """Draw microseconds per launch over the number of arguments; return the file, whose name ends in .svg."""
    found = file.with_suffix(".svg")
    found.write_text(_svg(_lines(rows, names), title))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the picture. color: says whose launch it is. dashes: say of what, in SVG's way."""

    label: str
    color: str
    dashes: str
    points: tuple[Point, ...]


def _lines(rows: Sequence[Row], names: Sequence[str]) -> list[Line]:
    """Return what is drawn: lazy signatures; of ours and numba-cuda configured once, of others as they are used."""
    points: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        configurable = row.who in names or row.who == "numba-cuda"
        if row.signature in ("lazy", "packed") and (row.how == "once" or not configurable) and row.median > 0:
            points.setdefault((row.who, row.what), {})[row.count] = row.median
    colors = dict(
        zip((who for who in dict.fromkeys(who for who, _ in points) if who != "floor"), itertools.cycle(_COLORS))
    )
    return [
        Line(
            label=f"{who}, {what}" if who != "floor" else f"C loop, {what}",
            color=colors.get(who, _FLOOR),
            dashes=_DASHES.get(what, "6 3"),
            points=tuple(sorted(found.items())),
        )
        for (who, what), found in points.items()
    ]


def _svg(lines: Sequence[Line], title: str) -> str:
    everything = [y for line in lines for _, y in line.points] or [1.0]
    low = math.floor(math.log10(min(everything)) * 2) / 2
    high = math.ceil(math.log10(max(everything)) * 2 + 0.01) / 2

    def across(count: float) -> float:
        return _LEFT + _WIDTH * (count / 4 * 0.6 if count <= 4 else 0.6 + 0.4 * (count - 4) / 22)

    def down(value: float) -> float:
        return _TOP + _HEIGHT * (high - math.log10(value)) / (high - low)

    parts = [
        words(_LEFT, _TOP - 22, title, size=16),
        words(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 45, "arguments", anchor="middle"),
        words(_LEFT, _TOP - 5, "microseconds per launch", size=12, kind="soft"),
    ]
    for value in (v * 10**e for e in range(-2, 5) for v in (1, 2, 5)):
        if low <= math.log10(value) <= high:
            parts += [_rule(_LEFT, down(value), _LEFT + _WIDTH, down(value))]
            parts += [words(_LEFT - 8, down(value) + 4, f"{value:g}", anchor="end", size=12)]
    for count in (0, 1, 2, 3, 4, 26):
        parts += [_rule(across(count), _TOP, across(count), _TOP + _HEIGHT)]
        parts += [words(across(count), _TOP + _HEIGHT + 18, str(count), anchor="middle", size=12)]
    for index, line in enumerate(lines):
        parts += _drawn(line, [(across(x), down(y)) for x, y in line.points], _TOP + 12 + 20 * index)
    return whole_file(parts, _LEFT + _WIDTH + _LEGEND, max(_TOP + _HEIGHT + 60, _TOP + 20 * len(lines) + 20), title)


def _drawn(line: Line, points: Sequence[Point], top: float) -> list[Markup]:
    """Return a line with its points, and its entry in the legend."""
    style = {"class_": f"s-{line.color}", "stroke_width": 2, "stroke_dasharray": line.dashes or None}
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    left = _LEFT + _WIDTH + 15
    return [
        element("polyline", points=path, fill="none", **style),
        *(element("circle", cx=number(x), cy=number(y), r=3, class_=f"f-{line.color}") for x, y in points),
        element("line", x1=left, x2=left + 28, y1=number(top - 4), y2=number(top - 4), **style),
        words(left + 34, top, line.label, size=12),
    ]


def _rule(x1: float, y1: float, x2: float, y2: float) -> Markup:
    ends = {"x1": number(x1), "y1": number(y1), "x2": number(x2), "y2": number(y2)}
    return element("line", class_="s-line", **ends)
