"""tables: rows, start times and verdicts as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from launch_overhead.goals import Verdict
from launch_overhead.timing import COUNTS, Row, difference

Line = tuple[str, str, str, str]
_WIDTH = 19


def launches(rows: Sequence[Row], names: Sequence[str], details: bool) -> str:
    """Return the table of launches: medians, and beside them the multiple of the floor.

    names: the repositories; from the second on, what stands beside is the difference to the first instead, as
    timing.difference has it.
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
        return f"{row.median:.2f} ({difference(row, base) - 1:+.0%})"
    return f"{row.median:.2f}" + (f" (x{row.ratio:.2f})" if row.ratio is not None and row.who != "floor" else "")


def _spread(row: Row | None) -> str:
    return "" if row is None else f"{row.mean:.2f} +- {row.stdev:.2f}"


def ratios(rows: Sequence[Row], reference: str, other: str) -> str:
    """Return a table of what one repository takes as a multiple of another (timing.difference); below 1 is faster."""
    found = {(row.who, row.what, row.how, row.signature, row.count): row for row in rows}
    kinds = dict.fromkeys((row.what, row.how, row.signature) for row in rows if row.who == other)
    head = f"{'':34}" + "".join(f"{f'{count} args':>10}" for count in COUNTS)
    lines = [head, "-" * len(head)]
    for kind in kinds:
        pairs = [(found.get((reference, *kind, count)), found.get((other, *kind, count))) for count in COUNTS]
        texts = [f"{difference(after, before):.2f}" if before and after else "-" for before, after in pairs]
        lines.append(f"{', '.join(kind):34}" + "".join(f"{text:>10}" for text in texts))
    return "\n".join(lines)


def starts(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of start times: steps down, programs across, medians in milliseconds."""
    columns = {name: {_step(step): value for step, value in times.items()} for name, times in found.items()}
    head = f"{'ms, cache warm':30}" + "".join(f"{name:>16}" for name in columns)
    lines = [head, "-" * len(head)]
    for step in dict.fromkeys(step for times in columns.values() for step in times):
        values = [times.get(step) for times in columns.values()]
        lines.append(f"{step:30}" + "".join(f"{'-' if value is None else f'{value:.1f}':>16}" for value in values))
    return "\n".join(lines)


def _step(name: str) -> str:
    return name if name == "import numpy" or not name.startswith("import ") else "import the compiler's package"


def goals(found: Iterable[Verdict]) -> str:
    """Return a line for each goal."""
    lines = []
    for verdict in found:
        figure = "-" if verdict.figure is None else f"{verdict.figure:.2f}"
        line = f"{verdict.word:13}{figure:>8} of at most {verdict.limit:g} {verdict.unit:8} {verdict.name}"
        lines.append(line + (f"  ({verdict.worst})" if verdict.worst else ""))
    return "\n".join(lines)
