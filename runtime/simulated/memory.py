"""memory: a simulated device's total and free memory; allocations beyond it are refused as by a driver."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gridjit.base.forking import lock, section
from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.environment.settings import Settings, settings
from gridjit.runtime.simulated import current

if TYPE_CHECKING:
    from gridjit.runtime.environment.models import DeviceModel

# The default device has more, so that programs that use less do not import its facts.
_LEAST = 1 << 30


class MemoryInfo(NamedTuple):
    """Bytes that a device has left, and has in all."""

    free: int
    total: int


def hold(size: int) -> Callable[[], None]:
    """Count size bytes as the current device's; returns the function that frees them.

    Raises DriverError if the device has not that many left, unless limits are off.
    """
    here, most = current.ordinal(), _LEAST if settings().host_device is None else 0
    give = ledger.take(here, size, most) or ledger.take(here, size, most_of(settings()))
    if give is None:
        raise out_of_memory(size)
    return give


def most_of(wanted: Settings) -> int | None:
    """Return the bytes that arrays on a device may hold; None: any number, as limits are off."""
    return _model(wanted).memory_bytes if wanted.host_limits else None


def out_of_memory(size: int) -> DeviceError:
    """Return the error of an allocation of too many bytes, as on a GPU."""
    from gridjit.runtime.devices.errors import driver_error  # only a failure needs it

    free, total = info(current.ordinal())
    return driver_error(
        "the simulated device",
        "CUDA_ERROR_OUT_OF_MEMORY",
        f"{size} bytes of {free} that are free of {total}; GRIDJIT_HOST_DEVICE chooses another device",
        code=2,
    )


def info(ordinal: int) -> MemoryInfo:
    """Return a device's free and total bytes: memory that this computer cannot give counts as taken."""
    wanted = settings()
    total = _model(wanted).memory_bytes
    available = _available()
    given = total if available is None else min(total, available // wanted.host_devices)
    return MemoryInfo(max(0, given - ledger.held(ordinal)), total)


def _model(wanted: Settings) -> DeviceModel:
    from gridjit.runtime.environment.models import model

    return model(wanted.host_device)


@functools.cache
def _available() -> int | None:
    """Return the bytes that the system could give without swapping at the first call; None if it cannot say.

    Once, so that a program's changes of free memory are its own.
    """
    try:
        with open("/proc/meminfo") as lines:
            words = next(line for line in lines if line.startswith("MemAvailable:")).split()
        return int(words[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return None


class Ledger:
    """Bytes held, by the number of the device."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._given: deque[tuple[int, int]] = deque()
        self._counting = lock()

    def take(self, ordinal: int, size: int, most: int | None) -> Callable[[], None] | None:
        """Note size bytes on a device; returns their freeing function, or None if that would exceed most."""
        with section(), self._counting:
            held = self._settled(ordinal) + size
            if most is not None and held > most:
                return None
            self._held[ordinal] = held
        return functools.partial(self._given.append, (ordinal, size))

    def held(self, ordinal: int) -> int:
        """Return the bytes held on a device."""
        with section(), self._counting:
            return self._settled(ordinal)

    def _settled(self, ordinal: int) -> int:
        while self._given:
            device, size = self._given.popleft()
            self._held[device] = self._held.get(device, 0) - size
        return self._held.get(ordinal, 0)


ledger = Ledger()
