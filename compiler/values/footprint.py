"""Footprint: the facts of the launch configuration that one compilation read, and the effects it asked for.

A stored artifact is right for a launch exactly if every fact of its footprint equals the launch's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gridjit.base import reading
from gridjit.base.values import dataclass
from gridjit.compiler.source.scalars import is_number, number_text
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig, dim_text

if TYPE_CHECKING:
    from gridjit.compiler.hooks.hook import Hook
    from gridjit.compiler.source.identity import Identity

FactValue: TypeAlias = "bool | int | str | tuple[int, ...] | Identity | None"

# Every fact that a compilation can read, and how to look it up in a configuration. "launch" says whether there
# was a configuration at all: a compile outside any launch that asked cannot stand in for one inside.
FIELDS: Mapping[str, Callable[[LaunchConfig], FactValue]] = {
    "griddim": lambda config: config.griddim,
    "griddim.x": lambda config: config.griddim[0],
    "griddim.y": lambda config: config.griddim[1],
    "griddim.z": lambda config: config.griddim[2],
    "blockdim": lambda config: config.blockdim,
    "blockdim.x": lambda config: config.blockdim[0],
    "blockdim.y": lambda config: config.blockdim[1],
    "blockdim.z": lambda config: config.blockdim[2],
    "sharedmem": lambda config: config.sharedmem,
    "cluster": lambda config: config.cluster,
    "cooperative": lambda config: config.cooperative,
}
PRESENCE = "launch"
# "argument 3" is the value of a number passed to the launch, "argument 3 itself" the very object that was passed, and
# "argument 3 in full" more of an array than its type and shape, which no later launch is known to share.
ARGUMENT = "argument "
# Arrays have "argument 3 shape".
_SEEN_OF_ARRAYS = ("shape", "strides")
ITSELF = " itself"
IN_FULL = " in full"
# Something of another compilation's launch; no later launch is known to share it.
ELSEWHERE = "the launch of another compilation"
# "arguments" says whether there were any: a compile ahead of a launch that asked cannot stand in for a launch.
HAS_ARGUMENTS = "arguments"
# Facts that distinguish a launch from a compile ahead of one, but not one launch from another.
CIRCUMSTANCES = (PRESENCE, HAS_ARGUMENTS)
# Fields that can be marked. A mark made outside a compile that names none stands for all.
Markable: TypeAlias = Literal["griddim", "blockdim", "sharedmem", "cluster", "cooperative"]
MARKABLE: tuple[Markable, ...] = ("griddim", "blockdim", "sharedmem", "cluster", "cooperative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing read: the field, the value it had, and the place that read it (not part of equality).

    place: as `CodePlace` writes it, or words. The same class serves from the read of a view through artifacts, keys and
    recorded needs, and back from there.
    """

    field: str
    value: FactValue
    place: str = dataclasses.field(default="", compare=False)

    @property
    def where(self) -> str:
        """The place as people read it today: "stats.py:14"."""
        from gridjit.compiler.source.code_place import shown  # only people ask

        return shown(self.place)

    @property
    def about_argument(self) -> bool:
        """Whether it is the value of a launch argument, which is new in each launch."""
        return self.field.startswith(ARGUMENT)

    @property
    def of_each_launch(self) -> bool:
        """Whether it has to be checked again in each launch, however alike the kinds of the arguments are."""
        return self.about_argument or self.field == ELSEWHERE

    @property
    def _unrepeatable(self) -> bool:
        return self.about_argument and self.value is None

    def holds(self, config: LaunchConfig | None, args: Sequence[Any] | None = None) -> bool:
        """Return whether a launch of config (None: no launch) with args has this fact."""
        return self.value == current_value(self.field, config, args) and not self._unrepeatable

    def as_json(self) -> list[Any]:
        """Return the fact as JSON has it; `read` turns that back."""
        return [self.field, self.value, self.place]

    @classmethod
    def read(cls, field: Any, value: Any, place: Any = "") -> Fact:
        """Return the fact that as_json wrote, whose tuples came back as lists; raises Unreadable for anything else."""
        parts = value if isinstance(value, list) else (value,)
        if not all(part is None or isinstance(part, bool | int | str) for part in parts):
            raise reading.Unreadable(f"a fact of a launch cannot be {value!r}")
        found = tuple(parts) if isinstance(value, list) else value
        return cls(field=reading.text(field), value=found, place=reading.text(place))

    def __str__(self) -> str:
        place = f", read at {self.where}" if self.where else ""
        return f"{self.field} {fact_text(self.value)}{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Actions that a launch of the artifact takes besides launching.

    sharedmem: dynamic shared memory the compile required, in bytes (0: as much as the launch asked for).
    hooks: pre-launch hooks, run with (kernel, config) before each launch.
    setup, teardown: run with the loaded module in each context, before its first launch there, and at its end.
    """

    sharedmem: int = 0
    hooks: tuple[Hook, ...] = ()
    setup: tuple[Hook, ...] = ()
    teardown: tuple[Hook, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The facts one compilation read, sorted by field and without duplicates."""

    facts: tuple[Fact, ...] = ()

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Footprint:
        """Return the footprint of facts, without implied facts.

        A broader fact ("blockdim") implies "blockdim.x", and a fact that only a launch has implies its presence.
        """
        first: dict[str, Fact] = {}
        for fact in facts:
            first.setdefault(fact.field, fact)
        if any(name in FIELDS and fact.value is not None for name, fact in first.items()):
            first.pop(PRESENCE, None)
        kept = [
            f for f in first.values() if f.field.partition(".")[0] == f.field or f.field.partition(".")[0] not in first
        ]
        return cls(facts=tuple(sorted(kept, key=lambda fact: fact.field)))

    @property
    def sensitive(self) -> bool:
        """Whether another launch configuration may need another artifact."""
        return any(fact.field not in CIRCUMSTANCES for fact in self.facts)

    def matches(self, config: LaunchConfig | None, args: Sequence[Any] | None = None) -> bool:
        """Return whether every fact equals the launch's own."""
        return self.first_difference(config, args) is None

    def first_difference(self, config: LaunchConfig | None, args: Sequence[Any] | None = None) -> Fact | None:
        """Return the first fact that the launch does not share, or None."""
        return next((fact for fact in self.facts if not fact.holds(config, args)), None)

    def __str__(self) -> str:
        return (
            ", ".join(f"{f.field} = {fact_text(f.value)}" for f in self.facts if f.field not in CIRCUMSTANCES)
            or "nothing"
        )


