"""sections: the pictures of a page - compile time by phase, hits and misses over time, a run and its launches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from gridjit.commands.markup import Markup, element
from gridjit.commands.printing import count, milliseconds, share_text
from gridjit.commands.reports.facts import GROUPS, Form, Report, SeenUse, Slice
from gridjit.commands.svg import Part, Span, bar, columns, timeline

COLOR_OF = dict(zip(GROUPS, ("c6", "c0", "c1", "c2", "c3", "c4", "c5", "c7"), strict=True))
# Kernels in a picture, columns in another, and boxes in a timeline: more are too small to be told apart.
_MOST_KERNELS, _COLUMNS, _MOST_SLICES = 16, 48, 4000
# The year 3000: a damaged record may say anything.
_LAST_MOMENT = 32503680000.0


def phases(report: Report) -> Markup | None:
    """Return where the time of compiles went: of all together, and of the kernels that took the longest."""
    if not report.groups:
        return None
    groups, whole = report.groups, sum(report.groups.values())
    took = [(name, _sum(forms)) for name, forms in report.kernels.items()]
    longest = sorted(took, key=lambda one: -sum(one[1].values()))[:_MOST_KERNELS]
    most = sum(longest[0][1].values())
    rows: list[Markup] = []
    for name, spent in longest:
        total = milliseconds(sum(spent.values()))
        rows += _row(name, bar(_parts(spent), most, says=f"{name}: {total}"), total)
    hidden = len(took) - len(longest)
    left_out = [element("p", f"{count('more kernel', hidden)} took less.", class_="soft small")] if hidden > 0 else []
    return _section(
        "Where compile time went",
        f"{milliseconds(whole)} of compiles, with the look-ups before them; the bars of kernels share one scale.",
        bar(_parts(groups), whole, height=26, says="compile time by phase"),
        legend((f"{name} {milliseconds(spent)}", COLOR_OF[name]) for name, spent in groups.items()),
        element("div", *rows, class_="rows"),
        *left_out,
    )


def over_time(report: Report) -> Markup | None:
    """Return how many look-ups found their code, and how many compiled it, as time went by."""
    if not report.uses:
        return None
    begins, ends = report.uses[0].time, max(use.time for use in report.uses)
    hits = sum(use.hit for use in report.uses)
    form = None if report.is_trace else _form_for(ends - begins)
    groups = [_column(*one, form) for one in _buckets(report.uses, begins, ends)]
    return _section(
        "Hits and misses over time",
        "Each process counts a specialization once, when it finds or compiles it."
        + ("" if report.is_trace else " Uses of code that is no longer here are not shown."),
        legend([(f"{hits} found", "hit"), (f"{len(report.uses) - hits} compiled", "miss")]),
        columns(groups, says=f"{hits} found and {len(report.uses) - hits} compiled, over time"),
        _ends(_moment(begins, form), _moment(ends, form)),
    )


def run(report: Report) -> Markup | None:
    """Return the section with the timeline of a recorded run's threads, or None without slices."""
    if not report.slices:
        return None
    longest = sorted(report.slices, key=lambda one: one.begins - one.ends)[:_MOST_SLICES]
    shown = sorted(longest, key=lambda one: (one.begins, -one.ends))
    begins, ends = min(one.begins for one in shown), max(one.ends for one in shown)
    lanes: list[Markup] = []
    for thread in dict.fromkeys(one.thread for one in shown):
        mine = [one for one in shown if one.thread == thread]
        deepest = 1 + max(one.depth for one in mine)
        lanes.append(element("h3", thread, class_="lane"))
        lanes.append(timeline(map(_span, mine), begins, ends, deepest, says=f"what {thread} did"))
    groups = {one.group for one in shown}
    seen = [(name, COLOR_OF[name]) for name in GROUPS if name in groups]
    named = [("compile, find", "soft"), ("launch from Python", "hit"), ("failure", "bad")]
    return _section(
        "The run",
        "Point at a box to see what it is. GRIDJIT_TRACE's file opens in ui.perfetto.dev, too.",
        legend([*named, *seen]),
        *lanes,
        _ends("0 s", milliseconds((ends - begins) * 1e3)),
    )


