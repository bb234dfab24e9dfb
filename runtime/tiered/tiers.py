"""Tiers: decides for each new launch of a tiered kernel whether generic code serves it, and orders the compiles.

Specialized code serves a launch if it is in memory or in the cache. Otherwise generic code serves, which is compiled
now if the cache has none, and the specialized code is handed over to another process. If generic code would be wrong,
or might be, or if no process could compile the rest, the specialized code is compiled now.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass
from gridjit.compiler.values.footprint import FIELDS, current_value, fact_text
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.pool.allowed import why_not
from gridjit.runtime.queues.streams import stream_handle
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specialize.declared import Ahead
from gridjit.runtime.tiered.tier import State, Tier

if TYPE_CHECKING:
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.runtime.devices.base import LoadedKernel
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.process.session import Session
    from gridjit.runtime.specializations.table import Specialization

# Shapes of launches that are remembered; and one kernel's compiles that are under way at once.
_MOST_SHAPES = 1024
_MOST_WAITING = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """A launch's wish: the code of a signature, for a target and the launch itself, in a stream."""

    here: Session
    signature: Signature
    target: Target
    launch: Launch
    stream: Any

    @property
    def config(self) -> LaunchConfig:
        """The launch's configuration."""
        assert self.launch.config is not None  # a launch that is made has one
        return self.launch.config

    @property
    def shape(self) -> tuple[Signature, Target, LaunchConfig | None]:
        """Its key in the table of tiers."""
        return self.signature, self.target, self.launch.config


