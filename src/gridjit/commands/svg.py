"""Pictures: bars, columns and timelines as SVG elements, and whole SVG files.

Widths inside an element are shares of its own (`12.5%`), so that it fits a phone as well as a desktop screen while its
text and heights stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gridjit.base.values import dataclass
from gridjit.commands.markup import Markup, element, raw

_LIGHT = {
    "ground": "#f6f7fb", "card": "#ffffff", "ink": "#1a2030", "soft": "#5d6780", "line": "#e2e6ef", "chip": "#eef1f8",
    "accent": "#4f46e5", "hit": "#12a37a", "miss": "#f0772b", "bad": "#d92d4a",
    "c0": "#4f46e5", "c1": "#0b9fd8", "c2": "#0fa596", "c3": "#f2a51f", "c4": "#e0483e", "c5": "#c94fb0",
    "c6": "#8792ab", "c7": "#c3cad9",
}  # fmt: skip
_DARK = {
    "ground": "#0e1119", "card": "#171c28", "ink": "#e8ebf4", "soft": "#97a1b8", "line": "#293043", "chip": "#222a3b",
    "accent": "#9b95ff", "hit": "#2fc79a", "miss": "#ff9450", "bad": "#ff6b81",
    "c0": "#857dff", "c1": "#38bdf4", "c2": "#2dd0be", "c3": "#fbbf4a", "c4": "#ff7569", "c5": "#e77fd0",
    "c6": "#6b7690", "c7": "#48526a",
}  # fmt: skip
# Of a set of things, one colour each; after the last, they begin again.
COLORS = tuple(f"c{number}" for number in range(8))
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def variables() -> str:
    """Return the style rules that define the colours, and a class that fills with each."""
    fills = "".join(f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in _LIGHT)
    return (
        f":root{{color-scheme:light dark;{_rules(_LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_rules(_DARK)}}}}}{fills}"
    )


def _rules(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


# Of a whole: a part below it cannot be seen.
_LEAST_WIDTH = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a bar: its value, its colour (a name of the palette), and the text shown when it is pointed at."""

    value: float
    color: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A box in a timeline: when it begins and ends, in which lane from 0, its colour and its title."""

    begins: float
    ends: float
    lane: int
    color: str
    title: str = ""


def bar(parts: Iterable[Part], whole: float, *, height: int = 14, says: str = "") -> Markup:
    """Return a bar of parts, one after the other; whole: the value at its full width. says: for who cannot see it."""
    boxes, left = [], 0.0
    for part in parts:
        width = share(part.value, whole)
        if width >= _LEAST_WIDTH:
            boxes.append(_box(left, 0, width, height, part.color, part.title))
        left += width
    return drawing(boxes, height, says, "bar")


def columns(groups: Sequence[Sequence[Part]], *, height: int = 120, says: str = "") -> Markup:
    """Return columns side by side, each of parts from the bottom up; the highest takes the whole height."""
    most = max((sum(part.value for part in group) for group in groups), default=0.0)
    each, boxes = 100 / max(1, len(groups)), []
    for number, group in enumerate(groups):
        top = float(height)
        for part in group:
            tall = part.value / most * (height - 2) if most else 0.0
            top -= tall
            if tall > 0:
                boxes.append(_box(number * each + each * 0.1, top, each * 0.8, tall, part.color, part.title))
    return drawing([_rule(height - 0.5), *boxes], height, says, "columns")


def timeline(
    spans: Iterable[Span], begins: float, ends: float, lanes: int, *, tall: int = 22, says: str = ""
) -> Markup:
    """Return boxes in lanes from begins to ends; a later box lies on top of the box that it is part of."""
    whole = max(ends - begins, 1e-9)
    boxes = [
        _box(
            share(span.begins - begins, whole),
            span.lane * tall + 2,
            max(share(span.ends - span.begins, whole), _LEAST_WIDTH),
            tall - 4,
            span.color,
            span.title,
        )
        for span in spans
    ]
    rules = [_rule((lane + 1) * tall) for lane in range(lanes)]
    return drawing([*rules, *boxes], lanes * tall + 1, says, "timeline")


def drawing(parts: Iterable[Markup], height: float, says: str, kind: str) -> Markup:
    """Return an SVG element as wide as there is room."""
    return element("svg", *parts, class_=kind, width="100%", height=number(height), role="img", aria_label=says)


def whole_file(parts: Iterable[object], width: int, height: int, title: str) -> str:
    """Return an SVG file of its own: it follows the reader's light or dark scheme wherever it is shown."""
    style = (
        variables()
        + f"text{{font-family:{FONT};font-size:14px;fill:var(--ink)}}.soft{{fill:var(--soft)}}.b{{font-weight:700}}"
    )
    return (
        str(
            element(
                "svg",
                element("title", title),
                element("style", raw(style)),
                element("rect", class_="f-card", width="100%", height="100%", rx=10),
                *parts,
                xmlns="http://www.w3.org/2000/svg",
                viewBox=f"0 0 {width} {height}",
                width=width,
                height=height,
                role="img",
                aria_label=title,
            )
        )
        + "\n"
    )


