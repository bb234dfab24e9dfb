"""ForAll: a launch of one thread for each of a number of tasks; its block suits the device, unless it is given."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import ConfigError, ConfigTypeError, shown
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.process.arguments import signature_of

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

# The block of a trial compile, which finds the block that suits a kernel.
_TRIAL_BLOCK = 256


class ForAll:
    """`kernel.forall(ntasks)`: call it with the kernel's arguments."""

    def __init__(self, kernel: Kernel, ntasks: int, tpb: int, stream: Any, sharedmem: int) -> None:
        self._kernel = kernel
        self._ntasks = _count("ntasks", ntasks)
        self._block = _count("tpb", tpb)
        if self._ntasks < 0:
            raise ConfigError(f"forall({ntasks}): Can't create ForAll with negative task count")
        if self._block < 0:
            raise ConfigError(f"forall({ntasks}, tpb={tpb}): give threads of a block, or 0 for what suits the device")
        self._stream = stream
        self._sharedmem = sharedmem

    def __repr__(self) -> str:
        block = f", blocks of {self._block}" if self._block else ""
        return f"<{self._kernel!r} for {self._ntasks} tasks{block}>"

    @for_users
    def __call__(self, *args: Any) -> None:
        """Launch at least as many threads as there are tasks; without tasks, only check the arguments."""
        signature = signature_of(self._kernel, args)
        if self._ntasks == 0:
            return
        block = self._block or self._suitable_block(signature, args)
        self._kernel.configure(-(-self._ntasks // block), block, self._stream, self._sharedmem)(*args)

    def _suitable_block(self, signature: Any, args: tuple[Any, ...]) -> int:
        trial = LaunchConfig.of(-(-self._ntasks // _TRIAL_BLOCK), _TRIAL_BLOCK, self._sharedmem)
        # No launch uses it: a tiered kernel is not specialized for it.
        _, loaded = self._kernel.form_for(None).specialization_for(signature, trial, args)
        return loaded.potential_block(self._sharedmem)


def _count(name: str, given: object) -> int:
    try:
        return operator.index(given)  # type: ignore[arg-type]  # whatever it is
    except TypeError:
        raise ConfigTypeError(f"forall({name}={shown(given)}): give a whole number") from None
