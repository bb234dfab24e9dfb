"""Slab: plain memory that is allocated with a context, from which a process's first small arrays are taken.

Each byte is given out once, so it is of no stream, and its user waits for no work. It ends with its context.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING

from gridjit.base.forking import lock, section
from gridjit.runtime.devices.errors import DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.api.driver import Driver

SLAB_BYTES = 2 << 20
# Larger arrays are not taken from a slab.
MOST_BYTES = 256 << 10
# Arrays begin at its multiples, as in the driver's pools.
_ALIGNMENT = 512
# compute-sanitizer, once it is in a process.
_SANITIZER = "libsanitizer-collection.so"


class Slab:
    """Memory of the context whose number is epoch: size bytes from address on."""

    def __init__(self, address: int, size: int, epoch: int) -> None:
        self.epoch = epoch
        self._next = address
        self._end = address + size
        self._taking = lock()

    def take(self, size: int) -> int:
        """Return the address of size bytes that are not in use; 0 if there are not enough."""
        if size > MOST_BYTES:
            return 0
        rounded = -(-size // _ALIGNMENT) * _ALIGNMENT
        with section(), self._taking:
            # No call stands in between: the garbage collector may take memory too.
            if (end := (address := self._next) + rounded) > self._end:
                return 0
            self._next = end
            return address


def slab_of(driver: Driver, context: int) -> Slab | None:
    """Return a slab of a new context; None if there is no memory, or if a tool must tell arrays apart."""
    if _is_watched():
        return None
    before = driver.current_context()
    driver.set_context(context)
    try:
        with driver.while_capturing():  # on another device
            address = driver.allocate(SLAB_BYTES)
        return Slab(address, SLAB_BYTES, driver.context_id(context))
    except DriverError:
        return None
    finally:
        with contextlib.suppress(DriverError):  # the context may be gone
            driver.set_context(before)


def _is_watched() -> bool:
    """Return whether compute-sanitizer is at work, which looks for accesses beyond the end of an allocation."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        ctypes.CDLL(_SANITIZER, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True