class Tiers:
    """The tiers of one kernel. specialized: the kernel; generic: the kernel without the fields."""

    def __init__(self, specialized: Kernel, generic: Kernel) -> None:
        self._specialized = specialized
        self._generic = generic
        self._by_shape: dict[tuple[Any, ...], Tier] = {}
        self._all: dict[tuple[Any, ...], Tier] = {}
        self._changing = lock()

    def forget(self) -> None:
        """Begin anew with all launches."""
        with section(), self._changing:
            self._by_shape, self._all = {}, {}

    def told(self) -> list[str]:
        """Return a line for each tier with a story."""
        tiers = dict.fromkeys([*self._all.values(), *self._by_shape.values()])
        return [said for tier in tiers if (said := tier.told())]

    def wait(self, here: Session) -> None:
        """Wait for other processes' compiles."""
        for tier in list(self._all.values()):
            if tier.state is State.WAITING and tier.ahead is not None:
                tier.ahead.wait(here)

    def may_change(self, found: Specialization, config: LaunchConfig) -> bool:
        """Return whether other code than found may serve later launches of config."""
        tier = self._by_shape.get((found.signature, found.target, config))
        return found.tier == "generic" and not (tier is not None and tier.state is State.GENERIC)

    def generic_serves(self, wanted: Wanted) -> bool:
        """Return whether generic code serves a launch now; else specialized code does, compiled if it is not here.

        Raises errors of generic code's compile.
        """
        tier = self._by_shape.get(wanted.shape)
        if tier is None or tier.state is State.NEW:
            tier = self._begun(wanted, tier)
        if tier is None or tier.state is State.SPECIALIZED:
            return False
        if tier.state is State.WAITING and self._has_come(tier, wanted):
            return False
        tier.count(self._specialized.stats)
        return True

    # -- the first launch of a shape ---------------------------------------------------------------------------------

    def _begun(self, wanted: Wanted, tier: Tier | None) -> Tier | None:
        """Return the tier of a launch, with the specialized code handed over; None if that code is here already."""
        if (known := self._shared(wanted)) is not None:
            return known
        found, look = self._specialized.found(wanted.here, wanted.signature, wanted.target, wanted.launch)
        if found is not None or look is None:
            return None
        ahead = self._declared(wanted) or self._prepared(wanted, look)
        # If nothing may be compiled, generic code that is here is better than an error.
        why = ("" if wanted.here.settings.assert_no_compile else ahead.why) or self._not_generic(wanted)
        if not why:
            code, loaded = self._generic_for(wanted)
            why = str(code.metadata.get("inexact", "")) or _too_large(loaded, wanted)
            if not why:
                return self._handed_over(tier or Tier(self._values(wanted)), ahead, code, wanted)
        return self._remembered(Tier.apart(self._values(wanted), why), wanted)

    def _shared(self, wanted: Wanted) -> Tier | None:
        """Return the tier of launches with the same values in all fields that the code depends on, or None."""
        for code in self._generic.in_memory():
            if code.signature == wanted.signature and code.serves(wanted.target, wanted.launch.config, None):
                tier = self._all.get(self._key(wanted, code))
                if tier is not None and tier.state is not State.NEW:
                    return self._remembered(tier, wanted)
        return None

    def _declared(self, wanted: Wanted) -> Ahead | None:
        """Return the compile handed over at this signature's declaration for this configuration, or None."""
        for ahead in self._specialized._ahead:
            if ahead.serves(wanted.signature, wanted.target) and ahead.launch.config == wanted.launch.config:
                return None if ahead.why else ahead
        return None

    def _prepared(self, wanted: Wanted, look: Look) -> Ahead:
        """Return the compile to hand over, or why it cannot be."""
        kernel = self._specialized
        ahead = Ahead(kernel, wanted.signature, wanted.target, wanted.launch)
        ahead.why = why_not(kernel, wanted.here, self._processes(wanted.here))
        if not ahead.why:
            ahead.prepare(kernel, look)
        return ahead

    def _not_generic(self, wanted: Wanted) -> str:
        """Return why there is no generic code: the field that its compile read; empty if there may be."""
        found, look = self._generic.found(wanted.here, wanted.signature, wanted.target, wanted.launch)
        if found is not None or look is None:
            return ""
        fields = self._specialized.options.folds
        read = [name for shape in look.manifest.shapes for name in shape.facts]
        read += [
            fact.field
            for code in self._generic.in_memory()
            if (code.signature, code.target) == (wanted.signature, wanted.target)
            for fact in code.footprint.facts
        ]
        own = next((name for name in read if name.partition(".")[0] in fields), None)
        return "" if own is None else f"the kernel's code reads {own} while it is compiled, so there is no generic code"

    def _generic_for(self, wanted: Wanted) -> tuple[Specialization, LoadedKernel]:
        return self._generic.specialization_for(wanted.signature, wanted.config, tuple(wanted.launch.args or ()))

    def _handed_over(self, tier: Tier, ahead: Ahead, code: Specialization, wanted: Wanted) -> Tier:
        """Return the tier that generic code serves, once the specialized code is handed over, unless too many are."""
        with section(), self._changing:
            tier = self._all.setdefault(self._key(wanted, code), tier)
            waiting = sum(one.state is State.WAITING for one in self._all.values())
            if tier.state is State.NEW and waiting < _MOST_WAITING:
                if ahead.is_prepared:
                    ahead.send(wanted.here.pool(self._processes(wanted.here), ahead.target))
                tier.hand_over(ahead)
        return self._remembered(tier, wanted)

    def _remembered(self, tier: Tier, wanted: Wanted) -> Tier:
        with section(), self._changing:
            if len(self._by_shape) >= _MOST_SHAPES:
                self._by_shape = {}
            self._by_shape[wanted.shape] = tier
        return tier

    # -- the launches that follow ------------------------------------------------------------------------------------

    def _has_come(self, tier: Tier, wanted: Wanted) -> bool:
        """Return whether specialized code serves from this launch on; not while a stream captures generic code."""
        handle = stream_handle(wanted.stream)
        if self._specialized.timeline.capturing(handle):
            tier.note_capture(wanted.stream)
            return False
        ahead = tier.ahead
        if ahead is None or not ahead.is_over(wanted.here) or tier.is_captured():
            return False
        if self._taken(ahead, wanted):
            tier.swap(self._specialized.stats)
            return True
        tier.stay(ahead.why or "the code that another process compiled does not fit this one")
        return False

    def _taken(self, ahead: Ahead, wanted: Wanted) -> bool:
        """Return whether the specialized code is in memory now, as it was handed over or as it would be today."""
        kernel = self._specialized
        if kernel.made_elsewhere(wanted.here, ahead, wanted.launch) is not None:
            return True
        return kernel.found(wanted.here, wanted.signature, wanted.target, wanted.launch)[0] is not None

    # -- what it goes by ---------------------------------------------------------------------------------------------

    def _processes(self, here: Session) -> int:
        """Return how many processes compile for it: one, unless more are asked for, or none."""
        asked = here.settings.processes_for(self._specialized.background)
        return asked if asked or here.settings.compile_processes == 0 else 1

    def _key(self, wanted: Wanted, code: Specialization) -> tuple[Any, ...]:
        """Return the key of launches with the same fields, and the same facts that generic code depends on."""
        fields = tuple(FIELDS[name](wanted.config) for name in self._specialized.options.folds)
        return wanted.signature, wanted.target, fields, code.footprint.facts

    def _values(self, wanted: Wanted) -> str:
        """Return the fields of a launch in words."""
        names = self._specialized.options.folds
        values = ", ".join(f"{name} {fact_text(current_value(name, wanted.config))}" for name in names)
        return f"{values}, {wanted.signature}"


def _too_large(loaded: LoadedKernel, wanted: Wanted) -> str:
    """Return why generic code cannot make the launch, though specialized code may; empty if it can.

    Specialized code knows how many threads a block has, and makes do with fewer registers.
    """
    config = wanted.config
    threads, most = math.prod(config.blockdim), loaded.attributes().max_threads
    if threads > most:
        return f"a block of generic code can have {most} threads"
    if not (config.cooperative or loaded.artifact.cooperative):
        return ""
    blocks = loaded.resident_blocks(threads, max(config.sharedmem, loaded.artifact.effects.sharedmem))
    fits = blocks is None or math.prod(config.griddim) <= blocks
    return "" if fits else f"only {blocks} blocks of generic code can run at once"
