"""explain: why a kernel was compiled, by the difference from the most similar earlier result.

Reasons come from memory and disk: a process that starts today tells the changes since yesterday's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from gridjit.base.messages import warn_or_log
from gridjit.base.printable import printable
from gridjit.cache.history import PastJob, read_history
from gridjit.cache.manifest import Manifest
from gridjit.cache.store import Store
from gridjit.compiler.job import CompileJob
from gridjit.compiler.recorded.dependencies import current, holds
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.dependency import LIBRARY, SETTINGS, Dependency, texts_of
from gridjit.compiler.values.footprint import (
    ARGUMENT,
    CIRCUMSTANCES,
    PRESENCE,
    Fact,
    fact_text,
    is_very_object,
)
from gridjit.compiler.values.phases import phases_text
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.statistics import Statistics
from gridjit.runtime.specializations.table import KernelCode, Specialization, Specializations, SpecializationWarning

FIRST_USE = "first use in this process, nothing in the cache"
_GONE = "its code is no longer in the cache, or is damaged"
# In how many of the last compiles a reason is searched.
_ASKED = 8
# Longer digests are told apart by their beginnings.
_DIGEST_SHOWN = 8
_SHORTEST_DIGEST = 32


def reason(known: Specializations, look: Look) -> str:
    """Return why no known code serves the launch: the first difference, with both values.

    Places in it are as they are stored.
    """
    return printable(
        _fact_reason(look)
        or _known_reason(known, look)
        or _job_reason(look)
        or _signature_reason(known, look.job)
        or FIRST_USE
    )


def story(name: str, stats: Statistics, specializations: Iterable[Specialization], declared: Iterable[str] = ()) -> str:
    """Return the story of a kernel: its counts, a paragraph for each specialization, lines about its declarations."""
    lines = [f"{name}: {stats.told}"]
    for number, found in enumerate(specializations, 1):
        lines += _paragraph(number, found)
    lines += declared
    return "\n".join(map(printable, lines))


def warn_of_crowding(name: str, code: KernelCode) -> None:
    """Warn, once, that a kernel of this name has more specializations than it may keep."""
    if not code.crowded:
        code.crowded = True
        warn_or_log(SpecializationWarning(_crowding(name, code.table)), logger="gridjit")


def _crowding(name: str, known: Specializations) -> str:
    """Return the warning for a kernel with more specializations than it may keep: the varying fact, and the cure."""
    what, count = known.variety()
    return printable(
        f"{name} has more than {known.limit} specializations; the least recently used are unloaded, and loaded or "
        f"compiled again when they are needed. What varies is {what} ({count} values). {cure_of(what)}, or raise "
        f"jit(max_specializations={known.limit})."
    )


def cure_of(what: str) -> str:
    """Return what to do about many specializations by argument types, or by a fact ("blockdim.x, read at ...")."""
    if what == "argument types":
        return "Pass arguments of fewer types, dimensions or layouts"
    if what.startswith(ARGUMENT):
        return "Do not read the value of that argument while compiling"
    return "Launch with fewer values of it, or read it in the kernel (cuda.blockDim, cuda.gridDim) at run time"


def difference_text(label: str, before: str | None, now: str | None) -> str:
    """Return a changed key component as people read it: "global THRESHOLD 3 -> 4"."""
    if before is None:
        return f"{label} {_short(now)} is new"
    if now is None:
        return f"{label} {_short(before)} is gone"
    return f"{label} {_short(before)} -> {_short(now)}"


def change_text(before: PastJob, now: PastJob) -> str | None:
    """Return the first field of one job that differs in another, and the number of further differences."""
    changes = before.differences(now.fields)
    if not changes:
        return None
    if (targets := (_target(before), _target(now)))[0] != targets[1] and changes[0][0].startswith("target."):
        # Another target brings another toolchain; its fields are not changes of their own.
        return difference_text("target", *targets)
    more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
    return difference_text(*changes[0]) + more


def broken_dependency(artifact: Artifact, job: CompileJob) -> str | None:
    """Return a dependency of a compile that has changed, or None. job: of its kernel today."""
    return next((used.label for used in _broken(artifact, job)), None)


def _broken(artifact: Artifact, job: CompileJob) -> list[Dependency]:
    """Return the dependencies that have changed, libraries last: a setting says more than the library that reads it."""
    broken = [used for used in artifact.dependencies if not holds(used, job)]
    return sorted(broken, key=lambda used: used.kind == LIBRARY)


def _changed(used: Dependency, job: CompileJob) -> str:
    """Return how a dependency that does not hold has changed."""
    if used.kind == SETTINGS:
        module, now = texts_of(used.name)[0], dict(current(used.kind, used.name, job) or ())
        changed = ((path, before, now[path]) for path, before in used.parts if now.get(path, before) != before)
        for path, before, text in changed:
            return difference_text(f"{module}.{path}", before, text)
    return f"{used.label}, which the compile used, has changed"


def recent_artifacts(store: Store, manifest: Manifest) -> Iterator[tuple[str, Artifact | None]]:
    """Yield (key, artifact) of the last compiles under a manifest, the newest first; None for lost artifacts."""
    for key in reversed(manifest.recent):
        yield key, Artifact.from_bytes(store.get(key) or b"")


def _fact_reason(look: Look) -> str | None:
    """Return the fact, of the nearest of this very job's last compiles, that the launch does not share."""
    wanted = {name for _, name in look.candidates()}
    nearest: tuple[int, str] | None = None
    for name, artifact in itertools.islice(recent_artifacts(look.store, look.manifest), _ASKED):
        if artifact is None and name not in wanted:
            continue
        found = (0, _GONE) if artifact is None else _difference(artifact, look.job, look.launch)
        if nearest is None or found[0] < nearest[0]:
            nearest = found
    return None if nearest is None else nearest[1]


