"""Calls: how the driver is called. Handles are ints on this side, and every error code is raised."""

from __future__ import annotations

from typing import Any

from gridjit.runtime.devices.cuda.errors import ASYNCHRONOUS, DriverError, driver_error, lost_device_error
from gridjit.runtime.devices.cuda.last_launched import in_words


class Calls:
    """Calls of the driver. api: cuda.bindings.driver, or what stands in for it."""

    def __init__(self, api: Any) -> None:
        self.api = api
        # Contexts that a kernel's error made unusable, and what was told of it.
        self._lost: dict[int, str] = {}

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what the driver's function of that name returns; raises DriverError or KernelError."""
        returned = getattr(self.api, name)(*arguments)
        if int(returned[0]):
            raise self.error(name, returned[0])
        return returned[1] if len(returned) == 2 else returned[1:]

    def error(self, call: str, code: Any) -> DriverError:
        """Return the exception for a code that call returned."""
        name, context = error_name(code), self._context_of_error()
        if name in ASYNCHRONOUS and (first := self._lost.get(context)):
            return lost_device_error(call, name, first, int(code))
        _, text = self.api.cuGetErrorString(code)
        words = text.decode() if isinstance(text, bytes) else ""
        error = driver_error(call, name, words, code=int(code))
        if name in ASYNCHRONOUS:
            self._lost[context] = f"{error}; launched last: {in_words(None) or 'not known'}"
        return error

    def _context_of_error(self) -> int:
        """Return the calling thread's context; the one that was lost first, where the driver is past telling."""
        code, context = self.api.cuCtxGetCurrent()
        return next(iter(self._lost), 0) if int(code) else int(context)

    def _enum(self, family: str, name: str) -> Any:
        return getattr(getattr(self.api, family), name)


def error_name(code: Any) -> str:
    """Return the driver's name for a code."""
    return str(getattr(code, "name", None) or f"CUDA error {int(code)}")
