"""bars: a picture of named bars on one scale, as an SVG file of its own, such as benchmarks write."""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.commands.pictures.markup import Markup, element
from gridjit.commands.pictures.svg import number, share, whole_file, words
from gridjit.values import dataclass

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
