"""last: errors that name the kernels that were launched last, because one of them failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridjit.runtime.devices.cuda.errors import KernelError, LostDeviceError
from gridjit.runtime.native.last_launches import last_launches

NAMED = 4


def in_words(stream: int | None, device: int | None = None) -> str:
    """Return what was launched last in stream (None: in each) on device (None: on any); "" if that is not known."""
    found = [f"{one.kernel} [{one.config}]" for one in last_launches.of(stream, device)]
    return ", ".join(dict.fromkeys(found[-NAMED:]))


@contextmanager
def attributed(stream: int | None, device: int | None = None) -> Iterator[None]:
    """Name the kernel that was launched last in stream (None: in each) if a call tells that one failed."""
    try:
        yield
    except LostDeviceError:
        raise  # it names them
    except KernelError as error:
        launched = in_words(stream, device)
        raise error.saying(f"{error}; launched last: {launched}" if launched else str(error)) from None
