"""last_launched: errors that name the kernels that were launched last, because one of them failed."""

from __future__ import annotations

from gridjit.runtime.devices.cuda.errors import KernelError, LostDeviceError

NAMED = 4


def in_words(stream: int | None, device: int | None = None) -> str:
    """Return what was launched last in stream (None: in each) on device (None: on any); "" if that is not known."""
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
        # What a lost device raises names them.
        if isinstance(error, KernelError) and not isinstance(error, LostDeviceError):
            launched = in_words(self._stream, self._device)
            raise error.saying(f"{error}; launched last: {launched}" if launched else str(error)) from None
