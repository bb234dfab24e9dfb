"""`gridjit report`: the contents and times of a cache, or of a traced run - a page to look at, or a summary."""

from __future__ import annotations

import argparse
import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from gridjit.commands import printing, progress
from gridjit.commands.reports.facts import Form, Report, SeenShape, splits


def run(given: argparse.Namespace) -> int:
    """Print the summary, or write the page; returns 0."""
    with _collecting_no_garbage():
        return _run(given)


@contextlib.contextmanager
def _collecting_no_garbage() -> Iterator[None]:
    """Keep Python's collector from looking through a trace's events time and again: half of the time went there."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _run(given: argparse.Namespace) -> int:
    report = _report(given)
    if given.html is not None:
        from gridjit.commands.reports.page import page

        if str(given.html) == "-":
            printing.say_lines(page(report).removesuffix("\n"))
            return 0
        with progress.steps(given, "writing", None) as step:
            step(str(given.html))
            printing.write_file(given.html, page(report), "--html")
        if not (given.quiet or given.json):
            printing.say(f"wrote {given.html}")
    if given.json:
        printing.print_json(as_json(report))
    elif given.html is None:
        from gridjit.commands.reports.summary import show

        show(report)
    return 0


def _report(given: argparse.Namespace) -> Report:
    if given.trace is not None:
        from gridjit.commands.reports import traced
        from gridjit.commands.reports.events import parts_of

        with progress.steps(given, "reading", parts_of(given.trace)) as step:
            return traced.report_of(given.trace, given.kernel, step)
    from gridjit.commands.inventory import open_cache, read_items, select_some
    from gridjit.commands.reports import cached

    store = open_cache(given.dir)
    return cached.report_of(store, select_some(read_items(store, given), given.kernel, store.folder))


def _shape(shape: SeenShape) -> dict[str, Any]:
    """Return launches of a shape as JSON values. timed: of how many launches the median is."""
    return {
        **{name: getattr(shape, name) for name in ("blocks", "threads", "sharedmem", "room", "count", "median_ms")},
        "timed": len(shape.seconds),
    }


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON values; times are in seconds, sizes in bytes."""

    from gridjit.commands.reports.advice import advice
    from gridjit.commands.reports.occupancy import curve, own_occupancy

    def plain(form: Form) -> dict[str, Any]:
        own = own_occupancy(form)
        return {
            **{name: getattr(form, name) for name in ("kernel", "signature", "target", "bytes", "why")},
            **{name: getattr(form, name) for name in ("hits", "compiles", "last", "compile_ms")},
            "facts": [{"field": fact.field, "value": fact.value, "where": fact.where or None} for fact in form.facts],
            "phases_ms": dict(form.phases),
            "resources": dict(form.resources),
            "file": form.file or None,
            "launches": [_shape(shape) for shape in form.shapes if shape.count],
            "launch_ms": form.launch_ms,
            "compiled_for": None if form.launches or form.shape is None else _shape(form.shape),
            "occupancy": None if own is None else own.share,
            "occupancy_limits": [] if own is None else list(own.limits),
            "occupancy_by_block": curve(form),
        }

    return {
        "source": report.source,
        "kind": "trace" if report.is_trace else "cache",
        "kernels": {name: [plain(form) for form in forms] for name, forms in report.kernels.items()},
        "splits": {
            name: {what: list(v) for what, v in splits(forms).items()} for name, forms in report.kernels.items()
        },
        "groups_ms": report.groups,
        "hits": sum(use.hit for use in report.uses),
        "compiles": sum(not use.hit for use in report.uses),
        "advice": [{name: getattr(one, name) for name in one.__slots__} for one in advice(report)],
        "launches_needed": report.launches_needed,
        "remotes": report.remotes,
        "launches_from_python": [
            {"kernel": kernel, "why": why, "count": count, "seconds": round(spent, 6)}
            for (kernel, why), (count, spent) in report.launches.items()
        ],
    }
