"""DeviceArray: an array in a device's memory, with NumPy's shape, strides (in bytes) and dtype.

Its layout is a ghost: a NumPy array over the device's addresses, which slices and reshapes; only its Space reads its
items.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, DeviceError, ShapeError, a_class, not_called
from gridjit.compiler.values.item_types import item_type
from gridjit.compiler.values.signature import ArrayType, Signature
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.array_facts import ArrayFacts, descriptor, kind_of
from gridjit.runtime.memory.copies import Array, overlaps_itself
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.memory.space import Memory
from gridjit.runtime.memory.staging import refuse_masked
from gridjit.runtime.queues.attention import recorder_of, recorders, watchers
from gridjit.runtime.queues.chosen import here
from gridjit.runtime.queues.streams import LEGACY, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike


class DeviceArray(ArrayFacts):
    """An array on the device: pass it to kernels, copy it to and from the host, take views of it.

    Made by to_device, device_array and device_array_like. Views share memory; it is freed with the last of them.
    """

    # _parameters: the packed launch parameters, read by machine code; _kind: the key of its code.
    __slots__ = ("__weakref__", "_ghost", "_kind", "_memory", "_parameters", "stream")

    def __init__(self, memory: Memory | None = None, ghost: Array | None = None, stream: StreamLike = 0) -> None:
        if memory is None or ghost is None:
            raise not_called("DeviceArray", "cuda.device_array(shape, dtype) and cuda.to_device(array) make arrays")
        self._memory = memory
        self._parameters = descriptor(ghost)
        self._kind = kind_of(ghost, memory.device)
        # Only gridjit has the kind's dtype, so that no program renames the fields of existing arrays.
        self._ghost = ghost if ghost.dtype.names is None else ghost.view(self._kind[0])
        self.stream = stream

    # -- copies ------------------------------------------------------------------------------------------------------

    def copy_to_host(self, ary: Array | None = None, stream: StreamLike = None) -> Array:
        """Return the items as a NumPy array: ary if it is given (same shape and dtype), else a new one.

        stream: the stream to copy in (default: the array's own). A copy into a page-locked ary in a stream is complete
        only after the stream was synchronized; any other copy is complete on return.
        """
        if not isinstance(ary, np.ndarray | None):
            raise ArgumentError(
                f"copy_to_host: {a_class(type(ary))} cannot be copied into; give a NumPy array, or none"
            )
        out = self._empty() if ary is None else ary
        self._check_fits(out, "copy_to_host")
        if not out.flags.writeable:
            raise ArgumentError("copy_to_host: the array to copy into is read-only")
        order = self._in(stream)
        if not self._recorded("copy", out, self._ghost, order, lambda: self.space.read(self._ghost, out, order)):
            self.space.read(self._ghost, out, order)
        return out

    def peek(self, key: Any) -> Array | None:
        """Return the few items of a basic index; None if work, a capture or an error of the stream comes before."""
        ghost = self._ghost[key]
        values = np.empty(ghost.shape, ghost.dtype, "C" if ghost.flags.c_contiguous else "F")
        return values if self.space.peek(ghost, values, self._in(None)) else None

    def __repr__(self) -> str:
        from gridjit.runtime.memory.shown import items_of

        items = items_of(self)
        before = "" if not items else ":\n" if "\n" in items else ": "
        return f"<{self.described}{before}{items}>"

    def _repr_html_(self) -> str:
        from gridjit.runtime.memory.shown import page_of

        return page_of(self)

    def _empty(self) -> Array:
        return np.empty(self.shape, self.dtype, order=self._order)

    def copy_to_device(self, ary: Any, stream: StreamLike = None) -> None:
        """Copy ary (a NumPy array or something like it, or a DeviceArray) into this array.

        stream: the stream to copy in (default: the array's own). Raises ArgumentError for another shape or dtype.
        """
        self._check_writable("copy_to_device")
        if isinstance(ary, DeviceArray):
            self._check_fits(ary._ghost, "copy_to_device")
            make = functools.partial(self._copy_from, ary, stream)
            if not self._recorded("copy", self._ghost, ary._ghost, self._in(stream), make, ary):
                make()
            return
        refuse_masked(ary)
        values = np.asarray(ary)
        self._check_fits(values, "copy_to_device")
        order = self._in(stream)
        write = functools.partial(self.space.write, self._ghost, values, order, (self._memory,))
        if not self._recorded("copy", self._ghost, values, order, write):
            write()

    def _copy_from(self, source: DeviceArray, given: Any) -> None:
        """Copy an array from any memory into this array, through the host only as a last resort."""
        stream = self._in(given)
        if source.space is self.space:
            self.space.copy(self._ghost, source._ghost, stream, (self._memory, source._memory))
        elif source.device is None:
            self.space.write(self._ghost, source._ghost, stream)
        elif self.device is None:
            source.space.read(source._ghost, self._ghost, source._in(given))
        elif not self.space.copy_from(self._ghost, stream, source.space, source._ghost, source.stream):
            self.space.write(self._ghost, source.copy_to_host(), stream)

    def _recorded(
        self,
        what: str,
        destination: Any,
        source: Any,
        stream: Any,
        make: Callable[[], object],
        other: DeviceArray | None = None,
    ) -> bool:
        """Record a copy if a graph records the stream; returns whether it does. make: makes the copy."""
        if not recorders or (recorder := recorder_of(self.space.timeline, stream_handle(stream))) is None:
            return False
        recorder.copy(what, destination, source, (self, other), make)
        return True

    def copied(self) -> DeviceArray:
        """Return a copy of the items on the same device: dense, with the axes in the same order."""
        layout = StridedLayout.of(self._ghost).to_dense()
        memory = self.space.allocate(self.nbytes, self.stream)
        made = DeviceArray(memory, layout.over(memory.address, self.dtype), self.stream)
        made.copy_to_device(self)
        return made

    @property
    def _order(self) -> Literal["C", "F"]:
        """The order of copies: Fortran's only if the items are contiguous in that order alone."""
        return "F" if self._kind[2] == "F" else "C"

    def _check_fits(self, other: Array, verb: str) -> None:
        if other.shape != self.shape or other.dtype != self.dtype:
            raise ShapeError(
                f"{verb}: the array here is {self.dtype}{list(self.shape)}, the other {other.dtype}{list(other.shape)}"
            )

    def _check_writable(self, verb: str) -> None:
        if not self._ghost.flags.writeable:
            raise ArgumentError(f"{verb}: the array on the device is read-only")
        if overlaps_itself(self._ghost):
            raise ArgumentError(f"{verb}: items of the array on the device share memory (strides {self.strides})")

    def _in(self, stream: Any) -> Any:
        # As in numba-cuda: the default stream means the array's own, or else the thread's current stream.
        wanted = self.stream if stream is None or (isinstance(stream, int) and stream == 0) else stream
        return here(self.space.timeline) if type(wanted) is int and wanted == 0 else wanted

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the items as a NumPy array: always a copy."""
        if copy is False:
            raise ValueError(
                "`copy=False` is not supported: an array on the device cannot become a NumPy array without a copy"
            )
        values = self.copy_to_host()
        return values if dtype is None else values.astype(dtype, copy=False)

    # -- views -------------------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, key: slice) -> DeviceArray: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a view (ints, slices, None, ..., field names); a number for an index to one item, or a record's field.

        A record stays a view, so that writing to its fields writes to the array.
        """
        from gridjit.runtime.memory.indices import is_full_index, view_key

        view = self._viewed(self._ghost[view_key(key)])
        if view.ndim == 0 and view.dtype.names is None and (isinstance(key, str) or is_full_index(key, self.ndim)):
            return view.copy_to_host()[()]
        return view

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy value, a number, host array or DeviceArray, into the items that key names, converted as NumPy does."""
        self.setitem(key, value)

    def getitem(self, item: Any, stream: StreamLike = None) -> Any:
        """Return a[item]: a number, read in stream, or a view whose copies are in stream (default: the array's own)."""
        return self._ordered(stream)[item]

    def setitem(self, key: Any, value: Any, stream: StreamLike = None) -> None:
        """Do a[key] = value in stream (default: the array's own)."""
        from gridjit.runtime.memory.indices import broadcast, view_key

        view = self._viewed(self._ghost[view_key(key)])
        if isinstance(value, DeviceArray) and value.dtype == view.dtype:
            view.copy_to_device(value._viewed(broadcast(value._ghost, view.shape)), stream)
        elif isinstance(value, DeviceArray):
            view.setitem(..., value._to_convert(view.dtype, view._in(stream)), stream)
        else:
            refuse_masked(value)
            # A record is written as a tuple; NumPy needs its fields for that.
            values = np.asarray(value, view.dtype if view.dtype.names else None).astype(view.dtype, copy=False)
            view.copy_to_device(broadcast(values, view.shape), stream)

    def _to_convert(self, dtype: np.dtype[Any], stream: Any) -> Array:
        """Return the items, read in stream, for conversion to another dtype on the host."""
        handle = stream_handle(stream)
        if recorder_of(self.space.timeline, handle) is not None or self.space.timeline.capturing(handle):
            raise ArgumentError(
                f"a graph cannot assign items of {self.dtype} to items of {dtype}, which are converted on the host: "
                "convert them in a kernel, or before the graph"
            )
        return self.copy_to_host(stream=stream)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    @property
    def T(self) -> DeviceArray:  # noqa: N802
        """The view with the axes reversed."""
        return self._viewed(self._ghost.T)

    def transpose(self, *order: Any, axes: Sequence[int] | None = None) -> DeviceArray:
        """Return the view with the axes in the order of axes (or of order, as in NumPy), or reversed."""
        return self._viewed(self._ghost.transpose(*order or (axes,)))

    def squeeze(self, axis: int | tuple[int, ...] | None = None, stream: StreamLike = None) -> DeviceArray:
        """Return the view without axes of length 1: all of them, or the axes in axis; stream: as for ravel."""
        return self._ordered(stream)._viewed(self._ghost.squeeze(axis))

    def view(self, dtype: Any) -> DeviceArray:
        """Return the same bytes as items of another dtype; if their sizes differ, the last axis changes."""
        return self._viewed(self._ghost.view(dtype))

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """Return the view with another shape; raises CopyNeededError, a ValueError, if there is no such view.

        shape: items along each axis, or a tuple of them; one may be -1. order: "C" (last axis fastest), "F", or "A": F
        if the array is in F order. Raises LayoutError, which is a ValueError, for another number of items.
        """
        from gridjit.runtime.memory.indices import reshaped

        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        if order not in ("C", "F", "A"):
            raise ValueError(f"reshape(order={order!r}): give 'C', 'F' or 'A'")
        if order == "A":
            order = self._order
        if order == "F":
            return self._viewed(reshaped(self._ghost.T, tuple(wanted)[::-1]).T)
        return self._viewed(reshaped(self._ghost, tuple(wanted)))

    def ravel(self, order: str = "C", stream: StreamLike = None) -> DeviceArray:
        """Return the view with one axis; order: as for reshape. Raises CopyNeededError if there is no such view.

        stream: the stream of the view's copies (default: the array's own).
        """
        return self._ordered(stream).reshape(-1, order=order)

    def split(self, section: int, stream: StreamLike = None) -> Iterator[DeviceArray]:
        """Yield views of section items each (the last may be shorter) of a 1-D array, to be copied in stream."""
        if self.ndim != 1:
            raise ValueError(f"split: the array has {self.ndim} axes; it must have 1")
        if section < 1:
            raise ValueError(f"split({section}): give how many items each part has, 1 or more")
        for start in range(0, self.size, section):
            yield self[start : start + section].bind(self._in(stream))

    def bind(self, stream: StreamLike = 0) -> DeviceArray:
        """Return the array with another stream to copy in."""
        return DeviceArray(self._memory, self._ghost, stream)

    def _ordered(self, stream: StreamLike) -> DeviceArray:
        # As in numba-cuda: the default stream means the array's own.
        return self if stream is None or (type(stream) is int and stream == 0) else self.bind(stream)

    def _viewed(self, ghost: Array) -> DeviceArray:
        return DeviceArray(self._memory, ghost, self.stream)

    def settle(self) -> None:
        """Wait for the work in its stream, before code without streams uses its memory in place.

        With checks for hazards, raises HazardError if work in another stream may still write it.
        """
        self.space.timeline.synchronize(stream_handle(self.stream))
        for watcher in watchers:
            watcher.used_in_place(self._ghost)

    # -- protocols ---------------------------------------------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface.

        AttributeError for an array on the host where there is a GPU: other libraries would take it for an array there.
        """
        if self.device is None and presence.device_count():
            raise AttributeError("an array on the host has no __cuda_array_interface__; use copy_to_host()")
        return {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (self.data if self.size else 0, not self._ghost.flags.writeable),
            "stream": stream_handle(self.stream) or LEGACY,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's (device type, number): CUDA is 2, the host 1."""
        return (1, 0) if self.device is None else (2, self.device)

    def __dlpack__(
        self,
        *,
        stream: StreamLike = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule over the same memory; work in the array's stream comes before stream's."""
        from gridjit.runtime.memory.dlpack_export import export

        return export(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    @property
    def _numba_type_(self) -> Any:
        """Its numba type, for kernels that refer to it and for numba-cuda."""
        from gridjit.compiler.frontend.bindings.types import numba_arguments

        dtype, ndim, layout, writable, aligned, *_ = self._kind
        own = ArrayType(dtype=item_type(dtype), ndim=ndim, layout=layout, readonly=not writable, aligned=aligned)
        return numba_arguments(Signature(arguments=(own,)))[0]

    def get_ipc_handle(self) -> Any:
        """Raise DeviceError: an array's memory is from the driver's pool, which other processes cannot open."""
        raise DeviceError(
            "gridjit's arrays are in memory of the driver's pool, or of this process on the host, which does not "
            "support IPC handles; make the array to share with numba.cuda.device_array, and use it here through "
            "cuda.as_cuda_array, or use multiprocessing.shared_memory on the host"
        )

    def __reduce__(self) -> Any:
        raise TypeError("an array on the device cannot be pickled; pickle copy_to_host()")
