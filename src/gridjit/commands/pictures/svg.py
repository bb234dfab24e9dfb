"""Pictures: bars, columns and timelines as SVG elements, and whole SVG files.

Widths inside an element are shares of its own (`12.5%`), so that it fits a phone as well as a desktop screen while its
text and heights stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gridjit.commands.pictures.markup import Markup, element, raw
from gridjit.commands.pictures.palette import FONT, variables
from gridjit.values import dataclass

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
