"""Transfer: the memory that one launch moves: host arrays copied to the device before it and back after it.

Copies are made on the launch's own stream. On the host target nothing is moved: kernels work on the arrays themselves.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.runtime.args.warning import PerformanceWarning

if TYPE_CHECKING:
    from gridjit.runtime.memory.space import Memory, Space

Array = np.ndarray[Any, Any]


class Transfer:
    """What one launch moves. space: the device's memory, or None where kernels use the host's."""

    __slots__ = ("_back", "_held", "kernel", "space", "stream")

    def __init__(self, space: Space | None, stream: Any, kernel: Any = None) -> None:
        self.space = space
        self.stream = stream
        self.kernel = kernel
        self._held: list[tuple[int, int, Memory]] = []
        self._back: list[tuple[Array, Array]] = []

    def stage(self, array: Array, *, read: bool = True, write: bool = True) -> Array:
        """Return a ghost of array: an array of the same shape and strides, on the device.

        read: whether the kernel reads what is in array. write: whether what the kernel wrote is wanted back.
        Arrays of one launch that share memory on the host share it on the device.
        """
        assert self.space is not None
        low, high = _extent(array)
        memory, base = self._memory(low, high)
        ghost = _ghost(array, memory.address + array.__array_interface__["data"][0] - base, memory)
        if read and array.size:
            self.space.write(ghost, array, self.stream)
        if write and array.size and array.flags.writeable:
            self._back.append((ghost, array))
        return ghost

    def warn_of_copies(self, what: str) -> None:
        """Warn, once a kernel, that a plain array is copied to the device and back."""
        if self.kernel is None or getattr(self.kernel, "_warned_of_copies", False):
            return
        self.kernel._warned_of_copies = True
        warnings.warn(
            f"{self.kernel.name}: {what} is copied to the device and back at every launch; keep it there with "
            "cuda.to_device(), or say which way it goes with gridjit.In, Out or InOut",
            PerformanceWarning,
            stacklevel=5,
        )

    def finish(self) -> None:
        """Copy back what the kernel may have written."""
        if self.space is None:
            return
        for ghost, array in self._back:
            self.space.read(ghost, array, self.stream)
        self._held.clear()

    def _memory(self, low: int, high: int) -> tuple[Memory, int]:
        assert self.space is not None
        for start, end, memory in self._held:
            if start <= low and high <= end:
                return memory, start
        memory = self.space.allocate(high - low, self.stream)
        self._held.append((low, high, memory))
        return memory, low


IN_PLACE = Transfer(None, 0)


def _extent(array: Array) -> tuple[int, int]:
    """Return the addresses that array lies between."""
    low = high = array.__array_interface__["data"][0]
    if array.size:
        spans = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
        low += sum(span for span in spans if span < 0)
        high += sum(span for span in spans if span > 0) + array.itemsize
    return low, high


class _At:
    """Memory at an address, in NumPy's words."""

    def __init__(self, array: Array, address: int, owner: object) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "descr": array.dtype.descr,
        }
        self.owner = owner


def _ghost(array: Array, address: int, owner: object) -> Array:
    """Return an array like another at an address on the device; its content must not be touched here."""
    return np.asarray(_At(array, address or 1, owner)).view(array.dtype)
