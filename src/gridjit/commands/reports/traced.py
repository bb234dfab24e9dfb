"""traced: the report of a run that GRIDJIT_TRACE wrote down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from gridjit.commands.inventory import is_named, no_entry
from gridjit.commands.reports.events import TraceSlice, read_events
from gridjit.commands.reports.facts import GROUPS, Form, Report, SeenFact, SeenUse, Slice
from gridjit.runtime.traced.tracer import NEEDS_LAUNCH

MADE, FOUND = "compile", "find"


def report_of(path: Path, kernel: str | None = None, step: Callable[[str], None] = lambda name: None) -> Report:
    """Return the report of the trace at path, of one kernel or all; raises GridjitError if it is not one.

    step: as `read_events` calls it.
    """
    every = list(read_events(path, step))
    events = [event for event in every if kernel is None or is_named(event.kernel, kernel)]
    if kernel is not None and not events:
        raise no_entry(kernel, (event.kernel for event in every), str(path), "leave --kernel out to see all")
    uses = [event for event in events if event.group in (MADE, FOUND)]
    return Report(
        source=str(path),
        is_trace=True,
        forms=tuple(_forms(uses, events)),
        uses=tuple(SeenUse(time=one.ends, hit=one.group == FOUND, kernel=one.kernel) for one in uses),
        slices=tuple(map(_slice, events)),
        launches_needed=sum(event.group == NEEDS_LAUNCH for event in events),
    )


def _slice(event: TraceSlice) -> Slice:
    return Slice(
        name=event.kernel if event.group == "launch" else event.name,
        group=event.group,
        thread=event.place,
        begins=event.begins,
        ends=event.ends,
        depth=event.depth,
        why=event.text("error") or event.text("why"),
    )


def _forms(uses: Iterable[TraceSlice], events: Iterable[TraceSlice]) -> Iterable[Form]:
    """Yield a form for each specialization that was compiled or found, by all that tells them apart."""
    phases: dict[int, dict[str, float]] = {}
    for event in events:
        if event.group in GROUPS and event.around is not None:
            spent = phases.setdefault(id(event.around), {})
            spent[event.name] = round(spent.get(event.name, 0.0) + (event.ends - event.begins) * 1e3, 2)
    same: dict[tuple[str, ...], list[TraceSlice]] = {}
    for use in uses:
        facts = json.dumps(use.mapping("facts"), sort_keys=True)
        same.setdefault((use.kernel, use.text("signature"), use.text("target"), facts), []).append(use)
    for what, found in same.items():
        yield _form(what, found, [one for one in found if one.group == MADE], phases)


def _form(
    what: tuple[str, ...], found: list[TraceSlice], made: list[TraceSlice], phases: dict[int, dict[str, float]]
) -> Form:
    """Return the form of a specialization that was found or made; the phases are its last compile's."""
    kernel, signature, target, facts = what
    size = found[-1].known.get("bytes")
    return Form(
        kernel=kernel,
        signature=signature,
        target=target,
        facts=tuple(SeenFact(field=str(name), value=str(value)) for name, value in json.loads(facts).items()),
        bytes=size if type(size) is int else 0,
        compile_ms=round((made[-1].ends - made[-1].begins) * 1e3, 2) if made else None,
        phases=phases.get(id(made[-1]), {}) if made else {},
        resources={name: n for name, n in found[-1].mapping("resources").items() if type(n) is int and n >= 0},
        why=(made or found)[0].text("why"),
        hits=len(found) - len(made),
        compiles=len(made),
        last=found[-1].begins,
    )
