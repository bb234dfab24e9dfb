"""traced: the report of a run that GRIDJIT_TRACE wrote down."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from gridjit.commands.inventory import is_named, labels_of, no_entry
from gridjit.commands.reports.events import TraceSlice, read_events
from gridjit.commands.reports.facts import GROUPS, Form, Report, SeenFact, SeenShape, SeenUse, Slice
from gridjit.compiler.values.phases import OTHER
from gridjit.runtime.traced.tracer import FIRST, NEEDS_LAUNCH, PASSING

MADE, FOUND, LAUNCH = "compile", "find", "launch"
# Kernel, file, signature, target and facts: they tell a run's specializations apart.
_What = tuple[str, str, str, str, str]
_CONFIG = re.compile(r"grid (\d+(?:x\d+)*), block (\d+(?:x\d+)*)(?:, (\d+) bytes shared)?")


def report_of(path: Path, kernel: str | None = None, step: Callable[[str], None] = lambda name: None) -> Report:
    """Return the report of the trace at path, of one kernel or all; raises GridjitError if it is not one.

    step: as `read_events` calls it.
    """
    every = list(read_events(path, step))
    labels = labels_of((event.kernel, event.file) for event in every)
    events = [event for event in every if kernel is None or is_named(event.kernel, kernel, event.file)]
    if kernel is not None and not events:
        raise no_entry(kernel, labels.values(), str(path), "leave --kernel out to see all")
    for event in events:
        event.kernel = labels[event.kernel, event.file]
    uses = [event for event in events if event.group in (MADE, FOUND)]
    return Report(
        source=str(path),
        is_trace=True,
        forms=tuple(_forms(uses, events)),
        uses=tuple(SeenUse(time=one.ends, hit=one.group == FOUND, kernel=one.kernel) for one in uses),
        slices=tuple(map(_slice, events)),
        launches_needed=sum(event.group == NEEDS_LAUNCH for event in events),
    )


def _why(event: TraceSlice) -> str:
    """Return a slice's reason; of a first launch without that of its compile, which its specialization has."""
    why, error = event.text("why"), event.text("error")
    if event.group != LAUNCH:
        return error or why
    return f"it failed: {error}" if error else why.partition(":")[0] if why.startswith(FIRST) else why


def _slice(event: TraceSlice) -> Slice:
    return Slice(
        name=event.kernel if event.group == LAUNCH else event.name,
        group=event.group,
        thread=event.place,
        begins=event.begins,
        ends=event.ends,
        depth=event.depth,
        why=_why(event),
        target=event.text("target"),
        compiling=event.compiling,
    )


def _forms(uses: Iterable[TraceSlice], events: Iterable[TraceSlice]) -> Iterator[Form]:
    """Yield a form for each specialization that was compiled or found, by all that tells them apart."""
    phases: dict[int, dict[str, float]] = {}
    launches: dict[_What, list[TraceSlice]] = {}
    for event in events:
        if event.group in GROUPS and event.around is not None:
            spent = phases.setdefault(id(event.around), {})
            spent[event.name] = spent.get(event.name, 0.0) + (event.ends - event.begins) * 1e3
        elif event.group == LAUNCH:
            launches.setdefault(_what(event), []).append(event)
    same: dict[_What, list[TraceSlice]] = {}
    for use in uses:
        same.setdefault(_what(use), []).append(use)
    for what, found in same.items():
        made = [one for one in found if one.group == MADE]
        took = sum((one.ends - one.begins) * 1e3 for one in made)
        shapes = _shapes(launches.get(what) or found[-1:], found[-1])
        yield _form(what, found, made, shapes, _sum(phases, made, took))


def _what(event: TraceSlice) -> _What:
    facts = json.dumps(event.mapping("facts"), sort_keys=True)
    return event.kernel, event.file, event.text("signature"), event.text("target"), facts


def _sum(phases: Mapping[int, Mapping[str, float]], made: Iterable[TraceSlice], took: float) -> dict[str, float]:
    """Return the phases of compiles; the time that the trace has in none of them is another's."""
    whole: dict[str, float] = {}
    for one in made:
        for name, spent in phases.get(id(one), {}).items():
            whole[name] = whole.get(name, 0.0) + spent
    rest = took - sum(whole.values())
    return {name: round(spent, 2) for name, spent in (whole | ({OTHER: rest} if rest >= 0.01 else {})).items()}


def _form(
    what: _What,
    found: list[TraceSlice],
    made: list[TraceSlice],
    shapes: tuple[SeenShape, ...],
    phases: dict[str, float],
) -> Form:
    """Return the form of a specialization that was found or made."""
    kernel, file, signature, target, facts = what
    size = found[-1].known.get("bytes")
    return Form(
        kernel=kernel,
        file=file,
        signature=signature,
        target=target,
        shapes=shapes,
        facts=tuple(SeenFact(field=str(name), value=str(value)) for name, value in json.loads(facts).items()),
        bytes=size if type(size) is int else 0,
        compile_ms=round(sum(phases.values()), 2) if made else None,
        phases=phases,
        resources={name: n for name, n in found[-1].mapping("resources").items() if type(n) is int and n >= 0},
        why=(made or found)[0].text("why"),
        hits=len(found) - len(made),
        compiles=len(made),
        last=found[-1].begins,
    )


def _shapes(launches: Iterable[TraceSlice], found: TraceSlice) -> tuple[SeenShape, ...]:
    """Return the launches of a specialization by shape; found: when it was compiled or found, and its launch then."""
    required = _number(found, "sharedmem")
    same: dict[tuple[int, int, int], list[TraceSlice]] = {}
    for one in launches:
        if sizes := _CONFIG.match(one.text("config")):
            blocks, threads = (math.prod(map(int, size.split("x"))) for size in sizes.groups()[:2])
            same.setdefault((blocks, threads, max(int(sizes[3] or 0), required)), []).append(one)
    made = [
        SeenShape(
            blocks=blocks,
            threads=threads,
            sharedmem=shared,
            count=sum(one.group == LAUNCH for one in seen),
            seconds=tuple(one.ends - one.begins for one in seen if one.known.get("waits") is True and _is_plain(one)),
            room=_number(seen[-1], "room") or None,
        )
        for (blocks, threads, shared), seen in same.items()
    ]
    return tuple(sorted(made, key=lambda shape: -shape.count))


def _is_plain(launch: TraceSlice) -> bool:
    """Return whether a launch was like any other of its kind: it prepared nothing for those that follow."""
    return not (launch.compiling or launch.text("why").startswith(PASSING))


def _number(event: TraceSlice, name: str) -> int:
    found = event.known.get(name)
    return found if type(found) is int and found > 0 else 0
