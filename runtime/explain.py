"""explain: why a kernel was compiled, in words that name what differs from the nearest result there was.

Reasons look at what is in memory and on disk: a process that starts today says what changed since yesterday's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gridjit.cache.history import Job, read_history
from gridjit.cache.manifest import Record, read_manifest
from gridjit.cache.store import Store
from gridjit.compiler.artifact import fact_value
from gridjit.compiler.footprint import ARGUMENT, CIRCUMSTANCES, PRESENCE, Fact, current_value, fact_text, is_very_object
from gridjit.compiler.job import CompileJob
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.runtime.specializations import Specialization, Specializations
from gridjit.runtime.specialize import dependency_holds
from gridjit.runtime.statistics import Statistics

FIRST_USE = "first use in this process, nothing in the cache"
# Longer digests are told apart by their beginnings.
_DIGEST_SHOWN = 8
_SHORTEST_DIGEST = 32


def reason(
    known: Specializations,
    store: Store,
    job: CompileJob,
    key: str,
    config: LaunchConfig | None,
    args: Sequence[Any] | None = None,
) -> str:
    """Return why nothing in memory or in store serves a launch of job: the first thing that differs, both values."""
    return (
        _fact_reason(read_manifest(store, key).records, config, args)
        or _known_reason(known, job, config, args)
        or _job_reason(store, job, key)
        or _signature_reason(known, job)
        or FIRST_USE
    )


def story(name: str, stats: Statistics, specializations: Iterable[Specialization]) -> str:
    """Return the story of a kernel: its counts, then a paragraph for each specialization."""
    lines = [f"{name}: {stats.compiles} compiled, {stats.disk_hits} from the cache"]
    for number, found in enumerate(specializations, 1):
        lines += _paragraph(number, found)
    return "\n".join(lines)


def crowding(name: str, known: Specializations) -> str:
    """Return the warning for a kernel with more specializations than it may keep: what varies, and the cure."""
    what, count = known.variety()
    if what == "argument types":
        cure = "Pass arguments of fewer types, dimensions or layouts"
    elif what.startswith(ARGUMENT):
        cure = "Do not read the value of that argument while compiling"
    else:
        cure = "Launch with fewer values of it, or read it in the kernel (cuda.blockDim, cuda.gridDim) at run time"
    return (
        f"{name} has more than {known.limit} specializations; the least recently used are unloaded, and loaded or "
        f"compiled again when they are needed. What varies is {what} ({count} values). {cure}, or raise "
        f"jit(max_specializations={known.limit})."
    )


def difference_text(label: str, before: str | None, now: str | None) -> str:
    """Return a changed key component as people read it: "global THRESHOLD 3 -> 4"."""
    if before is None:
        return f"{label} {_short(now)} is new"
    if now is None:
        return f"{label} {_short(before)} is gone"
    return f"{label} {_short(before)} -> {_short(now)}"


def change_text(before: Job, now: Job) -> str | None:
    """Return the first field of one job that is not the same in another, and how many more there are."""
    changes = before.differences(now.fields)
    if not changes:
        return None
    if (targets := (_target(before), _target(now)))[0] != targets[1] and changes[0][0].startswith("target."):
        # Another target brings another toolchain; none of that is a change of its own.
        return difference_text("target", *targets)
    more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
    return difference_text(*changes[0]) + more


def broken_dependency(record: Record) -> str | None:
    """Return the name of a function used by a compile that is another now, or None if all are the same."""
    return next((fact.label for fact in record.dependencies if not dependency_holds(str(fact.value))), None)


def _fact_reason(records: Sequence[Record], config: LaunchConfig | None, args: Sequence[Any] | None) -> str | None:
    """Return which fact of the nearest compile of this very job the launch does not share."""
    nearest: tuple[int, str] | None = None
    for record in reversed(records):
        facts = [Fact(field=f.label, value=fact_value(f.value), where=f.where) for f in record.facts]
        broken = [fact for fact in facts if not fact.holds(config, args)]
        if broken:
            text = _fact_text(broken[0], config, args)
        elif (function := broken_dependency(record)) is not None:
            text = f"{function} has changed, which the compile had used"
        else:
            text = "its code is not in the cache any more, or damaged"
        if nearest is None or len(broken) < nearest[0]:
            nearest = (len(broken), text)
    return None if nearest is None else nearest[1]


def _known_reason(
    known: Specializations, job: CompileJob, config: LaunchConfig | None, args: Sequence[Any] | None
) -> str | None:
    fact = known.nearest_difference(job.signature, job.target, config, args)
    return None if fact is None else _fact_text(fact, config, args)


def _job_reason(store: Store, job: CompileJob, key: str) -> str | None:
    now = Job.of(key, job.fields)
    nearest = read_history(store, job.kernel).nearest(now)
    return None if nearest is None else change_text(nearest, now)


def _signature_reason(known: Specializations, job: CompileJob) -> str | None:
    seen = known.all()
    if not seen:
        return None
    if any(found.signature == job.signature for found in seen):
        return f"first use for {job.target}"
    return f"signature {seen[-1].signature} -> {job.signature}"


def _fact_text(fact: Fact, config: LaunchConfig | None, args: Sequence[Any] | None) -> str:
    place = f", read at {fact.where}" if fact.where else ""
    if fact.field in CIRCUMSTANCES:
        what = "a launch" if fact.field == PRESENCE else "a launch's arguments"
        before, now = (f"with {what}", "without") if fact.value else ("without", f"with {what}")
        return f"compiled {before} -> {now}{place}"
    if is_very_object(fact.field) and fact.value is not None:
        return f"{fact.field} is another object, or not as it was{place}"
    if fact.of_each_launch and fact.value in (None, True):
        return f"{fact.field} is nothing that another launch can be known to have{place}"
    return f"{fact.field} {fact_text(fact.value)} -> {fact_text(current_value(fact.field, config, args))}{place}"


def _target(job: Job) -> str:
    kind, arch = job.field("target.kind"), job.field("target.arch")
    return f"{arch}" if kind == "ptx" else f"{kind} {arch}"


def _short(value: str | None) -> str:
    """Return a value, cut if it is nothing but a digest."""
    text = value or "''"
    digest = len(text) >= _SHORTEST_DIGEST and not set(text) - set("0123456789abcdef")
    return text[:_DIGEST_SHOWN] if digest else text


def _paragraph(number: int, found: Specialization) -> list[str]:
    lines = [
        f"{number}. {found.signature} for {found.target}, {found.origin} in {found.milliseconds:.0f} ms",
        f"   why: {found.reason}",
    ]
    if found.origin == "disk" and (why := found.metadata.get("why")):
        lines.append(f"   compiled because: {why}")
    facts = [str(fact) for fact in found.footprint.facts if fact.field not in CIRCUMSTANCES]
    lines.append("   depends on: " + ("; ".join(facts) if facts else "nothing of the launch configuration"))
    if found.artifact.effects.sharedmem:
        lines.append(f"   requires {found.artifact.effects.sharedmem} bytes of dynamic shared memory")
    lines += [f"   not stored on disk: {why}" for why in found.artifact.private]
    return lines
