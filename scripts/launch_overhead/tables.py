"""tables: rows, start times and verdicts as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from launch_overhead.goals import Verdict
from launch_overhead.timing import COUNTS, Row

Line = tuple[str, str, str, str]
_WIDTH = 19


def launches(rows: Sequence[Row], names: Sequence[str], details: bool) -> str:
    """Return the table of launches: medians, and beside them the multiple of the floor.

    names: the repositories; from the second on, what stands beside is the difference to the first instead.
    details: also mean and standard deviation, a line each.
    """
    cells: dict[Line, dict[int, Row]] = {}
    for row in rows:
        cells.setdefault((row.who, row.what, row.how, row.signature), {})[row.count] = row
    reference = names[0] if names else ""
    head = f"{'us per launch':44}" + "".join(f"{f'{count} args':>{_WIDTH}}" for count in COUNTS)
    lines = [head, "-" * len(head)]
    for (who, what, how, signature), found in cells.items():
        label = (
            f"{who}, {what}" + (f", {signature}" if signature != "lazy" else "") + (", each" if how == "each" else "")
        )
        base = cells.get((reference, what, how, signature), {}) if who in names[1:] else None
        texts = [_cell(found.get(count), None if base is None else base.get(count)) for count in COUNTS]
        lines.append(f"{label:44}" + "".join(f"{text:>{_WIDTH}}" for text in texts))
        if details:
            spread = [_spread(found.get(count)) for count in COUNTS]
            lines.append(f"{'':44}" + "".join(f"{text:>{_WIDTH}}" for text in spread))
    return "\n".join(lines)


def _cell(row: Row | None, base: Row | None) -> str:
    if row is None:
        return "-"
    if base is not None:
        return f"{row.median:.2f} ({row.median / base.median - 1:+.0%})"
    return f"{row.median:.2f}" + (f" (x{row.ratio:.2f})" if row.ratio is not None and row.who != "floor" else "")


def _spread(row: Row | None) -> str:
    return "" if row is None else f"{row.mean:.2f} +- {row.stdev:.2f}"


def starts(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of start times: steps down, programs across, medians in milliseconds."""
    steps = list(dict.fromkeys(step.replace(f"import {name}", "import it") for name in found for step in found[name]))
    head = f"{'ms, cache warm':36}" + "".join(f"{name:>16}" for name in found)
    lines = [head, "-" * len(head)]
    for step in steps:
        values = [times.get(step, times.get(f"import {_package(name)}")) for name, times in found.items()]
        lines.append(f"{step:36}" + "".join(f"{'-' if value is None else f'{value:.1f}':>16}" for value in values))
    return "\n".join(lines)


def _package(name: str) -> str:
    return name


def goals(found: Iterable[Verdict]) -> str:
    """Return a line for each goal."""
    lines = []
    for verdict in found:
        figure = "-" if verdict.figure is None else f"{verdict.figure:.2f}"
        line = f"{verdict.word:13}{figure:>8} of at most {verdict.limit:g} {verdict.unit:8} {verdict.name}"
        lines.append(line + (f"  ({verdict.worst})" if verdict.worst else ""))
    return "\n".join(lines)