def current_value(name: str, config: LaunchConfig | None, args: Sequence[Any] | None = None) -> FactValue:
    """Return the value of a field in a launch. A field that this version does not know has none, and never matches."""
    if name == PRESENCE:
        return config is not None
    if name == HAS_ARGUMENTS:
        return args is not None
    if name.startswith(ARGUMENT):
        return _argument_value(name, args or ())
    if config is None or name not in FIELDS:
        return None
    return FIELDS[name](config)


def is_field(name: str) -> bool:
    """Return whether this version can look up a field of that name in a launch."""
    if not name.startswith(ARGUMENT):
        return name in FIELDS or name in (PRESENCE, HAS_ARGUMENTS)
    index, _, part = name[len(ARGUMENT) :].partition(" ")
    return part in ("", "itself", *_SEEN_OF_ARRAYS) and index.isascii() and index.isdecimal() and len(index) <= 4


def is_very_object(name: str) -> bool:
    """Return whether a field is an argument itself."""
    return name.startswith(ARGUMENT) and name.endswith(ITSELF)


def _argument_value(name: str, args: Sequence[Any]) -> FactValue:
    """Return the value of a launch's argument for a fact as "argument 3", "argument 3 shape"; None never matches."""
    index, _, part = name[len(ARGUMENT) :].partition(" ")
    if int(index) >= len(args):
        return None
    argument = args[int(index)]
    if is_very_object(name):
        from gridjit.compiler.source.identity import Identity  # few compiles read an argument

        return Identity.of(argument)
    if part:
        value = getattr(argument, part, None) if part in _SEEN_OF_ARRAYS else None
        return None if value is None else tuple(value)
    return number_text(argument) if is_number(argument) else None


def fact_text(value: FactValue) -> str:
    """Return a fact's value as people write it: 128, 8x4, True."""
    if isinstance(value, tuple):
        return dim_text(value)
    return str(value)


def as_dim3(value: FactValue) -> Dim3:
    """Return a stored dimension as a 3-tuple; raises ValueError for anything else."""
    if not isinstance(value, tuple) or len(value) != 3:
        raise ValueError(f"{value!r} is not an (x, y, z)")
    return (value[0], value[1], value[2])
