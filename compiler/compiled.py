"""Compiled: an artifact with the functions that it wants called, as a compile gives them or a look-up finds them again.

The artifact can go to disk; the functions exist in this process only. Nothing else leaves a compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.artifact import Artifact
from gridjit.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCallbacks:
    """What linked code wants called with its module (a cuda.core.ObjectCode), in each context where it is launched.

    setup: before its first launch. teardown: before it is unloaded.
    """

    setup: tuple[Callable[[Any], Any], ...] = ()
    teardown: tuple[Callable[[Any], Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.setup or self.teardown)


NO_CALLBACKS = ModuleCallbacks()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compiled:
    """What there is of a kernel once it is compiled.

    hooks: called before each launch of the code; they may take themselves away. module: called with what it becomes.
    """

    artifact: Artifact
    hooks: list[Callable[..., Any]] = field(default_factory=list)
    module: ModuleCallbacks = NO_CALLBACKS