def _difference(artifact: Artifact, job: CompileJob, launch: Launch) -> tuple[int, str]:
    """Return how many facts of an artifact a launch does not share, and the first objection to it."""
    broken = [fact for fact in artifact.footprint.facts if not launch.has(fact)]
    if broken and artifact.needs_launch:
        return len(broken), "first launch of what needs one to be compiled"
    if broken:
        return len(broken), _fact_text(broken[0], launch)
    changed = next(iter(_broken(artifact, job)), None)
    return 0, _GONE if changed is None else _changed(changed, job)


def _known_reason(known: Specializations, look: Look) -> str | None:
    config, args = look.launch.config, look.launch.args
    fact = known.nearest_difference(look.job.signature, look.job.target, config, args)
    return None if fact is None else _fact_text(fact, look.launch)


def _job_reason(look: Look) -> str | None:
    now = PastJob.of(look.key, look.job.told)
    nearest = read_history(look.store, look.job.kernel).nearest(now)
    return None if nearest is None else change_text(nearest, now)


def _signature_reason(known: Specializations, job: CompileJob) -> str | None:
    seen = known.all()
    if not seen:
        return None
    if any(found.signature == job.signature for found in seen):
        return f"first use for {job.target}"
    return f"signature {seen[-1].signature} -> {job.signature}"


def _fact_text(fact: Fact, launch: Launch) -> str:
    place = f", read at {fact.place}" if fact.place else ""
    if fact.field in CIRCUMSTANCES:
        what = "a launch" if fact.field == PRESENCE else "a launch's arguments"
        before, now = (f"with {what}", "without") if fact.value else ("without", f"with {what}")
        return f"compiled {before} -> {now}{place}"
    if is_very_object(fact.field) and fact.value is not None:
        return f"{fact.field} is another object, or has changed{place}"
    if fact.of_each_launch and fact.value in (None, True):
        return f"{fact.field} cannot be compared with that of another launch{place}"
    return f"{fact.field} {fact_text(fact.value)} -> {fact_text(launch.value(fact.field))}{place}"


def _target(job: PastJob) -> str:
    kind, arch = job.field("target.kind"), job.field("target.arch")
    return f"{arch}" if kind == "ptx" else f"{kind} {arch}"


def _short(value: str | None) -> str:
    """Return a value, cut if it is only a digest."""
    text = value or "''"
    digest = len(text) >= _SHORTEST_DIGEST and not set(text) - set("0123456789abcdef")
    return text[:_DIGEST_SHOWN] if digest else text


def _paragraph(number: int, found: Specialization) -> list[str]:
    lines = [
        f"{number}. {found.signature} for {found.target}, {found.origin} in {found.milliseconds:.0f} ms",
        f"   why: {found.reason}",
        f"   took: {phases_text(found.phases) or 'no time'}",
    ]
    if found.origin in ("disk", "remote") and (why := found.artifact.why):
        lines.append(f"   compiled because: {why}")
    if made_by := found.metadata.get("generator"):
        lines.append(f"   PTX by: {made_by}")
    if folded := found.metadata.get("folded"):
        lines.append(f"   specialize='auto': {folded}")
    if found.tier:
        lines.append(f"   form: {found.tier}")
    if found.reused:
        lines.append(f"   reused: {'; '.join(found.reused)}")
    facts = [str(fact) for fact in found.footprint.facts if fact.field not in CIRCUMSTANCES]
    lines.append("   depends on: " + ("; ".join(facts) if facts else "nothing of the launch configuration"))
    if found.artifact.effects.sharedmem:
        lines.append(f"   requires {found.artifact.effects.sharedmem} bytes of dynamic shared memory")
    lines += [f"   not stored on disk: {why}" for why in found.artifact.private]
    return lines
