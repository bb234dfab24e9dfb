"""page: a report as one HTML file that works without a network or scripts, in light and in dark."""

from __future__ import annotations

import time
from collections.abc import Iterable

from gridjit import __version__
from gridjit.commands.markup import Markup, element, joined, raw
from gridjit.commands.printing import count, milliseconds, share_text, size_text
from gridjit.commands.reports.facts import Report
from gridjit.commands.reports.sections import launches, over_time, phases, run
from gridjit.commands.reports.style import SCRIPT, policy, style
from gridjit.commands.reports.tables import kernels, remedies, specializations, splitting


def page(report: Report) -> str:
    """Return the page."""
    title = f"gridjit: {report.source}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", raw(style())),
    )
    body = element("body", element("main", *_body(report)), element("script", raw(SCRIPT)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _body(report: Report) -> Iterable[Markup]:
    yield _header(report)
    yield _tiles(report)
    if not report.forms and not report.slices:
        yield element("section", element("p", "Nothing is compiled here yet.", class_="soft"))
    for made in (remedies, launches, run, phases, over_time, splitting, kernels, specializations):
        if (section := made(report)) is not None:
            yield section
    yield element("footer", f"Made by gridjit {__version__} on {time.strftime('%Y-%m-%d %H:%M')}.")


def _header(report: Report) -> Markup:
    what = "a run, as GRIDJIT_TRACE recorded it" if report.is_trace else "a cache of compiled kernels"
    said = joined(what, ": ", element("code", report.source))
    return element("header", element("h1", element("b", "gridjit"), " report"), element("p", said, class_="soft"))


def _tiles(report: Report) -> Markup:
    size = sum(form.bytes for form in report.forms)
    rate = report.hit_rate
    told = [
        (str(len(report.kernels)), count("kernel", len(report.kernels), shown=False)),
        (str(len(report.forms)), count("specialization", len(report.forms), shown=False)),
        (milliseconds(report.compile_ms), "of compiles"),
        ("-" if rate is None else share_text(rate), "of look-ups found their code"),
        (size_text(size), "of code"),
    ]
    if report.other_bytes:
        told.append((size_text(report.other_bytes), "of manifests, histories, functions"))
    if report.launches_needed:
        told.append((str(report.launches_needed), "without code, as a launch is needed"))
    told += [(str(round(counts["hits"])), f"found in {name}") for name, counts in report.remotes.items()]
    if report.is_trace:
        told.append((str(sum(n for n, _ in report.launches.values())), "launches from Python"))
    return element(
        "div", *(element("div", element("b", n), element("span", w), class_="tile") for n, w in told), class_="tiles"
    )
