"""plot: the rows of a run as a picture: PNG by matplotlib where it is installed, else SVG written here."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path

from launch_overhead.timing import Row

Point = tuple[float, float]
_COLORS = ("#222222", "#1b7837", "#2166ac", "#b2182b", "#e08214", "#762a83", "#35978f", "#8c510a", "#c51b7d", "#666666")
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
    for index, (label, points) in enumerate(lines.items()):
        style = "--" if label.startswith("floor") else "-"
        axes.plot(*zip(*points, strict=True), style, marker="o", ms=3, label=label, color=_COLORS[index % len(_COLORS)])
    axes.set(xlabel="arguments", ylabel="microseconds per launch", title=title, yscale="log")
    axes.set_xscale("symlog", linthresh=4)
    axes.set_xticks([0, 1, 2, 3, 4, 26], labels=["0", "1", "2", "3", "4", "26"])
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(file, dpi=130)
    return file


def _lines(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Point]]:
    """Return what is drawn, by label: lazy signatures; of ours configured once, of peers as they are used."""
    lines: dict[str, list[Point]] = {}
    for row in rows:
        ours = row.who in names or row.who == "numba-cuda"
        if row.signature in ("lazy", "packed") and (row.how == "once" or not ours) and row.median > 0:
            label = f"{row.who}, {row.what}" if row.who != "floor" else "floor: C loop"
            points = lines.setdefault(label, [])
            if all(count != row.count for count, _ in points):
                points.append((row.count, row.median))
    return {label: sorted(points) for label, points in lines.items()}


def _svg(lines: dict[str, list[Point]], title: str) -> str:
    everything = [y for points in lines.values() for _, y in points] or [1.0]
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
    for index, (label, points) in enumerate(lines.items()):
        color = _COLORS[index % len(_COLORS)]
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
        dashes = ' stroke-dasharray="6 4"' if label.startswith("floor") else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3" fill="{color}"/>' for x, y in points]
        top = _TOP + 12 + 20 * index
        parts.append(_line(_LEFT + _WIDTH + 15, top - 4, _LEFT + _WIDTH + 40, top - 4, color, 2))
        parts.append(_text(_LEFT + _WIDTH + 46, top, label))
    return "\n".join([*parts, "</svg>\n"])


def _text(x: float, y: float, text: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}">{html.escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str = "#dddddd", width: int = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'
