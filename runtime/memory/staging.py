"""Transfer: the memory that one launch moves: host arrays copied to the device before it and back after it.

Copies are made on the launch's own stream. On the host target nothing is moved: kernels work on the arrays themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, LaunchError
from gridjit.runtime.environment.warnings import warn_of_copies
from gridjit.runtime.queues.streams import LEGACY, Event, Stream, Timeline, new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Device
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.memory.layout import StridedLayout
    from gridjit.runtime.memory.space import Memory, Space

Array = np.ndarray[Any, Any]
# The device's own alignment, in bytes; no item needs more.
_ALIGNMENT = 256


class Directed:
    """An argument with a direction. reads: copied to the device before the launch. writes: back after it.

    asynchronous: the launch does not wait for the copy back. event: comes when the last launch's copy is there.
    """

    __slots__ = ("asynchronous", "event", "value")
    reads = True
    writes = True

    def __init__(self, value: Any) -> None:
        self.value = value
        self.asynchronous = False
        self.event: Event | None = None

    def __repr__(self) -> str:
        return f"gridjit.{type(self).__name__}({self.value!r})"


class Transfer:
    """The copies of one launch. space: the device's memory, or None where kernels use the host's."""

    __slots__ = (
        "_args",
        "_back",
        "_device",
        "_groups",
        "_handle",
        "_held",
        "_in_place",
        "_placed",
        "kept",
        "kernel",
        "later",
        "space",
        "stream",
    )

    def __init__(
        self, space: Space | None, stream: Any, kernel: Kernel | None = None, device: Device | None = None
    ) -> None:
        self.space = space
        self._device = device
        self.stream = stream
        self.kernel = kernel
        self._args: Iterable[Any] = ()
        self._groups: list[tuple[int, int]] = []
        self._held: dict[tuple[int, int], Memory] = {}
        self._back: list[tuple[Array, Array, bool]] = []
        self._in_place = False
        self._handle: int | None = None
        self._placed: dict[int, _Placed] = {}
        # Objects kept for a launch to come, and arguments that are told its end.
        self.kept: list[Any] = []
        self.later: list[Directed] = []

    @property
    def stream_handle(self) -> int:
        """The handle of the launch's stream."""
        if self._handle is None:
            self._handle = stream_handle(self.stream)
        return self._handle

    @property
    def _lasting(self) -> Any:
        """The launch's stream, in a form that is valid when the launch's memory is freed."""
        number = type(self.stream) is int and self.stream > LEGACY
        return Stream(self.timeline, self.stream, None) if number else self.stream

    @property
    def timeline(self) -> Timeline:
        """The streams of the device that the launch is on."""
        if self._device is not None:
            return self._device.timeline
        assert self.space is not None
        return self.space.timeline

    def keep(self, value: Any) -> None:
        """Keep value alive until the launch is done."""
        self.kept.append(value)

    def use_in_place(self) -> None:
        """Make the launch return when it is done: the kernel uses memory that its user reads and writes."""
        self._in_place = True

    @property
    def is_in_place(self) -> bool:
        """Whether the launch is done when it returns, as the kernel uses memory in place."""
        return self._in_place

    def wait_for(self, stream: int | None) -> None:
        """Make the launch's stream wait for the work given to another stream; None: no wait."""
        if stream is None or (self.space is None and self._device is None):
            return
        mine = self.stream_handle or LEGACY
        if stream != mine:
            timeline = self.timeline
            with new_event(timeline, timing=False) as event:
                timeline.record(event.handle, stream)
                event.wait(Stream(timeline, mine, None))

    def expect(self, args: Iterable[Any]) -> None:
        """Inspect all arguments of the launch, so that host arrays which overlap share memory on the device too."""
        if self.space is None:
            self._args = args
            return
        for low, high in sorted(self._place_of(array).span for array in _arrays(args)):
            if self._groups and low < self._groups[-1][1]:
                start, end = self._groups.pop()
                # Alignment here must hold there: arrays keep their place between the device's alignments.
                self._groups.append((start - start % _ALIGNMENT, max(end, high)))
            else:
                self._groups.append((low, high))

    def stage(self, array: Array, *, read: bool = True, write: bool = True, later: bool = False) -> Array:
        """Return a ghost of array: an array of the same shape and strides, on the device.

        read: whether the kernel reads array's items. write: whether the kernel's changes are wanted. later: the launch
        does not wait for them. Arrays of one launch that share memory on the host share it on the device.
        """
        assert self.space is not None
        placed, stream = self._place_of(array), self.stream_handle
        try:
            memory, base = self._memory(*placed.span)
        except LaunchError as error:
            raise _while_captured(self.space.timeline, stream) or error from None
        ghost = placed.layout.over(memory.address + placed.address - base, array.dtype)
        if not ghost.flags.aligned and has_aligned_steps(array):
            raise ArgumentError(
                f"an unaligned array of {array.dtype} shares memory with another argument, so its copy on the device "
                "cannot be aligned; pass a copy of it"
            )
        if read and array.size:
            self.space.write(ghost, array, stream)
        if write and array.size and array.flags.writeable:
            self._back.append((ghost, array, later))
        return ghost

    def _place_of(self, array: Array) -> _Placed:
        """Return an array's place, looked up once."""
        if (placed := self._placed.get(id(array))) is None:
            placed = self._placed[id(array)] = _Placed(array)
        return placed

    def spared(self, array: Array) -> Array:
        """Return a host kernel's array for an array that it must not change: a copy, if it could write.

        If another argument shares its memory and is copied back, they share it on a device too: no copy then.
        """
        low, high = self._place_of(array).span
        others = (self._place_of(other).span for other in _arrays(_wanted_back(self._args)))
        if not array.flags.writeable or any(start < high and low < end for start, end in others):
            return array
        copy = array.copy(order="K")
        self.keep(copy)
        return copy

    def warn_of_copies(self, what: str) -> None:
        """Warn, once per kernel, that a plain array is copied to the device and back."""
        if self.kernel is None or self.kernel._warned_of_copies:
            return
        self.kernel._warned_of_copies = True
        warn_of_copies(self.kernel.name, what)

    def finish(self) -> None:
        """Copy back arrays that may have changed."""
        if self.space is not None:
            # Copies without a wait first: then the host waits once.
            for ghost, array, later in sorted(self._back, key=lambda back: not back[2]):
                (self.space.read_later if later else self.space.read)(ghost, array, self.stream_handle)
            self._held.clear()
        elif self._in_place and (handle := self.stream_handle) > LEGACY and self.timeline.queued(handle):
            self.timeline.synchronize(handle)
        if self.later:
            event = new_event(self.timeline, timing=False)
            self.timeline.record(event.handle, self.stream_handle)
            for directed in self.later:
                directed.event = event

    def _memory(self, low: int, high: int) -> tuple[Memory, int]:
        assert self.space is not None
        within = (group for group in self._groups if group[0] <= low and high <= group[1])
        start, end = next(within, (low, high))
        if (start, end) not in self._held:
            self._held[start, end] = self.space.allocate(end - start, self._lasting)
        return self._held[start, end], start


