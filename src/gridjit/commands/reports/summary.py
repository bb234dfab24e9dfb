"""summary: a report as a few lines and tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gridjit.commands import printing, tables
from gridjit.commands.printing import count, milliseconds, share_text
from gridjit.commands.reports.advice import Advice, advice
from gridjit.commands.reports.facts import Form, Report, SeenShape, splits
from gridjit.commands.reports.occupancy import occupancy

_MOST_KERNELS, _MOST_VALUES, _BLOCKS = 20, 8, 30


def show(report: Report) -> None:
    """Print the summary."""
    kernels, size = report.kernels, sum(form.bytes for form in report.forms)
    printing.say(report.source)
    rate = "" if report.hit_rate is None else f", {share_text(report.hit_rate)} of look-ups found their code"
    counted = f"{count('kernel', len(kernels))}, {count('specialization', len(report.forms))}"
    counted += f", {report.launches_needed} needing a launch" if report.launches_needed else ""
    printing.say(f"{counted}, {printing.size_text(size)}, {milliseconds(report.compile_ms)} of compiles{rate}")
    for name, counts in report.remotes.items():
        asked = f"{counts['hits']:.0f} found, {counts['misses']:.0f} not, {counts['failed']:.0f} failures"
        printing.say(f"remote cache {name}: {asked}, {printing.size_text(counts['received'])} read")
    if report.groups:
        _phases(report)
    if kernels:
        _kernels(report)
    _splits(report)
    if run := [form for form in report.forms if form.launch_ms or form.resources.get("registers")]:
        _run(run)
    if report.launches:
        _launches(report)
    if found := advice(report):
        _remedies(found)


def _splits(report: Report) -> None:
    """Print the facts that split the kernels with the most specializations, and how many other kernels are split."""
    found = {name: (len(forms), splits(forms)) for name, forms in report.kernels.items()}
    split = [name for name, (_, seen) in found.items() if seen]
    shown = set(sorted(split, key=lambda name: -found[name][0])[:_MOST_KERNELS])
    for name in split:
        for what, values in found[name][1].items() if name in shown else ():
            more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
            printing.say(f"{name} is split by {what}: {', '.join(values[:_MOST_VALUES])}{more}")
    if hidden := len(split) - len(shown):
        printing.say(f"{count('more kernel', hidden)} {'is' if hidden == 1 else 'are'} split: --html tells all")


def _phases(report: Report) -> None:
    whole = max(report.groups.values()) or 1.0
    table = tables.table("phase", "time", "", right=("time",))
    for name, spent in report.groups.items():
        table.add_row(name, milliseconds(spent), "█" * round(spent / whole * _BLOCKS))
    tables.show(table)


def _kernels(report: Report) -> None:
    table = tables.table(
        "kernel", *(numbers := ("specializations", "size", "compile", "found", "compiled")), right=numbers
    )
    took = {name: sum(form.compile_ms or 0.0 for form in forms) for name, forms in report.kernels.items()}
    for name in sorted(took, key=lambda one: -took[one])[:_MOST_KERNELS]:
        forms = report.kernels[name]
        size = printing.size_text(sum(form.bytes for form in forms))
        uses = sum(form.hits for form in forms), sum(form.compiles for form in forms)
        table.add_row(name, str(len(forms)), size, milliseconds(took[name]), *map(str, uses))
    tables.show(table)
    if (hidden := len(took) - _MOST_KERNELS) > 0:
        printing.say(f"{count('more kernel', hidden)} took less")


def _run(forms: list[Form]) -> None:
    """Print what specializations use of a GPU, and how long launches took on the host, by grid and block."""
    numbers = ("registers", "shared", "local", "occupancy", "launches", "a launch")
    table = tables.table("kernel", "types", "target", "blocks x threads", *numbers, right=numbers)
    rows = [_run_row(form, shape) for form in forms for shape in form.shapes or (None,)]
    for row in rows[:_MOST_KERNELS]:
        table.add_row(*row)
    tables.show(table)
    if (hidden := len(rows) - _MOST_KERNELS) > 0:
        printing.say(f"{hidden} more rows: --json tells all")


def _run_row(form: Form, shape: SeenShape | None) -> Iterator[str]:
    """Yield the cells of a specialization in launches of a shape."""
    yield from (form.kernel, form.signature, form.target, "" if shape is None else str(shape))
    known = form.resources.get("registers")
    sizes = [printing.size_text(form.resources.get(f"{kind}_bytes", 0)) for kind in ("shared", "local")]
    yield from (str(known), *sizes) if known else ("-", "-", "-")
    own = None if shape is None else occupancy(form.target, form.resources, shape.threads, shape.sharedmem)
    yield "-" if own is None else share_text(own.share)
    yield str(shape.count) if shape is not None and shape.count else "-"
    yield "-" if shape is None or shape.median_ms is None else milliseconds(shape.median_ms)


def _remedies(found: list[Advice]) -> None:
    printing.say("what would make it faster:")
    for one in found[:_MOST_KERNELS]:
        printing.say(f"- {one.kernel}: {one.text} ({one.page})")
    if (hidden := len(found) - _MOST_KERNELS) > 0:
        printing.say(f"{hidden} more: --html tells all")


def _launches(report: Report) -> None:
    table = tables.table("launched from Python", "why", "launches", "time", right=("launches", "time"))
    ordered = sorted(report.launches.items(), key=lambda one: -one[1][1])
    for (name, why), (times, spent) in ordered[:_MOST_KERNELS]:
        table.add_row(name, why, str(times), milliseconds(spent * 1e3))
    tables.show(table)
