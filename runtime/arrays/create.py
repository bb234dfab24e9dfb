"""create: new device arrays, and wrappers of foreign arrays, in the current device's memory unless another is given.

The arrays' modules are imported after the device is asked for: while the driver starts, another thread imports them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.errors import ArgumentError, GridjitError, LayoutError, a_class, shown
from gridjit.runtime.memory import unwritten
from gridjit.runtime.memory.staging import refuse_masked
from gridjit.runtime.process.current import current_space
from gridjit.runtime.queues.chosen import said_or_current

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike
    from gridjit.runtime.memory.copies import Array
    from gridjit.runtime.memory.device_array import DeviceArray
    from gridjit.runtime.memory.layout import StridedLayout
    from gridjit.runtime.memory.space import Memory, Space
    from gridjit.runtime.memory.unified import UnifiedArray

ArrayShape = int | Sequence[int]


def to_device(
    obj: Any, stream: StreamLike = 0, copy: bool = True, to: DeviceArray | None = None, *, space: Space | None = None
) -> DeviceArray:
    """Return a copy of obj on the device: an array of any library, or anything that NumPy can make an array of.

    stream: the stream to copy in. copy: whether to copy the items, or only take shape and dtype. to: the array to copy
    into, instead of a new one. Raises ArgumentError for items that are Python objects.

        x = cuda.to_device(np.arange(1000))
    """
    into = None if to is None else _device_array(to)
    here = space or (current_space() if into is None else into.space)
    stream = said_or_current(stream, here.timeline)
    values = obj if isinstance(obj, _arrays()) else _values(obj, here, stream)
    if into is not None:
        into.copy_to_device(values, stream)
        return into
    made = device_array_like(values, stream, space=here)
    if copy:
        made.copy_to_device(values, stream)
    return made


def device_array(
    shape: ArrayShape,
    dtype: Any = np.float64,
    strides: ArrayShape | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    *,
    space: Space | None = None,
) -> DeviceArray:
    """Return a new array on the device, without setting its items.

    shape: items along each axis, or a number for one axis. dtype: their type, as NumPy takes it. strides: bytes between
    items, one for each axis, instead of order ("C" or "F"). stream: the stream that uses it: later work in stream may
    use it, and it is freed after earlier work.

        out = cuda.device_array((480, 640), np.float32)
    """
    here, item = space or current_space(), _dtype(dtype)
    return _new(_laid_out(shape, item, strides, order), item, stream, here)


def device_array_like(ary: Any, stream: StreamLike = 0, *, space: Space | None = None) -> DeviceArray:
    """Return a new, dense array on the device with ary's shape, dtype and order of axes, without setting its items.

    stream: as for device_array.
    """
    if not hasattr(ary, "dtype"):
        raise ArgumentError(f"device_array_like: {a_class(type(ary))} has no dtype; give an array, or use to_device")
    here = space or current_space()
    return _new(_dense_like(ary), _dtype(ary.dtype), stream, here)


def pinned_array(
    shape: ArrayShape,
    dtype: Any = np.float64,
    strides: ArrayShape | None = None,
    order: str = "C",
    *,
    space: Space | None = None,
) -> Array:
    """Return a NumPy array in page-locked host memory, which the device copies without the processor.

    shape, dtype, strides, order: as for device_array.
    """
    return _host_array((space or current_space()).pinned, shape, dtype, strides, order)[0]


def mapped_array(
    shape: ArrayShape,
    dtype: Any = np.float64,
    strides: ArrayShape | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    portable: bool = False,
    wc: bool = False,
    *,
    space: Space | None = None,
) -> UnifiedArray:
    """Return a NumPy array that kernels use in place: in page-locked memory on a GPU, in any memory on the host.

    shape, dtype, strides, order: as for device_array. stream: the stream that uses it; other libraries that take the
    array wait for this stream. portable and wc are numba-cuda's and change nothing: the memory is for every context,
    and is not write-combined.
    """
    here = space or current_space()
    made, memory = _host_array(functools.partial(here.pinned, mapped=True), shape, dtype, strides, order)
    from gridjit.runtime.memory.unified import MappedArray  # few arrays are mapped

    return _unified(MappedArray, made, memory, stream)


def managed_array(
    shape: ArrayShape,
    dtype: Any = np.float64,
    strides: ArrayShape | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    attach_global: bool = True,
    *,
    space: Space | None = None,
) -> UnifiedArray:
    """Return a NumPy array that kernels use in place and whose memory moves to where it is used.

    shape, dtype, strides, order: as for device_array. Read on the host what a kernel wrote after synchronizing with it.
    attach_global: any stream of any device may use it; otherwise, on devices that cannot page, only the host until it
    is attached. stream: the stream that uses it; other libraries that take the array wait for this stream. Raises
    DeviceError on a device without managed memory.
    """
    here = space or current_space()
    manage = functools.partial(here.managed, attach_global=attach_global)
    made, memory = _host_array(manage, shape, dtype, strides, order)
    from gridjit.runtime.memory.unified import ManagedArray

    return _unified(ManagedArray, made, memory, stream)


def mapped_array_like(
    ary: Any, stream: StreamLike = 0, portable: bool = False, wc: bool = False, *, space: Space | None = None
) -> UnifiedArray:
    """Return a mapped array with ary's shape, dtype and order of axes; stream, portable and wc: as for mapped_array."""
    steps = _dense_like(ary).strides_in_bytes
    return mapped_array(ary.shape, ary.dtype, steps, stream=stream, portable=portable, wc=wc, space=space)


