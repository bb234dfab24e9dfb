"""StridedMemoryView: items of anyone's memory, with a layout and a dtype; it keeps the memory's owner alive."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, LayoutError, ShapeError, a_class
from gridjit.runtime.args.device_arrays import OwnArray
from gridjit.runtime.args.handler import register
from gridjit.runtime.arrays.buffer import Buffer
from gridjit.runtime.arrays.foreign_attributes import learn_by_attributes, made_by_attributes
from gridjit.runtime.arrays.foreign_over import (
    Seen,
    host_memory,
    look_on_device,
    over_dlpack,
    over_interface,
    over_numpy,
)
from gridjit.runtime.memory.array_facts import Kind
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.foreign_alike import (
    foreign_key,
    kind_and_parameters,
    learn,
    numpy_key,
    numpy_kind_and_parameters,
)
from gridjit.runtime.memory.host_objects import host_array
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.process.current import current_space

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike


class StridedMemoryView:
    """A view of memory: pass it to kernels, copy from and to other views, take views of it, export it.

    obj: the owner of the memory: a DeviceArray, a Buffer, another view, a NumPy array, or an object with
    __cuda_array_interface__, __dlpack__, __array_interface__ or the buffer protocol; the first of these is read.
    stream: the stream that uses the view, after the producer's work; -1: without waiting.
    Raises ArgumentError for an object without memory, or with items that are not whole bytes.

        view = StridedMemoryView(np.zeros((4, 6)))
        view.view(view.layout[1:, ::2]).copy_from(np.ones((3, 3)))
    """

    # As in DeviceArray, for machine code: _parameters are packed, _kind is the key of the code that fits. _array, by
    # _later, and _layout are made on demand: a launch does not need them.
    __slots__ = ("__weakref__", "_array", "_kind", "_later", "_layout", "_parameters", "exporting_obj")

    _array: DeviceArray
    _kind: Kind
    _later: Callable[[], DeviceArray]
    _layout: StridedLayout
    _parameters: bytes
    exporting_obj: Any

    def __init__(self, obj: Any, stream: StreamLike = 0) -> None:
        self.exporting_obj = obj
        if type(obj) is DeviceArray:
            self._array = obj
            self._kind = obj._kind
            self._parameters = obj._parameters
        elif type(obj) is np.ndarray:
            self._take_numpy(obj, obj)
        elif (made := made_by_attributes(obj, stream)) is not None:
            self._later, self._kind, self._parameters = made
        elif isinstance(obj, StridedMemoryView | Buffer):
            self._take(obj._array if isinstance(obj, StridedMemoryView) else obj.array)
        elif (seen := look_on_device(obj, current_space(), stream)) is None:
            self._take_numpy(host_memory(obj), obj)
        else:
            self._take_foreign(seen)
            learn_by_attributes(obj, stream, seen, self._kind, self._parameters)

    # A launch's needs are known from arrays alike; then, the array is made later.

    def _take_numpy(self, array: np.ndarray[Any, Any], obj: Any) -> None:
        known = numpy_kind_and_parameters(array)
        if known is None:
            _item(array.dtype)
            self._take(over_numpy(array, obj))
            learn(numpy_key(array), self._array)
        else:
            self._later = partial(over_numpy, array.view(), obj)
            self._kind, self._parameters = known

    def _take_foreign(self, seen: Seen) -> None:
        key = foreign_key(seen.array, seen.space.device)
        known = kind_and_parameters(key, seen.array.address)
        if known is None:
            _item(seen.array.dtype)
            self._take(seen.over())
            learn(key, self._array)
        else:
            self._later = seen.over
            self._kind, self._parameters = known

    def _take(self, array: DeviceArray) -> None:
        self._array = array
        self._kind = array._kind
        self._parameters = array._parameters

    if not TYPE_CHECKING:  # to checkers, it would have every name

        def __getattr__(self, name: str) -> Any:
            """Return the array, which is made on demand."""
            if name != "_array":
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
            self._array = self._later()
            return self._array

    @classmethod
    def from_dlpack(cls, obj: Any, stream: StreamLike = 0) -> StridedMemoryView:
        """Return a view of obj's export through DLPack 0 or 1; stream: as for from_cuda_array_interface."""
        _check_has(obj, "__dlpack_device__")
        return cls._over(over_dlpack(obj, current_space(), stream), obj)

    @classmethod
    def from_cuda_array_interface(cls, obj: Any, stream: StreamLike = 0) -> StridedMemoryView:
        """Return a view of the memory in obj's CUDA array interface, version 2 or newer.

        stream: work that uses the view in this stream comes after obj's own work; -1: without waiting.
        """
        _check_has(obj, "__cuda_array_interface__")
        return cls._over(over_interface(obj, obj.__cuda_array_interface__, current_space(), stream), obj)

    @classmethod
    def from_array_interface(cls, obj: Any) -> StridedMemoryView:
        """Return a view of host memory: obj is a NumPy array, or has the array interface or the buffer protocol."""
        if (array := host_array(obj)) is None:
            raise ArgumentError(f"{a_class(type(obj))} has neither __array_interface__ nor the buffer protocol")
        return cls._over(over_numpy(array, obj), obj)

    @classmethod
    def from_buffer(
        cls, buffer: Buffer, layout: StridedLayout, dtype: Any, *, is_readonly: bool = False
    ) -> StridedMemoryView:
        """Return a view of a buffer: items of dtype in a layout whose offset 0 is the buffer's first byte.

        is_readonly: refuse to write to it. Raises LayoutError if items are outside the buffer, or have another
        size than layout's; ArgumentError for anything but a buffer, a layout and a dtype.
        """
        if not isinstance(buffer, Buffer):
            raise ArgumentError(
                f"from_buffer: {a_class(type(buffer))} is not a Buffer; StridedMemoryView(x) is a view of it"
            )
        return cls._laid(buffer.array, buffer.handle, layout, dtype, not is_readonly, buffer)

    def view(self, layout: StridedLayout | None = None, dtype: Any = None) -> StridedMemoryView:
        """Return another view of the same memory.

        layout: its offset 0 is the offset 0 of this view's layout, so view(x.layout[1:]) is a slice. None: this view's
        layout, repacked for a dtype of another size. dtype: None: this view's. Raises LayoutError as from_buffer does.
        """
        item = self.dtype if dtype is None else _item(dtype)
        if layout is None:
            layout = self.layout
            if item.itemsize != layout.itemsize:
                layout = layout.repacked(item.itemsize, self.ptr)
        origin = self.ptr - self.layout.slice_offset_in_bytes
        return self._laid(self._array, origin, layout, item, not self.readonly, self.exporting_obj)

    @classmethod
    def _laid(
        cls, array: DeviceArray, origin: int, layout: StridedLayout, dtype: Any, writable: bool, obj: Any
    ) -> StridedMemoryView:
        item, memory = _item(dtype), array.gpu_data
        if not isinstance(layout, StridedLayout):
            raise ArgumentError(f"layout {layout!r} is {a_class(type(layout))}; give a gridjit.StridedLayout")
        if item.itemsize != layout.itemsize:
            raise LayoutError(f"items of {item} have {item.itemsize} bytes, those of the layout {layout.itemsize}")
        low, high = layout.extent
        if low < high and not memory.address <= origin + low <= origin + high <= memory.address + memory.size:
            start = memory.address - origin
            raise LayoutError(
                f"{layout} has items in bytes {low} to {high}; the memory is bytes {start} to {start + memory.size}"
            )
        ghost = layout.over(origin, item)
        ghost.flags.writeable = writable
        made = cls._over(DeviceArray(memory, ghost, array.stream), obj)
        made._layout = layout
        return made

    @classmethod
    def _over(cls, array: DeviceArray, obj: Any) -> StridedMemoryView:
        _item(array.dtype)
        made = cls(array)
        made.exporting_obj = obj
        return made

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> StridedLayout:
        """Its items' layout."""
        try:
            return self._layout
        except AttributeError:
            self._layout = StridedLayout.of(self._array)
            return self._layout

    @property
    def ptr(self) -> int:
        """The address of the first item."""
        return self._array.data

    @property
    def shape(self) -> tuple[int, ...]:
        """Items along each axis."""
        return self._array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Items from one index to the next, for each axis; LayoutError unless these are whole items."""
        return self.layout.strides

    @property
    def strides_in_bytes(self) -> tuple[int, ...]:
        """The same in bytes."""
        return self._array.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an item."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of items."""
        return self._array.size

    @property
    def itemsize(self) -> int:
        """Bytes of an item."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""
        return self._array.nbytes

    @property
    def readonly(self) -> bool:
        """Whether copies and kernels may not write to it."""
        return not self._array.flags["WRITEABLE"]

    @property
    def device(self) -> int | None:
        """The number of the GPU that it is on; None on the host."""
        return self._array.device

    @property
    def stream(self) -> Any:
        """The stream that copies use; exports come after it."""
        return self._array.stream

    def __repr__(self) -> str:
        place = "host" if self.device is None else f"device {self.device}"
        return f"<gridjit view {self.dtype}{list(self.shape)} on {place} at 0x{self.ptr:x}>"

    # -- copies ------------------------------------------------------------------------------------------------------

    def copy_from(self, source: Any, stream: StreamLike = None) -> None:
        """Copy all items of source, a view or an object with memory, into this view; any layouts, any memory.

        stream: the stream to copy in; None: the view's own (if only one of both is on a GPU, that view's). Items on the
        GPU are complete when stream has reached the copy. Raises ShapeError for another shape or dtype, ArgumentError
        if this view is read-only or its items share memory.
        """
        other = source if isinstance(source, StridedMemoryView) else StridedMemoryView(source)
        if (other.shape, other.dtype) != (self.shape, self.dtype):
            raise ShapeError(
                f"copy_from: the view here is {self.dtype}{list(self.shape)}, the other {other.dtype}"
                f"{list(other.shape)}"
            )
        if self.readonly:
            raise ArgumentError(f"copy_from: {self!r} is read-only")
        self._array.copy_to_device(other._array, stream)

    def copy_to(self, destination: Any, stream: StreamLike = None) -> None:
        """Copy all items into destination, a view or an object with memory, in stream, as its copy_from does."""
        other = destination if isinstance(destination, StridedMemoryView) else StridedMemoryView(destination)
        other.copy_from(self, stream)

    # -- protocols ---------------------------------------------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface; AttributeError for host memory where there is a GPU."""
        return self._array.__cuda_array_interface__

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's (device type, number)."""
        return self._array.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        """Return a DLPack capsule over the items, as DeviceArray does."""
        return self._array.__dlpack__(**asked)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Version 3 of the array interface; AttributeError for a view of a GPU's memory."""
        if self.device is not None:
            raise AttributeError("a view of a GPU's memory has no __array_interface__; copy it to a NumPy array")
        self._array.settle()
        return {**self._array._ghost.__array_interface__}

    def __buffer__(self, flags: int) -> memoryview:
        """Return the items for the buffer protocol; BufferError for a view of a GPU's memory."""
        if self.device is not None:
            raise BufferError("the host cannot reach a view of a GPU's memory; copy it to a NumPy array")
        layout, array = self.layout, self._array
        array.settle()
        items = layout.over(self.ptr - layout.slice_offset_in_bytes, self.dtype, owner=array)
        items.flags.writeable = not self.readonly
        try:
            return items.data
        except ValueError as error:
            raise BufferError(f"the buffer protocol has no format for items of {self.dtype}") from error

    def __reduce__(self) -> Any:
        raise TypeError("a view of memory cannot be pickled; pickle a copy of its items")


