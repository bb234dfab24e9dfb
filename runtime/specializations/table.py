"""Specialization: one artifact in use by a kernel; Specializations: the table of them; KernelCode: the table loaded."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass, field
from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.footprint import Fact, Footprint
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Device, LoadedKernel

LaunchHook = Callable[..., Any]

# Specializations that a kernel keeps, unless jit(max_specializations=...) sets another number.
DEFAULT_LIMIT = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Specialization:
    """One compiled form of a kernel.

    signature: the argument types. config: the launch that asked for it (None: compiled ahead of a launch).
    artifact: the code and everything known about it. origin: "compiled", "disk", or "served": by
    the compile server, now.
    milliseconds: how long it took to get it; phases: how many of them each part took. reason: why it was needed.
    hooks: called before each of its launches; they may remove themselves.
    module: callbacks for the module that it is loaded as.
    """

    signature: Signature
    config: LaunchConfig | None
    artifact: Artifact
    origin: str
    milliseconds: float
    reason: str
    phases: Mapping[str, float] = field(default_factory=dict)
    hooks: list[LaunchHook] = field(default_factory=list)
    module: ModuleCallbacks = NO_CALLBACKS

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
        """The target of the code."""
        return self.artifact.target

    @property
    def metadata(self) -> dict[str, Any]:
        """The compile's metadata."""
        return self.artifact.metadata

    @property
    def reused(self) -> tuple[str, ...]:
        """The device functions, with their argument types, that were compiled for another kernel before."""
        found = self.metadata.get("reused")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def tier(self) -> str:
        """The tier of a kernel made with jit(tiered=True), "generic" or "specialized"; empty for other kernels."""
        return str(self.metadata.get("tier", ""))

    def serves(self, target: Target, config: LaunchConfig | None, args: Sequence[Any] | None) -> bool:
        """Return whether this code is right for a launch on target."""
        return self.target == target and self.footprint.matches(config, args)

    def __str__(self) -> str:
        return f"{self.signature} for {self.target}, depends on {self.footprint}"

    def __repr__(self) -> str:
        return f"<specialization {self}>"

    def _repr_html_(self) -> str:
        """Return the specialization for notebooks."""
        from gridjit.runtime.specializations.display import SpecializationList

        return SpecializationList((self,), of=self.artifact.kernel)._repr_html_()


@dataclass(frozen=True, slots=True, kw_only=True)
class Displaced:
    """Specializations that a new one displaced. evicted: not kept any more; doubted: to be looked up again."""

    evicted: tuple[Specialization, ...]
    doubted: tuple[Specialization, ...]

    def __bool__(self) -> bool:
        return bool(self.evicted or self.doubted)


