"""cached: the report of a cache's folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from gridjit.cache.disk import DiskStore
from gridjit.cache.remote.counts import read_counts
from gridjit.cache.uses import Use, UseTotals
from gridjit.commands.inventory import CODE, NEEDS_LAUNCH, ListedEntry
from gridjit.commands.reports.facts import Form, Report, SeenFact, SeenShape, SeenUse
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.footprint import Fact, fact_text

_DIGITS = 16


def report_of(store: DiskStore, items: Iterable[ListedEntry]) -> Report:
    """Return the report of a folder's entries, of some kernels or all."""
    known = list(items)
    code = {item.info.key[:_DIGITS]: item for item in known if item.kind == CODE}
    uses = [use for use in store.uses() if use.key in code]
    by_key: dict[str, list[Use]] = {}
    for use in uses:
        by_key.setdefault(use.key, []).append(use)
    forms = [_form(item, item.artifact, by_key.get(key, [])) for key, item in code.items() if item.artifact is not None]
    return Report(
        source=str(store.folder),
        is_trace=False,
        forms=tuple(forms),
        uses=tuple(SeenUse(time=use.time, hit=use.hit, kernel=code[use.key].label) for use in uses),
        other_bytes=sum(item.info.size for item in known if item.kind != CODE),
        launches_needed=sum(item.kind == NEEDS_LAUNCH for item in known),
        remotes=read_counts(store.place),
    )


def _form(item: ListedEntry, artifact: Artifact, uses: list[Use]) -> Form:
    totals, phases = UseTotals.of(uses), _numbers(artifact.metadata.get("phases"))
    return Form(
        kernel=item.label or artifact.kernel,
        file=item.file,
        shapes=_shapes(artifact),
        signature=artifact.signature,
        target=str(artifact.target),
        facts=tuple(map(_fact, artifact.footprint.facts)),
        bytes=item.info.size,
        compile_ms=sum(phases.values()) if phases else None,
        phases=phases,
        resources=artifact.resources,
        why=artifact.why,
        hits=totals.hits,
        compiles=totals.compiles,
        last=totals.last,
    )


def _fact(fact: Fact) -> SeenFact:
    return SeenFact(field=fact.field, value=fact_text(fact.value), where=fact.where)


def _shapes(artifact: Artifact) -> tuple[SeenShape, ...]:
    """Return the launch that an artifact was compiled for, if its metadata, which may hold anything, has one."""
    given = artifact.metadata.get("launch")
    known = given if isinstance(given, Mapping) else {}
    sizes = [known.get(name) for name in ("griddim", "blockdim")]
    if not all(isinstance(size, list) and all(type(one) is int for one in size) for size in sizes):
        return ()
    blocks, threads = (math.prod(size or ()) for size in sizes)
    wanted = known.get("sharedmem")
    shared = max(wanted if type(wanted) is int else 0, artifact.effects.sharedmem)
    return (SeenShape(blocks=blocks, threads=threads, sharedmem=shared),)


def _numbers(given: object) -> dict[str, float]:
    """Return the numbers by name in a value of an entry's metadata, which may be anything."""
    found = given if isinstance(given, Mapping) else {}
    return {str(name): float(spent) for name, spent in found.items() if isinstance(spent, int | float) and spent >= 0}