def _not_none(dtype: Any) -> Any:
    """Return a dtype; raises TypeError for None, which NumPy takes for float64."""
    if dtype is None:
        raise TypeError
    return dtype


def _check_has(obj: Any, name: str) -> None:
    if not hasattr(obj, name):
        raise ArgumentError(f"{a_class(type(obj))} has no {name}; StridedMemoryView(obj) takes what it has")


def _item(dtype: Any) -> np.dtype[Any]:
    """Return a view's item type; raises ArgumentError with the reason if a view cannot have it."""
    try:
        item: np.dtype[Any] = np.dtype(_not_none(dtype))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"dtype {dtype!r} is not a type of items: give one of NumPy's") from error
    if item.hasobject:
        raise ArgumentError(f"items of {item} are Python objects, which a view does not keep alive")
    bits = re.match(r"u?int(\d+)|float(\d+)", item.name)
    if bits is not None and int(bits[1] or bits[2]) < 8:
        raise ArgumentError(
            f"items of {item} are less than a byte: others pack them, and then they have no addresses; view the bytes "
            "as uint8"
        )
    return item


class View(OwnArray):
    """A StridedMemoryView as an argument: its parameters are packed when it is made, as those of device arrays are."""

    def kind(self, value: StridedMemoryView) -> Hashable:
        return (StridedMemoryView, value._kind)


register(StridedMemoryView, View(StridedMemoryView, "a memory view"))
