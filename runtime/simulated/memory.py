"""memory: how much a simulated device has and has left; what is allocated beyond it is refused as a driver does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from gridjit.compiler.errors import DeviceError
from gridjit.runtime.settings import settings
from gridjit.runtime.simulated import current
from gridjit.runtime.simulated.ledger import ledger
from gridjit.runtime.simulated.models import model


class MemoryInfo(NamedTuple):
    """Bytes that a device has left, and has in all."""

    free: int
    total: int


def hold(size: int) -> Callable[[], None]:
    """Count size bytes as the current device's; returns what gives them back.

    Raises DriverError if the device has not that many left, unless limits are off.
    """
    wanted = settings()
    most = model(wanted.host_device).memory_bytes if wanted.host_limits else None
    give = ledger.take(current.ordinal(), size, most)
    if give is None:
        raise out_of_memory(size)
    return give


def out_of_memory(size: int) -> DeviceError:
    """Return what an allocation of too many bytes raises, as on a GPU."""
    from gridjit.runtime.devices.cuda.errors import driver_error  # only a failure needs it

    free, total = info(current.ordinal())
    return driver_error(
        "the simulated device",
        "CUDA_ERROR_OUT_OF_MEMORY",
        f"{size} bytes of {free} that are free of {total}; GRIDJIT_HOST_DEVICE chooses another device",
        code=2,
    )


def info(ordinal: int) -> MemoryInfo:
    """Return what a device has left and in all: as if what this computer cannot give were taken by others."""
    wanted = settings()
    total = model(wanted.host_device).memory_bytes
    available = _available()
    given = total if available is None else min(total, available // wanted.host_devices)
    return MemoryInfo(max(0, given - ledger.held(ordinal)), total)


@functools.cache
def _available() -> int | None:
    """Return the bytes that the system could give without swapping when it was first asked; None if it cannot say.

    Once, so that what a program sees go and come back is its own.
    """
    try:
        with open("/proc/meminfo") as lines:
            words = next(line for line in lines if line.startswith("MemAvailable:")).split()
        return int(words[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return None
