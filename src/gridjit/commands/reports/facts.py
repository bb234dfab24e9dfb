"""Report: a report's contents, as values. `cached` gathers it from a cache's folder, `traced` from a trace."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping

from gridjit.base.values import dataclass, field
from gridjit.runtime.traced.tracer import group_of

# The groups of phases, in the order in which a compile goes through them.
GROUPS = ("cache", "front end", "types", "lowering", "optimization", "PTX", "link", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFact:
    """A fact that a compile read: the field, its value as text, and the place that read it ("" if unknown)."""

    field: str
    value: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenShape:
    """Launches of a grid and a block: how many blocks, threads of a block, and bytes of dynamic shared memory of each.

    count: how many launches were seen; 0 for the launch that it was compiled for. seconds: of those that ended when
    the kernel had run. room: how many of the blocks the device runs at once, None if unknown.
    """

    blocks: int
    threads: int
    sharedmem: int = 0
    count: int = 0
    seconds: tuple[float, ...] = ()
    room: int | None = None

    @property
    def median_ms(self) -> float | None:
        """The median of the timed launches, in milliseconds; None if none was timed."""
        return round(statistics.median(self.seconds) * 1e3, 4) if self.seconds else None

    def __str__(self) -> str:
        shared = f", {self.sharedmem} bytes shared" if self.sharedmem else ""
        return f"{self.blocks} x {self.threads}{shared}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One specialization of a kernel.

    bytes: of what is stored. compile_ms: the time until it was compiled, with the look-ups before; in a trace, of all
    its compiles; None if unknown. phases: how much of it each phase. resources: as artifacts have them. why: what it
    was compiled for. hits, compiles: how often it was found and made; last: when last, in seconds (None: never).
    shapes: its launches, the most frequent first, or the launch that it was compiled for.
    """

    kernel: str
    signature: str
    target: str
    file: str = ""
    shapes: tuple[SeenShape, ...] = ()
    facts: tuple[SeenFact, ...] = ()
    bytes: int = 0
    compile_ms: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    hits: int = 0
    compiles: int = 0
    last: float | None = None

    @property
    def groups(self) -> dict[str, float]:
        """The milliseconds of its compile by group of phases."""
        return by_group(self.phases)

    @property
    def shape(self) -> SeenShape | None:
        """Its most frequent launch, or the launch that it was compiled for; None if no launch is known."""
        return self.shapes[0] if self.shapes else None

    @property
    def launches(self) -> int:
        """How many of its launches were seen."""
        return sum(shape.count for shape in self.shapes)

    @property
    def launch_ms(self) -> float | None:
        """The median of its most frequent launches, in milliseconds; None if none was timed."""
        return None if self.shape is None else self.shape.median_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenUse:
    """One time that a specialization was found (hit) or compiled. time: in seconds."""

    time: float
    hit: bool
    kernel: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)  # which are made faster, and there are many
class Slice:
    """A slice of a trace: its name, in which thread ("process, thread"), from when to when in seconds.

    depth: how many slices of its thread it lies in. group: of phases, or "compile", "find", "fail", "launch", ...
    target: of a launch. compiling: the seconds in a launch for which its code was looked for or compiled.
    """

    name: str
    group: str
    thread: str
    begins: float
    ends: float
    depth: int = 0
    why: str = ""
    target: str = ""
    compiling: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report's contents. source: the folder or file. is_trace: whether times count from a run's start, not from 1970.

    other_bytes: of the folder's other entries: manifests, histories, functions. slices: of a trace, in time's order.
    launches_needed: how many answers it has, or tells of, that a kernel has no code without a launch.
    remotes: the counts of remote caches, by their addresses.
    """

    source: str
    is_trace: bool
    forms: tuple[Form, ...] = ()
    uses: tuple[SeenUse, ...] = ()
    slices: tuple[Slice, ...] = ()
    other_bytes: int = 0
    launches_needed: int = 0
    remotes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def kernels(self) -> dict[str, list[Form]]:
        """The forms of each kernel, by its name."""
        made: dict[str, list[Form]] = {}
        for form in self.forms:
            made.setdefault(form.kernel, []).append(form)
        return dict(sorted(made.items()))

    @property
    def groups(self) -> dict[str, float]:
        """The milliseconds of all compiles by group of phases."""
        whole: dict[str, float] = {}
        for form in self.forms:
            for name, spent in form.groups.items():
                whole[name] = whole.get(name, 0.0) + spent
        return {name: round(whole[name], 2) for name in GROUPS if name in whole}

    @property
    def compile_ms(self) -> float:
        """The milliseconds of all compiles."""
        return sum(form.compile_ms or 0.0 for form in self.forms)

    @property
    def hit_rate(self) -> float | None:
        """The share of uses that found their code; None if there were no uses."""
        return sum(use.hit for use in self.uses) / len(self.uses) if self.uses else None

    @property
    def launches(self) -> dict[tuple[str, str], tuple[int, float]]:
        """How many launches a trace tells of, and their seconds less compiles, by kernel and why Python made them."""
        made: dict[tuple[str, str], tuple[int, float]] = {}
        for one in self.slices:
            if one.group == "launch":
                count, spent = made.get((one.name, one.why), (0, 0.0))
                made[one.name, one.why] = count + 1, spent + one.ends - one.begins - one.compiling
        return made


def splits(forms: Iterable[Form]) -> dict[str, tuple[str, ...]]:
    """Return the differences between a kernel's forms: types, target, and each fact with its place; all its values.

    A fact that some forms did not read has the value "not read" there.
    """
    known = list(forms)
    seen: dict[str, list[str]] = {"argument types": [], "target": []}
    for name in dict.fromkeys(_label(fact) for form in known for fact in form.facts):
        seen[name] = []
    for form in known:
        read = {_label(fact): fact.value for fact in form.facts}
        told = {"argument types": form.signature, "target": form.target}
        for name in seen:
            seen[name].append(told.get(name) or read.get(name, "not read"))
    values = {name: tuple(dict.fromkeys(found)) for name, found in seen.items()}
    return {name: found for name, found in values.items() if len(found) > 1}


def by_group(phases: Mapping[str, float]) -> dict[str, float]:
    """Return milliseconds by group of phases, in the order of GROUPS."""
    whole: dict[str, float] = {}
    for name, spent in phases.items():
        whole[group_of(name)] = whole.get(group_of(name), 0.0) + spent
    return {name: whole[name] for name in GROUPS if name in whole}


def _label(fact: SeenFact) -> str:
    return f"{fact.field}, read at {fact.where}" if fact.where else fact.field
