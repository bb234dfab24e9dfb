"""plot: the rows of a run as a picture: PNG by matplotlib where it is installed, else SVG written here."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launch_overhead.timing import Row

Point = tuple[float, float]
_COLORS = ("#1b7837", "#2166ac", "#b2182b", "#e08214", "#762a83", "#35978f", "#8c510a")  # one for each whose launch
_DASHES = {"scalars": "", "own arrays": "6 3", "torch tensors": "2 2", "CuPy arrays": "8 3 2 3", "NumPy arrays": "1 4"}
_BLACK = "#000000"
_LEFT, _TOP, _WIDTH, _HEIGHT, _LEGEND = 70, 50, 560, 380, 300


def draw(rows: Sequence[Row], names: Sequence[str], title: str, file: Path) -> Path:
    """Draw microseconds per launch over the number of arguments; return the file, .svg where there is no matplotlib."""
    lines = _lines(rows, names)
    try:
        import matplotlib
    except ImportError:
        found = file.with_suffix(".svg")
        found.write_text(_svg(lines, title))
        return found
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9.5, 5.5), constrained_layout=True)
    for line in lines:
        dashes = [float(length) for length in line.dashes.split()]
        (drawn,) = axes.plot(*zip(*line.points, strict=True), marker="o", ms=3, label=line.label, color=line.color)
        drawn.set_linestyle((0, dashes) if dashes else "-")
    axes.set(xlabel="arguments", ylabel="microseconds per launch", title=title, yscale="log")
    axes.set_xscale("symlog", linthresh=4)
    axes.set_xticks([0, 1, 2, 3, 4, 26], labels=["0", "1", "2", "3", "4", "26"])
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(file, dpi=130)
    return file


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
            color=colors.get(who, _BLACK),
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
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _LEGEND}" height="{_TOP + _HEIGHT + 60}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, _TOP - 20, title, size=15),
        _text(_LEFT + _WIDTH / 2 - 30, _TOP + _HEIGHT + 45, "arguments"),
        _text(5, _TOP - 5, "us per launch"),
    ]
    for value in (v * 10**e for e in range(-2, 5) for v in (1, 2, 5)):
        if low <= math.log10(value) <= high:
            parts += [_line(_LEFT, down(value), _LEFT + _WIDTH, down(value)), _text(20, down(value) + 4, f"{value:g}")]
    for count in (0, 1, 2, 3, 4, 26):
        parts += [
            _line(across(count), _TOP, across(count), _TOP + _HEIGHT),
            _text(across(count) - 4, _TOP + _HEIGHT + 18, str(count)),
        ]
    for index, line in enumerate(lines):
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line.points)
        style = f'stroke="{line.color}" stroke-width="2" stroke-dasharray="{line.dashes or "none"}"'
        parts.append(f'<polyline points="{path}" fill="none" {style}/>')
        parts += [
            f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3" fill="{line.color}"/>' for x, y in line.points
        ]
        left, top = _LEFT + _WIDTH + 15, _TOP + 12 + 20 * index
        parts.append(f'<line x1="{left}" y1="{top - 4}" x2="{left + 28}" y2="{top - 4}" {style}/>')
        parts.append(_text(left + 34, top, line.label))
    return "\n".join([*parts, "</svg>\n"])


def _text(x: float, y: float, text: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}">{html.escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'
