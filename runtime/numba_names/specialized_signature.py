"""SpecializedSignature: a signature with everything else that distinguishes a kernel's specializations.

A kernel may have several specializations of one signature: for other targets, and for launches that differ in facts
that the compiles read. In tables, the specialization for launches here has its Signature as the key, and each other
specialization has this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ConfigError, shown
from gridjit.compiler.values.footprint import CIRCUMSTANCES, HAS_ARGUMENTS, Fact, Footprint
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.specializations.table import Specialization

_TARGETS = r"host|cuda|sm_\d{2,3}[af]?"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecializedSignature(Signature):
    """The argument types, the target and the launch's facts of code.

    number: tells apart code that is alike in all that, as code is that depends on each launch.
    """

    target: Target
    footprint: Footprint
    number: int = 1

    def __str__(self) -> str:
        number = f", number {self.number}" if self.number > 1 else ""
        return f"{Signature.__str__(self)} for {self.target}, depends on {self.footprint}{number}"

    def __repr__(self) -> str:
        return str(self)


def chosen(
    all_of_them: Iterable[Specialization], *, config: LaunchConfig | None = None, target: str | None = None
) -> tuple[Specialization, ...]:
    """Return the specializations for a target ("host", "cuda", "sm_90") that serve a launch; None: for any.

    Raises ConfigError for anything but the name of a target.
    """
    if target is not None and not (isinstance(target, str) and re.fullmatch(_TARGETS, target)):
        raise ConfigError(f"target={shown(target)}: give 'host', 'cuda' or an architecture such as 'sm_90'")
    return tuple(
        found
        for found in all_of_them
        if (target is None or _is_called(found.target, target)) and (config is None or may_serve(found, config))
    )


def may_serve(found: Specialization, config: LaunchConfig) -> bool:
    """Return whether launches of config use a specialization, if it is for their arguments too."""
    facts = (fact for fact in found.footprint.facts if not fact.of_each_launch and fact.field != HAS_ARGUMENTS)
    return all(fact.holds(config) for fact in facts)


def _is_called(target: Target, name: str) -> bool:
    return name == str(target) or (name == "cuda" and target.kind == "ptx")


def by_key(all_of_them: Iterable[Specialization], target: Target | None) -> dict[Signature, Specialization]:
    """Return each specialization by its key: of each signature first the one that launches on target would use.

    That is the newest for target, or else the newest of all. The others follow, the oldest first, without code compiled
    ahead of launches that was compiled again in one.
    """
    groups: dict[Signature, list[Specialization]] = {}
    for found in all_of_them:
        groups.setdefault(found.signature, []).append(found)
    keyed: dict[Signature, Specialization] = {}
    for signature, group in groups.items():
        usable = [found for found in group if not _is_replaced(found, group)]
        first = next((found for found in reversed(usable) if found.target == target), usable[-1])
        keyed[signature] = first
        for found in usable:
            if found is not first:
                keyed[_key(found, keyed)] = found
    return keyed


def _is_replaced(found: Specialization, group: Iterable[Specialization]) -> bool:
    """Return whether code was compiled ahead of a launch, and again in a launch, as its compile asked for a launch."""
    return _is_ahead(found) and any(
        other.target == found.target and not _is_ahead(other) and _facts(other) == _facts(found) for other in group
    )


def _is_ahead(found: Specialization) -> bool:
    return any(fact.field in CIRCUMSTANCES and fact.value is False for fact in found.footprint.facts)


def _facts(found: Specialization) -> tuple[Fact, ...]:
    return tuple(fact for fact in found.footprint.facts if fact.field not in CIRCUMSTANCES)


def _key(found: Specialization, taken: dict[Signature, Specialization]) -> SpecializedSignature:
    number = 1
    while (key := _numbered(found, number)) in taken:
        number += 1
    return key


def _numbered(found: Specialization, number: int) -> SpecializedSignature:
    arguments = found.signature.arguments
    return SpecializedSignature(arguments=arguments, target=found.target, footprint=found.footprint, number=number)
