"""specialize: the cold path. From a job and a launch to the artifact that is right for them: found, or compiled once.

The order guarantees that what is read was written whole: artifact before manifest, and a second look under the lock.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.cache.errors import CacheError
from gridjit.cache.key import Key
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Identity, Manifest, Shape, add_compile, artifact_key, note_use, read_manifest
from gridjit.cache.store import Store
from gridjit.compiler.artifact import Artifact
from gridjit.compiler.footprint import ARGUMENT, FactValue, current_value, is_field
from gridjit.compiler.job import CompileJob
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.recorded.dependencies import current
from gridjit.runtime.devices.base import ModuleCallbacks
from gridjit.runtime.launch import hooks
from gridjit.runtime.specialize.table import Hook, Specialization
from gridjit.values import dataclass

if TYPE_CHECKING:
    from gridjit.compiler.view.config import ConfigView


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
    anew: compile whatever is stored.
    """

    store: Store
    locks: Locks
    in_memory: Callable[[], Specialization | None]
    add: Callable[[Specialization], Specialization]
    why: Callable[[CompileJob, str], str]
    compile: Callable[[CompileJob, ConfigView, str], Artifact]
    lock_timeout: float = 120.0
    anew: bool = False


def specialize(job: CompileJob, launch: Launch, cold: Cold) -> Specialization:
    """Return the specialization of job for launch, compiling it on a miss."""
    started = time.perf_counter()
    key = Key.of(job.fields).digest
    if (found := look_up(job, key, launch, cold, started)) is not None:
        return cold.add(found)
    from gridjit.compiler.view.config import ConfigView, current_view

    # A thread that is compiling holds numba's lock, and the job's holder may be waiting for that: so it does not wait.
    timeout = cold.lock_timeout if current_view() is None else 0.0
    with cold.locks.single_flight(key, timeout):
        if (found := cold.in_memory()) is not None:
            return found
        if (found := look_up(job, key, launch, cold, started)) is not None:
            return cold.add(found)
        reason = cold.why(job, key)
        view = ConfigView(launch.config, launch.args, _shown(launch.dispatcher))
        artifact = keep(job, key, _with_reason(cold.compile(job, view, reason), reason, key), cold)
        callbacks = tuple(view.pre_launch_callbacks)
        module = ModuleCallbacks(setup=view.setup_callbacks, teardown=view.teardown_callbacks)
        made = _specialization(job, launch, artifact, callbacks, module, "compiled", reason, started)
        return cold.add(_followed(view, made))


def _followed(view: ConfigView, made: Specialization) -> Specialization:
    """Return what was compiled under view; who keeps that sees, in hooks of its launches, what those have."""
    from gridjit.runtime.launch.under_way import Hooks, launches_with

    hooks = Hooks(made.hooks)
    view.follow(launches_with(hooks))
    return dataclasses.replace(made, hooks=hooks)


def look_up(job: CompileJob, key: str, launch: Launch, cold: Cold, started: float) -> Specialization | None:
    """Return the stored specialization whose facts all hold for launch, or None."""
    if job.private or cold.anew:
        return None
    known = read_manifest(cold.store, key)
    today = Today(job, launch)
    for shape, name in candidates(known, key, today):
        data = cold.store.get(name)
        artifact = None if data is None else Artifact.from_bytes(data)
        if artifact is None or not (_is_for(artifact, job) and today.agrees(artifact)):
            continue
        callbacks = hooks.resolve(artifact.effects.hooks)
        module = hooks.resolve_module(artifact.effects)
        if callbacks is not None and module is not None:
            note_use(cold.store, key, shape, name, known, cold.locks)
            return _specialization(job, launch, artifact, callbacks, module, "disk", "in the cache", started)
    return None


def candidates(known: Manifest, key: str, today: Today) -> Iterator[tuple[Shape, str]]:
    """Yield each shape of a manifest and the key of the artifact that is right for today's values, if there is one.

    The newest come first; any that is there will do.
    """
    for shape in reversed(known.shapes):
        facts, used = today.facts(shape), today.used(shape)
        if facts is not None and used is not None:
            yield shape, artifact_key(key, facts, used)


def stored_artifact(job: CompileJob, key: str, launch: Launch, store: Store) -> str | None:
    """Return the key of an artifact of job that is in store and right for launch, or None."""
    if job.private:
        return None
    found = candidates(read_manifest(store, key), key, Today(job, launch))
    return next((name for _, name in found if store.find(name) is not None), None)


