"""Session: what all kernels of a process share - settings, the device, the cache - each made on first use."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from gridjit.cache.disk import DiskStore
from gridjit.cache.lock import Locks
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store
from gridjit.compiler.errors import DeviceError
from gridjit.compiler.targets.base import Target
from gridjit.runtime.settings import Settings, settings

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Device


class Session:
    """The process's settings, stores, locks and device."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._memory = MemoryStore()
        self._memory_locks = Locks()

    def store(self, cache: bool = True) -> Store:
        """Return where artifacts are kept: on disk, or in memory for kernels (or a process) without a cache."""
        return self._disk if cache and self.settings.cache else self._memory

    def locks(self, cache: bool = True) -> Locks:
        """Return the locks that go with that store."""
        return self._disk_locks if cache and self.settings.cache else self._memory_locks

    def device(self, target: str | None) -> Device:
        """Return the device that kernels made with jit(target=...) run on; raises DeviceError if there is none."""
        wanted = target or self.settings.target or self._default
        if wanted == "host":
            return self._host
        if wanted != "cuda":
            raise DeviceError(f"target {wanted!r} is no device: 'cuda' or 'host'; compile() makes code for 'sm_90'")
        from gridjit.runtime.devices.cuda.device import current_device

        return current_device()

    def device_for(self, target: Target) -> Device:
        """Return the device that runs code made for target; raises DeviceError if it is not here."""
        device = self.device("host" if target.kind == "host" else "cuda")
        if device.target != target:
            raise DeviceError(f"code for {target} does not run here: the device is {device.target}")
        return device

    def target(self, name: str | None) -> Target:
        """Return what "host", an architecture like "sm_90", or None for this process's device stand for."""
        if name is not None and name.startswith("sm_"):
            return Target(kind="ptx", arch=name)
        return self.device(name).target

    def report(self, message: str) -> None:
        """Say what happened on standard error, if GRIDJIT_LOG asks for it."""
        if "compiles" in self.settings.log:
            print(f"gridjit: {message}", file=sys.stderr)

    @functools.cached_property
    def _disk(self) -> DiskStore:
        return DiskStore(self.settings.cache_dir, max_bytes=self.settings.cache_bytes)

    @functools.cached_property
    def _disk_locks(self) -> Locks:
        return Locks(self.settings.cache_dir)

    @functools.cached_property
    def _default(self) -> str:
        """The target of kernels that name none: CUDA where a driver and a device answer."""
        from gridjit.runtime.devices.cuda import presence

        return "cuda" if presence.device_count() else "host"

    @functools.cached_property
    def _host(self) -> Device:
        from gridjit.runtime.devices.host.device import HostDevice

        return HostDevice(threads=self.settings.host_threads)


@functools.cache
def session() -> Session:
    """Return this process's session, made on the first call."""
    return Session(settings())
