"""dispatch: from a call to a launch. The first call of a kind finds or makes its specialization; the rest reuse it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.signature import ArgType, Signature
from gridjit.runtime.args.base import handler_of
from gridjit.runtime.devices.base import LoadedKernel
from gridjit.runtime.specializations import Hook

if TYPE_CHECKING:
    from gridjit.runtime.configured import ConfiguredKernel
    from gridjit.runtime.kernel import Kernel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """What a launch needs, worked out once for a configuration and kinds of arguments."""

    loaded: LoadedKernel
    pack: Callable[..., bytes]
    sharedmem: int
    hooks: tuple[Hook, ...]


ReadyTable = dict[tuple[Hashable, ...], Ready]


class ReadyTables:
    """A kernel's tables, one a configuration; bounded, as what is forgotten can be looked up again."""

    LIMIT = 1024

    def __init__(self) -> None:
        self._tables: dict[LaunchConfig, ReadyTable] = {}

    def of(self, config: LaunchConfig) -> ReadyTable:
        """Return the table that all indexings of one configuration share."""
        table = self._tables.get(config)
        if table is None:
            if len(self._tables) >= self.LIMIT:
                self._tables = {}
            table = self._tables.setdefault(config, {})
        return table

    def clear(self) -> None:
        """Forget every table's content, also of configured kernels that exist already."""
        for table in list(self._tables.values()):
            table.clear()
        self._tables = {}


def launch(configured: ConfiguredKernel, args: tuple[Any, ...]) -> None:
    """Launch a configured kernel: the hot path."""
    handlers = [handler_of(arg) for arg in args]
    kinds = tuple([handler.kind(arg) for handler, arg in zip(handlers, args, strict=True)])
    ready = configured.ready.get(kinds) or prepare(configured, args, kinds)
    for callback in (*ready.hooks, *configured.pre_launch_callbacks):
        callback(configured.dispatcher, configured)
    parameters: list[int | float] = []
    for handler, arg in zip(handlers, args, strict=True):
        parameters += handler.parameters(arg)
    ready.loaded.launch(configured.config, configured.stream, ready.sharedmem, ready.pack(*parameters))


def prepare(configured: ConfiguredKernel, args: tuple[Any, ...], kinds: tuple[Hashable, ...]) -> Ready:
    """Return what a launch with args needs, finding or making its specialization first."""
    kernel = configured.dispatcher
    found, loaded = kernel.specialization_for(signature_of(kernel, args), configured.config, args)
    ready = Ready(
        loaded=loaded,
        pack=struct.Struct(found.artifact.parameters).pack,
        sharedmem=max(configured.config.sharedmem, found.artifact.effects.sharedmem),
        hooks=found.hooks,
    )
    if not any(fact.about_argument for fact in found.footprint.facts):
        configured.ready[kinds] = ready
    return ready


def signature_of(kernel: Kernel, args: tuple[Any, ...]) -> Signature:
    """Return the types of args; raises ArgumentError naming the argument that does not fit."""
    names = kernel.parameter_names
    if len(args) != len(names):
        expected = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise ArgumentError(f"{kernel.name} takes {expected} argument{'s' * (len(names) != 1)}; {len(args)} given")
    return Signature(arguments=tuple(_type_of(kernel, name, arg) for name, arg in zip(names, args, strict=True)))


def _type_of(kernel: Kernel, name: str, arg: Any) -> ArgType:
    try:
        return handler_of(arg).type_of(arg)
    except ArgumentError as error:
        raise ArgumentError(f"argument '{name}' of {kernel.name}: {error}") from None