def keep(job: CompileJob, key: str, artifact: Artifact, cold: Cold) -> Artifact:
    """Store an artifact, then its shape, then a new job's fields; not what has to stay in this process.

    What nobody could read back has to, too: the artifact that comes back says why.
    """
    if artifact.private:
        return artifact
    try:
        name, data = key_of(artifact, key), readable(artifact)
    except (CacheError, ValueError, TypeError) as error:
        return dataclasses.replace(artifact, private=(f"it could not be read back from a file: {error}",))
    cold.store.put(name, data, suffix=artifact.suffix)
    if not add_compile(cold.store, key, shape_of(artifact), name, cold.locks).shapes:
        from gridjit.cache.history import PastJob, add_job

        add_job(cold.store, job.kernel, PastJob.of(key, job.fields))
    return artifact


def readable(artifact: Artifact) -> bytes:
    """Return an artifact's bytes; raises ValueError or TypeError if they are not read as what they were made of."""
    data = artifact.to_bytes()
    again = Artifact.read(data)
    if again.to_bytes() != data:
        raise ValueError("part of it is read back as something else")
    if hooks.resolve(again.effects.hooks) is None or hooks.resolve_module(again.effects) is None:
        raise ValueError("a function that it wants called cannot be made again")
    return data


def shape_of(artifact: Artifact) -> Shape:
    """Return what an artifact's compile read, without values."""
    return Shape.of(
        [fact.field for fact in artifact.footprint.facts], [used.identity for used in artifact.dependencies]
    )


def key_of(artifact: Artifact, job: str) -> str:
    """Return the key of an artifact of the job of a key; raises CacheError if a value of what it read has no text."""
    facts = {fact.field: fact.value for fact in artifact.footprint.facts}
    return artifact_key(job, facts, {used.identity: used.parts for used in artifact.dependencies})


class Today:
    """What a launch of a job has today for whatever a compile may have read; each thing is looked at once."""

    def __init__(self, job: CompileJob, launch: Launch) -> None:
        self._job = job
        self._launch = launch
        self._parts: dict[Identity, object] = {}

    def facts(self, shape: Shape) -> dict[str, FactValue] | None:
        """Return the values of a shape's facts, or None if there is one that no other launch can be known to have."""
        if not all(map(is_field, shape.facts)):
            return None
        values = {name: current_value(name, self._launch.config, self._launch.args) for name in shape.facts}
        unsure = any(value is None and name.startswith(ARGUMENT) for name, value in values.items())
        return None if unsure else values

    def used(self, shape: Shape) -> dict[Identity, object] | None:
        """Return what the things that a shape names are like now, or None if that cannot be told of one."""
        values = {}
        for identity in shape.used:
            values[identity] = self._current(identity)
            if values[identity] is None:
                return None
        return values

    def agrees(self, artifact: Artifact) -> bool:
        """Return whether all that an artifact says it was made for is so."""
        return artifact.footprint.matches(self._launch.config, self._launch.args) and all(
            self._current(used.identity) == used.parts for used in artifact.dependencies
        )

    def _current(self, identity: Identity) -> object:
        if identity not in self._parts:
            self._parts[identity] = current(*identity, self._job)
        return self._parts[identity]


def _is_for(artifact: Artifact, job: CompileJob) -> bool:
    """Return whether an artifact says that it is job's: its name says so already, and costs nothing to compare."""
    mine = (job.kernel, str(job.signature), job.target, job.signature.codes)
    return (artifact.kernel, artifact.signature, artifact.target, artifact.parameters) == mine


def _shown(dispatcher: Any) -> Any:
    """Return what a compile sees as its kernel."""
    from gridjit.runtime.specialize.kernel_view import KernelView

    # The same each time, as long as the kernel lives: a library may keep what it knows of a kernel under it.
    return None if dispatcher is None else vars(dispatcher).setdefault("_shown", KernelView(dispatcher))


def _with_reason(artifact: Artifact, reason: str, key: str) -> Artifact:
    """Return the artifact with its job's key and the reason it was made for, so that other processes can tell them."""
    return dataclasses.replace(artifact, metadata={**artifact.metadata, "job": key, "why": reason})


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
        hooks=list(callbacks),
        module=module,
    )