def pinned_array_like(ary: Any, *, space: Space | None = None) -> Array:
    """Return a page-locked array with ary's shape, dtype and order of axes."""
    return pinned_array(ary.shape, ary.dtype, _dense_like(ary).strides_in_bytes, space=space)


@contextmanager
def pinned(*arrays: Array, space: Space | None = None) -> Iterator[None]:
    """Page-lock NumPy arrays during the with block, so that copies in a stream are asynchronous."""
    here = space or current_space()
    from gridjit.runtime.memory.copies import address_of

    with ExitStack() as stack:
        for array in arrays:
            low, high = _layouts().of(array).extent
            if high > low:
                stack.callback(here.pin(address_of(array) + low, high - low))
        yield


def as_device_array(obj: Any, sync: bool = True, *, space: Space | None = None) -> DeviceArray:
    """Return obj, which has __cuda_array_interface__ or __dlpack__, as a DeviceArray over the same memory.

    obj is kept alive. sync: wait until the work in obj's stream is done; if False, the caller has ordered it. Raises
    ArgumentError for an array that is not on the device or that kernels cannot use.
    """
    if isinstance(obj, _arrays()):
        return obj
    # Most programs make their own arrays, and do not load it.
    from gridjit.runtime.arrays.foreign_over import over_device_memory
    from gridjit.runtime.memory.dlpack_import import NO_ORDER

    here = space or current_space()
    found = over_device_memory(obj, here, None if sync else NO_ORDER)
    if found is None:
        raise ArgumentError(
            f"{a_class(type(obj))} does not have __cuda_array_interface__ or __dlpack__ "
            "(copy arrays of the host with to_device)"
        )
    if found.device != here.device:
        raise ArgumentError(
            f"{a_class(type(obj))} is in the memory of {_place(found.device)}, not of "
            f"{_place(here.device)}; copy it there with to_device"
        )
    return found


@functools.cache
def _arrays() -> type[DeviceArray]:
    """Return the class of arrays, imported."""
    from gridjit.runtime.memory.device_array import DeviceArray

    return DeviceArray


@functools.cache
def _layouts() -> type[StridedLayout]:
    """Return the class of layouts, imported."""
    from gridjit.runtime.memory.layout import StridedLayout

    return StridedLayout