class SpecializationWarning(UserWarning):
    """A kernel has more specializations than it may keep; the message names what varies, and says what to do."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


class Specializations:
    """A kernel's specializations, by signature, at most `limit`. Searching takes no lock; the newest come first.

    A launch searches here only the first time; later launches go by the table of ready code. So that code in use is not
    evicted, a specialization is dropped in two steps: first it is *doubted* - the next launch has to look it up again,
    which makes it the most recently used - and then, if no launch did, it is *evicted*.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._by_signature: dict[Signature, tuple[Specialization, ...]] = {}
        # The least recently used first, with the doubted.
        self._order: OrderedDict[Specialization, None] = OrderedDict()
        self._doubted: set[Specialization] = set()
        self._adding = lock()

    def match(
        self, signature: Signature, target: Target, config: LaunchConfig | None, args: Sequence[Any] | None = None
    ) -> Specialization | None:
        """Return the specialization that is right for this launch, or None; makes it the most recently used."""
        candidates = self._by_signature.get(signature, ())
        found = next((found for found in candidates if found.serves(target, config, args)), None)
        if found is not None:
            self._use(found)
        return found

    def add(self, specialization: Specialization) -> Displaced:
        """Keep specialization, ahead of the older; return which of these were evicted and which are doubted."""
        with section(), self._adding:
            others = self._by_signature.get(specialization.signature, ())
            self._by_signature[specialization.signature] = (specialization, *others)
            self._order[specialization] = None
            evicted = tuple(itertools.islice(self._order, max(0, len(self._order) - self.limit)))
            for old in evicted:
                self._remove(old)
            return Displaced(evicted=evicted, doubted=self._doubt())

    def discard(self, found: Specialization) -> None:
        """Discard it, if it is there."""
        with self._adding:
            if found in self._order:
                self._remove(found)

    def clear(self) -> tuple[Specialization, ...]:
        """Remove and return all."""
        with section(), self._adding:
            forgotten = self.all()
            self._by_signature = {}
            self._order.clear()
            self._doubted.clear()
        return forgotten

    def all(self) -> tuple[Specialization, ...]:
        """Return all, oldest first within a signature."""
        return tuple(found for group in list(self._by_signature.values()) for found in reversed(group))

    def __contains__(self, specialization: Specialization) -> bool:
        return specialization in self._order

    def _use(self, found: Specialization) -> None:
        with section(), self._adding:
            if found in self._order:  # it may have been evicted meanwhile
                self._order.move_to_end(found)
                self._doubted.discard(found)

    def _remove(self, old: Specialization) -> None:
        del self._order[old]
        self._doubted.discard(old)
        rest = tuple(found for found in self._by_signature[old.signature] if found is not old)
        if rest:
            self._by_signature[old.signature] = rest
        else:
            del self._by_signature[old.signature]

    def _doubt(self) -> tuple[Specialization, ...]:
        """Doubt the least recently used, leaving half of the room to the others."""
        excess = len(self._order) - max(1, self.limit // 2)
        old = itertools.islice(self._order, max(0, excess))
        doubted = tuple(found for found in old if found not in self._doubted)
        self._doubted.update(doubted)
        return doubted

    def nearest_difference(
        self, signature: Signature, target: Target, config: LaunchConfig | None, args: Sequence[Any] | None = None
    ) -> Fact | None:
        """Return a fact of the newest specialization of this signature that a launch of config does not share."""
        same = (found for found in self._by_signature.get(signature, ()) if found.target == target)
        return next((fact for found in same if (fact := found.footprint.first_difference(config, args))), None)

    def variety(self) -> tuple[str, int]:
        """Return the part in which the specializations differ most, and its number of values.

        The fact of the launch with the most values, with the place that read it; or "argument types".
        """
        values: dict[str, set[object]] = {"argument types": set()}
        places: dict[str, str] = {}
        for found in self.all():
            values["argument types"].add(found.signature)
            for fact in found.footprint.facts:
                values.setdefault(fact.field, set()).add(fact.value)
                places.setdefault(fact.field, f"{fact.field}, read at {fact.where}" if fact.where else fact.field)
        label = max(values, key=lambda name: len(values[name]))
        return places.get(label, label), len(values[label])


class KernelCode:
    """The code of one kernel in this process. Any thread may load, unload and forget.

    table: the specializations. generation: raised when all is forgotten, as a launch that began before must not bring
    it back. needs_launch: what is said of signatures that have no code without a launch. crowded: a warning was given.
    """

    def __init__(self, limit: int) -> None:
        self.table = Specializations(limit)
        self.generation = 0
        self.needs_launch: dict[tuple[Signature, Target], str] = {}
        self._loaded: dict[tuple[Specialization, Device], LoadedKernel] = {}
        self._loading = lock()
        self.crowded = False

    def load(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization as it is launched on device, loading it if need be."""
        with section(), self._loading:
            if (loaded := self._loaded.get((found, device))) is None:
                loaded = self._loaded[found, device] = device.load(found.artifact, found.module)
        return loaded

    def unload(self, displaced: Displaced) -> list[LoadedKernel]:
        """Let go of what was evicted; return what no launch may use without asking, what is doubted among it."""
        with section(), self._loading:
            gone = [loaded for (old, _), loaded in self._loaded.items() if old in displaced.doubted]
            # Whatever is loaded and not known: another thread may have loaded it just when it was evicted.
            return gone + [self._loaded.pop(key) for key in list(self._loaded) if key[0] not in self.table]

    def forget(self) -> tuple[Specialization, ...]:
        """Forget and return all specializations."""
        self.generation += 1
        self.needs_launch.clear()
        forgotten = self.table.clear()
        with section(), self._loading:
            self._loaded.clear()
        return forgotten
