"""Calls: how the driver is called. Handles are ints on this side, and every error code is raised."""

from __future__ import annotations

from typing import Any

from gridjit.runtime.devices.errors import (
    ASYNCHRONOUS,
    DriverError,
    KernelError,
    LostDeviceError,
    driver_error,
    lost_device_error,
)


class Calls:
    """Calls of the driver. api: cuda.bindings.driver, or a stand-in for it."""

    def __init__(self, api: Any) -> None:
        self.api = api
        # Contexts that a kernel's error made unusable, and the error's message.
        self._lost: dict[int, str] = {}

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the values of the driver's function of that name; raises DriverError or KernelError."""
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
        """Return the calling thread's context; the first lost context, if the driver does not answer any more."""
        code, context = self.api.cuCtxGetCurrent()
        return next(iter(self._lost), 0) if int(code) else int(context)

    def _enum(self, family: str, name: str) -> Any:
        return getattr(getattr(self.api, family), name)


def error_name(code: Any) -> str:
    """Return the driver's name for a code."""
    return str(getattr(code, "name", None) or f"CUDA error {int(code)}")


NAMED = 4


def in_words(stream: int | None, device: int | None = None) -> str:
    """Return the kernels launched last in stream (None: in each) on device (None: on any); "" if that is not known."""
    from gridjit.runtime.native.last_launches import last_launches  # once something was launched

    found = [f"{one.kernel} [{one.config}]" for one in last_launches.of(stream, device)]
    return ", ".join(dict.fromkeys(found[-NAMED:]))


class attributed:  # noqa: N801 - used as a function is
    """Name the kernel that was launched last in stream (None: in each) if a call tells that one failed."""

    __slots__ = ("_device", "_stream")

    def __init__(self, stream: int | None, device: int | None = None) -> None:
        self._stream = stream
        self._device = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # LostDeviceError names the kernel already.
        if isinstance(error, KernelError) and not isinstance(error, LostDeviceError):
            launched = in_words(self._stream, self._device)
            raise error.saying(f"{error}; launched last: {launched}" if launched else str(error)) from None
