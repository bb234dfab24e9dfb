"""Current: makes a device the calling thread's for a few calls, and restores the thread's own device after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice


class Current:
    """A context manager. A thread without a device keeps this one."""

    __slots__ = ("_before", "_device")

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._before = 0

    def __enter__(self) -> None:
        self._before = self._device.driver.current_context()
        if self._before != self._device.context:
            self._device.make_current()

    def __exit__(self, *_: object) -> None:
        if self._before and self._before != self._device.context:
            self._device.driver.set_context(self._before)