def launches(report: Report) -> Markup | None:
    """Return why launches of a recorded run went through Python."""
    if not report.launches:
        return None
    ordered = sorted(report.launches.items(), key=lambda one: -one[1][1])
    rows = [
        element(
            "tr",
            element("td", name, class_="code"),
            element("td", why, class_="why"),
            element("td", str(times), class_="n", data_value=times),
            element("td", milliseconds(spent * 1e3), class_="n", data_value=spent),
        )
        for (name, why), (times, spent) in ordered
    ]
    return _section(
        "Launches that went through Python",
        "All other launches were made by machine code. The times are Python's, without look-ups and compiles.",
        table([("kernel", ""), ("why", ""), ("launches", "n"), ("time", "n")], rows),
    )


def table(headings: Sequence[tuple[str, str]], rows: Iterable[Markup]) -> Markup:
    """Return a table that the page's script can sort; headings: each with its class, "n" for numbers."""
    head = element("tr", *(element("th", said, class_=kind or None, scope="col") for said, kind in headings))
    made = element("table", element("thead", head), element("tbody", *rows), class_="sorted")
    return element("div", made, class_="wide")


def legend(entries: Iterable[tuple[str, str]]) -> Markup:
    """Return the legend of a picture's colours."""
    known = [element("li", element("i", class_=f"b-{color}"), said) for said, color in entries]
    return element("ul", *known, class_="legend")


def _section(title: str, said: str, *parts: object) -> Markup:
    return element("section", element("h2", title), element("p", said, class_="soft small"), *parts)


def _row(name: str, picture: Markup, amount: str) -> tuple[Markup, ...]:
    return (
        element("div", name, class_="name code"),
        element("div", picture),
        element("div", amount, class_="amount small"),
    )


def _sum(forms: Iterable[Form]) -> dict[str, float]:
    whole: dict[str, float] = {}
    for form in forms:
        for name, spent in form.groups.items():
            whole[name] = whole.get(name, 0.0) + spent
    return {name: whole[name] for name in GROUPS if name in whole}


def _parts(groups: dict[str, float]) -> list[Part]:
    whole = sum(groups.values()) or 1.0
    return [
        Part(value=spent, color=COLOR_OF[name], title=f"{name}: {milliseconds(spent)}, {share_text(spent / whole)}")
        for name, spent in groups.items()
    ]


def _buckets(uses: Sequence[SeenUse], begins: float, ends: float) -> list[tuple[float, int, int]]:
    """Return (when it begins, hits, compiles) of equal times."""
    step = (ends - begins) / _COLUMNS or 1.0
    made = [[0, 0] for _ in range(_COLUMNS)]
    for use in uses:
        made[min(_COLUMNS - 1, int((use.time - begins) / step))][not use.hit] += 1
    return [(begins + number * step, hits, compiles) for number, (hits, compiles) in enumerate(made)]


def _column(since: float, hits: int, compiles: int, form: str | None) -> list[Part]:
    when = _moment(since, form)
    return [
        Part(value=compiles, color="miss", title=f"{when}: {compiles} compiled"),
        Part(value=hits, color="hit", title=f"{when}: {hits} found"),
    ]


def _form_for(seconds: float) -> str:
    """Return how moments are written that lie so far apart."""
    return "%Y-%m-%d %H:%M" if seconds > 3600 else "%H:%M:%S"


def _moment(seconds: float, form: str | None) -> str:
    """Return a moment; form: of times since 1970, None for those since a run's start."""
    if form is None:
        return f"{seconds:.2f} s"
    return time.strftime(form, time.localtime(min(max(seconds, 0.0), _LAST_MOMENT)))


def _span(one: Slice) -> Span:
    color = COLOR_OF.get(one.group) or {"launch": "hit", "fail": "bad"}.get(one.group, "soft")
    what = f"launch of {one.name}" if one.group == "launch" else one.name
    said = f"{what}: {milliseconds((one.ends - one.begins) * 1e3)}" + (f"\n{one.why}" if one.why else "")
    return Span(begins=one.begins, ends=one.ends, lane=one.depth, color=color, title=said)


def _ends(left: str, right: str) -> Markup:
    return element("div", element("span", left), element("span", right), class_="ends")