def _device_array(to: Any) -> DeviceArray:
    """Return the array to copy into; raises ArgumentError unless it is an array on the device."""
    if isinstance(to, _arrays()):
        return to
    raise ArgumentError(f"to_device(to={a_class(type(to))}): give an array on the device, such as device_array makes")


def _place(device: int | None) -> str:
    return "the host" if device is None else f"CUDA device {device}"


def _values(obj: Any, here: Space, stream: Any) -> Any:
    """Return the values to copy to the device: obj's array, or NumPy's array of obj."""
    if type(obj) is np.ndarray or isinstance(obj, int | float | complex | np.generic):
        return np.asarray(obj)
    from gridjit.runtime.arrays.foreign_over import over_device_memory

    refuse_masked(obj)
    found = over_device_memory(obj, here, stream)
    return _array_of(obj) if found is None else found


def _array_of(obj: Any) -> Array:
    """Return the NumPy array of obj's protocol, or NumPy's array of obj; raises ArgumentError."""
    from gridjit.runtime.memory.host_objects import host_array

    try:
        described = None if isinstance(obj, np.ndarray) else getattr(obj, "__array_interface__", None)
        found = host_array(obj) if isinstance(described, dict) else None
        return np.asarray(obj) if found is None else found
    except (GridjitError, MemoryError):
        raise
    except Exception as error:  # an error of obj's own
        let_through(error)
        raise ArgumentError(
            f"to_device: NumPy cannot make an array of {a_class(type(obj))}: {error}; give it a NumPy array"
        ) from error


def _laid_out(shape: ArrayShape, item: np.dtype[Any], strides: ArrayShape | None, order: str) -> StridedLayout:
    """Return the layout of a new array."""
    if not item.itemsize:  # a record without fields
        return _layouts().of(np.ndarray(_dims(shape), item, strides=None if strides is None else _dims(strides)))
    if strides is None:
        return _layouts().dense(_dims(shape), item.itemsize, order)
    return _layouts()(_dims(shape), itemsize=item.itemsize, strides_in_bytes=_dims(strides))


def _dense_like(ary: Any) -> StridedLayout:
    """Return the dense layout with ary's shape and order of axes."""
    return _layouts()._made(tuple(ary.shape), ary.strides, ary.dtype.itemsize).to_dense()


def _new(layout: StridedLayout, item: np.dtype[Any], stream: Any, here: Space) -> DeviceArray:
    low, high = layout.extent
    stream = said_or_current(stream, here.timeline)
    memory = here.allocate(high - low, stream)
    if unwritten.tracked:
        unwritten.note(memory)
    return _arrays()(memory, layout.over(memory.address - low, item), stream)


def _host_array(
    allocate: Callable[[int], Memory], shape: ArrayShape, dtype: Any, strides: ArrayShape | None, order: str
) -> tuple[Array, Memory]:
    """Return a NumPy array over memory from allocate, and that memory."""
    item = _dtype(dtype)
    layout = _laid_out(shape, item, strides, order)
    low, high = layout.extent
    memory = allocate(high - low)
    return layout.over(memory.address - low, item, owner=memory), memory


def _unified(kind: type[UnifiedArray], array: Array, memory: Memory, stream: Any) -> UnifiedArray:
    made = array.view(kind)
    made.memory = memory
    made.stream = stream
    return made


def _dims(shape: ArrayShape) -> tuple[int, ...]:
    try:
        if isinstance(shape, Sequence | np.ndarray):
            return tuple(map(operator.index, shape))
        return (operator.index(shape),)
    except TypeError:
        raise LayoutError(f"shape {shape!r}: give a whole number, or one for each axis") from None


def _dtype(dtype: Any) -> np.dtype[Any]:
    try:
        item: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise ArgumentError(f"dtype {shown(dtype)}: {error}; give one of NumPy's, such as numpy.float32") from None
    if item.hasobject:
        raise ArgumentError(f"items of {item} are Python objects, which a device cannot hold")
    return item
