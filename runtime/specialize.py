"""specialize: the cold path. From a job and a launch to the artifact that is right for it: found, or compiled once.

The order guarantees that what is read was written whole: artifact before manifest, and a second look under the lock.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.cache.key import Key
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Record, add_record, promote_record, read_manifest
from gridjit.cache.store import Store
from gridjit.compiler.artifact import Artifact, fact_value
from gridjit.compiler.dependencies import Dependency, holds
from gridjit.compiler.footprint import Fact
from gridjit.compiler.job import CompileJob
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.runtime import hooks
from gridjit.runtime.devices.base import ModuleCallbacks
from gridjit.runtime.specializations import Hook, Specialization
from gridjit.values import dataclass

if TYPE_CHECKING:
    from gridjit.compiler.view import ConfigView


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """The launch that wants a kernel: its configuration (None: compiling ahead of one) and its arguments."""

    config: LaunchConfig | None
    args: Sequence[Any] | None = None
    dispatcher: Any = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cold:
    """What the cold path works with, passed in by its owner.

    in_memory: looks for a specialization that another thread made meanwhile; add: puts one there and returns it.
    why: says why the job of a key has to be compiled; compile: makes its artifact, for that reason.
    lock_timeout: seconds to wait for another's compile before compiling too.
    """

    store: Store
    locks: Locks
    in_memory: Callable[[], Specialization | None]
    add: Callable[[Specialization], Specialization]
    why: Callable[[CompileJob, str], str]
    compile: Callable[[CompileJob, ConfigView, str], Artifact]
    lock_timeout: float = 120.0


def specialize(job: CompileJob, launch: Launch, cold: Cold) -> Specialization:
    """Return the specialization of job for launch, compiling it on a miss."""
    started = time.perf_counter()
    key = Key.of(job.fields).digest
    if (found := look_up(job, key, launch, cold, started)) is not None:
        return cold.add(found)
    from gridjit.compiler.view import ConfigView, current_view

    # A thread that is compiling holds numba's lock, and the job's holder may be waiting for that: so it does not wait.
    timeout = cold.lock_timeout if current_view() is None else 0.0
    with cold.locks.single_flight(key, timeout):
        if (found := cold.in_memory()) is not None:
            return found
        if (found := look_up(job, key, launch, cold, started)) is not None:
            return cold.add(found)
        reason = cold.why(job, key)
        view = ConfigView(launch.config, launch.args, _shown(launch.dispatcher))
        artifact = _with_reason(cold.compile(job, view, reason), reason)
        keep(job, key, artifact, cold)
        callbacks = tuple(view.pre_launch_callbacks)
        module = ModuleCallbacks(setup=view.setup_callbacks, teardown=view.teardown_callbacks)
        return cold.add(_specialization(job, launch, artifact, callbacks, module, "compiled", reason, started))


def look_up(job: CompileJob, key: str, launch: Launch, cold: Cold, started: float) -> Specialization | None:
    """Return the stored specialization whose facts all hold for launch, or None."""
    record = right_record(job, key, launch, cold.store)
    data = None if record is None else cold.store.get(record.artifact)
    artifact = None if data is None else Artifact.from_bytes(data)
    if record is None or artifact is None or not _is_for(artifact, job):
        return None
    if not artifact.footprint.matches(launch.config, launch.args):
        return None
    callbacks = hooks.resolve(artifact.effects.hooks)
    module = hooks.resolve_module(artifact.effects)
    if callbacks is None or module is None:
        return None
    promote_record(cold.store, key, record, cold.locks)
    return _specialization(job, launch, artifact, callbacks, module, "disk", "in the cache", started)


def _is_for(artifact: Artifact, job: CompileJob) -> bool:
    """Return whether an artifact says that it is job's: its name says so already, and costs nothing to compare."""
    mine = (job.kernel, str(job.signature), job.target)
    return (artifact.kernel, artifact.signature, artifact.target) == mine


def right_record(job: CompileJob, key: str, launch: Launch, store: Store) -> Record | None:
    """Return the record of a compile of job that is right for launch, if there was one; its artifact may be gone."""
    return None if job.private else read_manifest(store, key).match(lambda record: _holds(record, launch))


def keep(job: CompileJob, key: str, artifact: Artifact, cold: Cold) -> None:
    """Store an artifact, the manifest that names it, then the job's fields; not what has to stay in this process."""
    from gridjit.cache.history import Job, add_job

    if artifact.private:
        return
    facts = {fact.field: fact.value for fact in artifact.footprint.facts}
    dependencies = {d.label: json.dumps(d.as_dict()) for d in artifact.dependencies}
    name = artifact_key(job, facts, dependencies)
    cold.store.put(name, artifact.to_bytes(), suffix=artifact.suffix)
    where = {fact.field: fact.where for fact in artifact.footprint.facts}
    add_record(cold.store, key, Record.of(name, facts, dependencies, where), cold.locks)
    add_job(cold.store, job.kernel, Job.of(key, job.fields), cold.locks)


def artifact_key(job: CompileJob, facts: dict[str, Any], dependencies: dict[str, str]) -> str:
    """Return the key of job's artifact for what was read: an entry's only name, and never the job's own."""
    read = [(f"read {label}", repr(value)) for label, value in sorted(facts.items())]
    found = [(f"used {label}", text) for label, text in sorted(dependencies.items())]
    return Key.of((("entry", "artifact"), *job.fields, *read, *found)).digest


def _holds(record: Record, launch: Launch) -> bool:
    facts = (Fact(field=fact.label, value=fact_value(fact.value)) for fact in record.facts)
    return all(fact.holds(launch.config, launch.args) for fact in facts) and all(
        dependency_holds(str(fact.value)) for fact in record.dependencies
    )


def dependency_holds(text: str) -> bool:
    """Return whether the dependency that a record's text describes is the same today."""
    try:
        return holds(Dependency.from_dict(json.loads(text)))
    except ValueError:
        return False


def _shown(dispatcher: Any) -> Any:
    """Return what a compile sees as its kernel."""
    from gridjit.runtime.kernel_view import KernelView

    # The same each time, as long as the kernel lives: a library may keep what it knows of a kernel under it.
    return None if dispatcher is None else vars(dispatcher).setdefault("_shown", KernelView(dispatcher))


def _with_reason(artifact: Artifact, reason: str) -> Artifact:
    """Return the artifact with the reason it was made for, so that other processes can tell it."""
    return dataclasses.replace(artifact, metadata={**artifact.metadata, "why": reason})


def _specialization(
    job: CompileJob,
    launch: Launch,
    artifact: Artifact,
    callbacks: tuple[Hook, ...],
    module: ModuleCallbacks,
    origin: str,
    reason: str,
    started: float,
) -> Specialization:
    return Specialization(
        signature=job.signature,
        config=launch.config,
        artifact=artifact,
        origin=origin,
        milliseconds=round((time.perf_counter() - started) * 1e3, 2),
        reason=reason,
        hooks=callbacks,
        module=module,
    )
