"""Specialization: one artifact in use by a kernel; Specializations: the table of them, searched on every new launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.footprint import Fact, Footprint
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.signature import Signature
from gridjit.compiler.targets.base import Target
from gridjit.runtime.devices.base import LoadedKernel

Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Specialization:
    """One compiled form of a kernel.

    signature: the argument types. config: the launch that asked for it (None: compiled ahead of a launch).
    artifact: the code and all that is known of it. origin: "compiled", "disk" or "memory".
    milliseconds: what it took to get it. reason: why it was needed. hooks: called before each of its launches.
    """

    signature: Signature
    config: LaunchConfig | None
    artifact: Artifact
    origin: str
    milliseconds: float
    reason: str
    hooks: tuple[Hook, ...] = ()
    loaded: LoadedKernel | None = field(default=None, repr=False)

    @property
    def footprint(self) -> Footprint:
        """The facts of the launch configuration that its compile read."""
        return self.artifact.footprint

    @property
    def launch_config_sensitive(self) -> bool:
        """Whether another launch configuration may need another specialization."""
        return self.artifact.footprint.sensitive

    @property
    def target(self) -> Target:
        """What the code is for."""
        return self.artifact.target

    @property
    def metadata(self) -> dict[str, Any]:
        """The compile's metadata."""
        return self.artifact.metadata

    def serves(self, target: Target, config: LaunchConfig | None, args: Sequence[Any]) -> bool:
        """Return whether this is the right code for a launch on target."""
        return self.target == target and self.footprint.matches(config, args)

    def __str__(self) -> str:
        return f"{self.signature} for {self.target}, depends on {self.footprint}"


class Specializations:
    """A kernel's specializations, by signature. Reading takes no lock; the newest come first."""

    def __init__(self) -> None:
        self._by_signature: dict[Signature, tuple[Specialization, ...]] = {}
        self._adding = threading.Lock()

    def match(
        self, signature: Signature, target: Target, config: LaunchConfig | None, args: Sequence[Any] = ()
    ) -> Specialization | None:
        """Return the specialization that is right for this launch, or None."""
        candidates = self._by_signature.get(signature, ())
        return next((found for found in candidates if found.serves(target, config, args)), None)

    def add(self, specialization: Specialization) -> None:
        """Keep specialization, ahead of the older ones."""
        with self._adding:
            others = self._by_signature.get(specialization.signature, ())
            self._by_signature[specialization.signature] = (specialization, *others)

    def clear(self) -> tuple[Specialization, ...]:
        """Forget and return all."""
        with self._adding:
            forgotten = self.all()
            self._by_signature = {}
        return forgotten

    def all(self) -> tuple[Specialization, ...]:
        """Return all, oldest first within a signature."""
        return tuple(found for group in list(self._by_signature.values()) for found in reversed(group))

    def nearest_difference(
        self, signature: Signature, target: Target, config: LaunchConfig | None, args: Sequence[Any] = ()
    ) -> Fact | None:
        """Return a fact of the newest specialization of this signature that a launch of config does not share."""
        same = (found for found in self._by_signature.get(signature, ()) if found.target == target)
        return next((fact for found in same if (fact := found.footprint.first_difference(config, args))), None)