def words(
    x: float | str, y: float, said: str, *, anchor: str = "start", size: int = 14, kind: str | None = None
) -> Markup:
    """Return a line of text whose baseline is at y."""
    place = x if isinstance(x, str) else number(x)
    return element("text", said, x=place, y=number(y), text_anchor=anchor, style=f"font-size:{size}px", class_=kind)


def share(value: float, whole: float) -> float:
    """Return value as a percentage of whole, from 0 to 100."""
    return min(100.0, max(0.0, 100 * value / whole)) if whole > 0 else 0.0


def number(value: float) -> str:
    """Return a coordinate without digits that nobody sees."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _box(left: float, top: float, width: float, height: float, color: str, title: str) -> Markup:
    told = [element("title", title)] if title else []
    place = {"x": f"{number(left)}%", "y": number(top), "width": f"{number(width)}%", "height": number(height)}
    return element("rect", *told, class_=f"f-{color}", **place)


def _rule(y: float) -> Markup:
    return element("line", x1="0", x2="100%", y1=number(y), y2=number(y), class_="s-line")


_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _HEIGHT = 760, 250, 130, 72, 34, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar: its name, its value, the text behind it, its colour (a name of the palette), and whether it stands out."""

    name: str
    value: float
    said: str
    color: str = "c6"
    bold: bool = False


def bars(title: str, below: str, rows: Sequence[Bar], *, mark: tuple[float, str] | None = None) -> str:
    """Return an SVG file: bars from the left, in the order given; below: a line under the title. mark: a value and
    its meaning, marked by a line through all bars."""
    most = max((row.value for row in rows), default=0.0)
    height = _TOP + _ROW * len(rows) + (34 if mark else 16)
    drawn = [words(22, 32, title, size=18), words(22, 54, below, size=13, kind="soft")]
    for place, row in enumerate(rows):
        drawn += _bar(row, _TOP + place * _ROW, most)
    if mark is not None:
        drawn += _mark(*mark, most, height)
    return whole_file(drawn, _WIDTH, height, title)


def _bar(row: Bar, top: float, most: float) -> list[Markup]:
    wide = _wide(row.value, most)
    box = element(
        "rect", x=_LEFT, y=number(top + 4), width=number(max(1.0, wide)), height=_HEIGHT, rx=4, class_=f"f-{row.color}"
    )
    weight = "b" if row.bold else None
    name = words(_LEFT - 12, top + 19, row.name, anchor="end", kind=weight)
    return [name, box, words(_LEFT + wide + 10, top + 19, row.said, kind=weight)]


def _mark(value: float, said: str, most: float, height: float) -> list[Markup]:
    across = number(_LEFT + _wide(value, most))
    line = element(
        "line", x1=across, x2=across, y1=_TOP - 2, y2=number(height - 28), class_="s-bad", stroke_dasharray="4 3"
    )
    return [line, words(_LEFT + _wide(value, most), height - 12, said, size=12, kind="soft")]


def _wide(value: float, most: float) -> float:
    return share(value, most) / 100 * (_WIDTH - _LEFT - _RIGHT)
