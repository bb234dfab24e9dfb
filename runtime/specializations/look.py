"""Look: one look at a job's stored results. Its manifest is read once, and so is each value that a compile read.

Only this file makes an artifact's name, from facts and dependencies: of a stored compile, or of today's launch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gridjit.base.values import dataclass
from gridjit.cache.key import Key
from gridjit.cache.manifest import Identity, Manifest, Shape, artifact_key, read_manifest
from gridjit.cache.store import Store
from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.dependency import Dependency, Parts
from gridjit.compiler.values.footprint import PRESENCE, Fact, FactValue, current_value, is_field
from gridjit.compiler.values.launch_config import LaunchConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """The launch that wants a kernel: its configuration (None: compiling ahead of one) and its arguments.

    known: facts about arguments that are not at hand.
    """

    config: LaunchConfig | None
    args: Sequence[Any] | None = None
    known: tuple[Fact, ...] = ()

    def value(self, field: str) -> FactValue:
        """Return the launch's value of a field."""
        known = [fact.value for fact in self.known if fact.field == field]
        return known[0] if known else current_value(field, self.config, self.args)

    def has(self, fact: Fact) -> bool:
        """Return whether the launch has a fact."""
        return fact in self.known or fact.holds(self.config, self.args)


class Look:
    """A job's stored results under its key, as first read, and today's values of a launch.

    started: when the launch began to look, in seconds as time.perf_counter counts them.
    """

    def __init__(self, store: Store, job: CompileJob, key: str, launch: Launch, started: float) -> None:
        self.store = store
        self.job = job
        self.key = key
        self.launch = launch
        self.started = started
        self._manifest: Manifest | None = None
        self._today: dict[Identity, Parts | None] = {}

    @classmethod
    def at(cls, store: Store, job: CompileJob, launch: Launch) -> Look:
        """Return a first look."""
        started = time.perf_counter()
        return cls(store, job, Key.of(job.fields).digest, launch, started)

    def again(self, store: Store | None = None) -> Look:
        """Return another look, which reads all anew. store: another store to look at."""
        return Look(store or self.store, self.job, self.key, self.launch, self.started)

    def for_launch(self, launch: Launch) -> Look:
        """Return a look of another launch at the same results."""
        other = Look(self.store, self.job, self.key, launch, self.started)
        other._manifest, other._today = self.manifest, self._today
        return other

    @property
    def manifest(self) -> Manifest:
        """The shapes of the job's compiles."""
        if self._manifest is None:
            self._manifest = read_manifest(self.store, self.key)
        return self._manifest

    def candidates(self) -> Iterator[tuple[Shape, str]]:
        """Yield each shape of the manifest and the name of today's right artifact, if there is one.

        The newest come first; any that is stored will do.
        """
        for shape in reversed(self.manifest.shapes):
            if (key := self.key_of(shape)) is not None:
                yield shape, key

    def key_of(self, shape: Shape) -> str | None:
        """Return the name of today's right artifact of a shape; None if another launch or world has no such facts."""
        facts, used = self._facts(shape), self._used(shape)
        return None if facts is None or used is None else name_of(self.key, facts, used)

    @property
    def stored(self) -> str | None:
        """The name of a stored artifact that is right for the launch, or None."""
        if self.job.private:
            return None
        return next((name for _, name in self.candidates() if self.store.find(name) is not None), None)

    @property
    def needs_launch(self) -> bool:
        """Whether the stored answer is that the job needs a launch, and the look is for none."""
        if self.job.private or self.launch.config is not None:
            return False
        shapes = (name for shape, name in self.candidates() if PRESENCE in shape.facts)
        found = (Artifact.from_bytes(self.store.get(name) or b"") for name in shapes)
        return any(one is not None and one.needs_launch and self.agrees(one) for one in found)

    def is_for(self, artifact: Artifact) -> bool:
        """Return whether an artifact claims to be of the job: its name says so already, and the check costs nothing."""
        mine = (self.job.kernel, str(self.job.signature), self.job.target, self.job.signature.codes)
        return (artifact.kernel, artifact.signature, artifact.target, artifact.parameters) == mine

    def agrees(self, artifact: Artifact) -> bool:
        """Return whether all facts and dependencies of an artifact hold."""
        return artifact.footprint.matches(self.launch.config, self.launch.args) and all(
            self._current(used.identity) == used.parts for used in artifact.dependencies
        )

    def _facts(self, shape: Shape) -> tuple[Fact, ...] | None:
        """Return a shape's facts of today, or None if another launch is not known to have them all."""
        if not all(map(is_field, shape.facts)):
            return None
        facts = tuple(Fact(field=name, value=self.launch.value(name)) for name in shape.facts)
        return None if any(fact.about_argument and fact.value is None for fact in facts) else facts

    def _used(self, shape: Shape) -> tuple[Dependency, ...] | None:
        """Return a shape's dependencies of today, or None if one is unknown."""
        found = []
        for kind, name in shape.used:
            if (parts := self._current((kind, name))) is None:
                return None
            found.append(Dependency(kind=kind, name=name, parts=parts))
        return tuple(found)

    def _current(self, identity: Identity) -> Parts | None:
        from gridjit.compiler.recorded.dependencies import current  # most kernels have no dependency of this kind

        if identity not in self._today:
            self._today[identity] = current(*identity, self.job)
        return self._today[identity]


def name_of(job: str, facts: Iterable[Fact], used: Iterable[Dependency]) -> str:
    """Return the name of a job's artifact for the values read; CacheError if a value has no text."""
    return artifact_key(job, {fact.field: fact.value for fact in facts}, {one.identity: one.parts for one in used})


def shape_of(artifact: Artifact) -> Shape:
    """Return the shape of an artifact's compile, without values."""
    return Shape.of((fact.field for fact in artifact.footprint.facts), (one.identity for one in artifact.dependencies))
