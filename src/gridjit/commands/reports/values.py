"""values: a report as JSON values, for scripts."""

from __future__ import annotations

from typing import Any

from gridjit.commands.reports.facts import Form, Report, splits
from gridjit.commands.reports.occupancy import block_of, occupancy


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON values; times are in seconds, sizes in bytes."""

    def plain(form: Form) -> dict[str, Any]:
        return {
            **{name: getattr(form, name) for name in ("kernel", "signature", "target", "bytes", "why")},
            **{name: getattr(form, name) for name in ("hits", "compiles", "last", "compile_ms")},
            "facts": [{"field": fact.field, "value": fact.value, "where": fact.where or None} for fact in form.facts],
            "phases_ms": dict(form.phases),
            "resources": dict(form.resources),
            "occupancy": occupancy(form.target, form.resources, block_of(form.facts) or 256),
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
        "launches_needed": report.launches_needed,
        "launches_from_python": [
            {"kernel": kernel, "why": why, "count": count, "seconds": round(spent, 6)}
            for (kernel, why), (count, spent) in report.launches.items()
        ],
    }
