"""KernelCode: a kernel's specializations in memory: a limited number, each loaded on the devices that launch it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.forking import lock, section
from gridjit.messages import warn_or_log
from gridjit.runtime.specialize.table import Displaced, Specialization, Specializations, SpecializationWarning

if TYPE_CHECKING:
    from gridjit.compiler.signature import Signature
    from gridjit.compiler.target import Target
    from gridjit.runtime.devices.base import Device, LoadedKernel


class KernelCode:
    """The code of one kernel in this process. Any thread may load, unload and forget.

    table: the specializations. generation: raised when all is forgotten, as a launch that began before must not bring
    it back. needs_launch: the messages about signatures that have no code without a launch.
    """

    def __init__(self, limit: int) -> None:
        self.table = Specializations(limit)
        self.generation = 0
        self.needs_launch: dict[tuple[Signature, Target], str] = {}
        self._loaded: dict[tuple[Specialization, Device], LoadedKernel] = {}
        self._loading = lock()
        self._crowded = False

    def load(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization's kernel on device, loading it if need be."""
        with section(), self._loading:
            if (loaded := self._loaded.get((found, device))) is None:
                loaded = self._loaded[found, device] = device.load(found.artifact, found.module)
        return loaded

    def unload(self, displaced: Displaced) -> list[LoadedKernel]:
        """Drop evicted code; return the kernels that launches must look up again, doubted kernels among them."""
        with section(), self._loading:
            gone = [loaded for (old, _), loaded in self._loaded.items() if old in displaced.doubted]
            # Loaded and not in the table: another thread may have loaded it just when it was evicted.
            return gone + [self._loaded.pop(key) for key in list(self._loaded) if key[0] not in self.table]

    def forget(self) -> tuple[Specialization, ...]:
        """Forget and return all specializations."""
        self.generation += 1
        self.needs_launch.clear()
        forgotten = self.table.clear()
        with section(), self._loading:
            self._loaded.clear()
        return forgotten

    def warn_of_crowding(self, name: str) -> None:
        """Warn, once, that a kernel of this name has too many specializations."""
        if not self._crowded:
            from gridjit.runtime.specialize import explain

            self._crowded = True
            crowded = SpecializationWarning(explain.crowding(name, self.table))
            warn_or_log(crowded, logger="gridjit")