def own(array: Array) -> Array:
    """Return an array as plain NumPy: a subclass's own attributes need not be true.

    Raises ArgumentError for a masked array.
    """
    if type(array) is np.ndarray:
        return array
    refuse_masked(array)
    return np.ndarray.view(array, np.ndarray)


def refuse_masked(value: Any) -> None:
    """Raise ArgumentError for a masked array: kernels, and devices, ignore its mask."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and issubclass(type(value), masked):
        raise ArgumentError(
            "a masked array cannot be passed, as its mask would be lost; pass x.filled(value), or x.data and "
            "numpy.ma.getmaskarray(x) as two arrays"
        )


def has_aligned_steps(array: Array) -> bool:
    """Return whether all items of an array are aligned if its first item is."""
    return _layout_of(array).has_steps_of(array.dtype.alignment)


def _arrays(values: Iterable[Any]) -> Iterator[Array]:
    """Yield the NumPy arrays among values, including arrays in tuples and arrays with a direction."""
    for value in values:
        if issubclass(type(value), np.ndarray):
            yield own(value)
        elif isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, Directed):
            yield from _arrays((value.value,))


def _wanted_back(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments whose changes are copied back, including arguments in tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from _wanted_back(value)
        elif not isinstance(value, Directed) or value.writes:
            yield value


class _Placed:
    """An array's place. span: the addresses around it. array: kept, so that no other array gets its id."""

    __slots__ = ("address", "array", "layout", "span")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.layout = _layout_of(array)
        self.address: int = array.__array_interface__["data"][0]
        low, high = self.layout.extent
        self.span = self.address + low, self.address + high


def _layout_of(array: Array) -> StridedLayout:
    # Launches on the host, where nothing is moved, do not load it.
    from gridjit.runtime.memory.layout import StridedLayout

    return StridedLayout.of(array)


def _while_captured(timeline: Timeline, stream: int) -> ArgumentError | None:
    """Return the error of an array's copy for a launch while stream is captured; None if it is not."""
    if not timeline.capturing(stream):
        return None
    return ArgumentError(
        "an array on the host is copied to the device for one launch, which a graph cannot repeat: give the captured "
        "launch an array that is already on the device, made with cuda.to_device() before the capture"
    )
