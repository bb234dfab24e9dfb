"""UFuncCall: a call of a ufunc, from its arguments to its result: checked, broadcast, flattened, and put in its place.

numba-cuda's rules choose the signature. As in NumPy, the result is in `out` whatever its layout, and no argument is
overwritten before it has been read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, ShapeError, a_class
from gridjit.runtime.arrays.create import as_device_array, device_array
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.staging import refuse_masked
from gridjit.runtime.numba_names.functions import is_cuda_array

_Shape = tuple[int, ...]
SIGNATURES: Final = "give the types that it takes: @vectorize(['float32(float32)'])"


@dataclass(frozen=True, slots=True, kw_only=True)
class UFuncCall:
    """A call whose keywords were read. mechanism: numba-cuda's class that chooses among functions, by their types."""

    name: str
    mechanism: Any
    functions: Mapping[Any, Any]
    out: Any = None
    stream: Any = 0

    @classmethod
    def of(cls, name: str, mechanism: Any, functions: Mapping[Any, Any], keywords: Mapping[str, Any]) -> UFuncCall:
        """Return the call with a user's keywords; raises ArgumentError for a keyword that ufuncs do not take."""
        check_keywords(name, keywords)
        out = keywords.get("out")
        if isinstance(out, tuple) and len(out) == 1:  # NumPy's ufuncs take it so, too
            (out,) = out
        return cls(name=name, mechanism=mechanism, functions=functions, out=out, stream=keywords.get("stream", 0))

    def result(self, args: tuple[Any, ...]) -> Any:
        """Return out, or a new array: on the device if an argument is there."""
        self._check_count(args)
        for arg in (*args, self.out):
            refuse_masked(arg)
        chosen = self.mechanism(self.functions, args)
        arrays = self._broadcast(chosen)
        dtype, function = chosen.get_function()
        shape = arrays[0].shape
        out = as_result(self.name, self.out, shape, dtype)
        inputs = [self._flat(chosen, array) for array in arrays]
        made = self._written(out, inputs, shape, dtype)
        chosen.launch(function, made.size, self.stream, [*inputs, made])
        if out is not None:
            return put(out, made.reshape(shape), self.stream)
        on_device = any(chosen.is_device_array(array) for array in arrays)
        return made.reshape(shape) if on_device else made.copy_to_host().reshape(shape)[()]

    def _check_count(self, args: tuple[Any, ...]) -> None:
        if not self.functions:
            raise ArgumentError(f"{self.name} does not have a signature; {SIGNATURES}")
        taken = len(next(iter(self.functions)))
        if len(args) != taken:
            way = f"; name the result's array, {self.name}(..., out=array)" if len(args) == taken + 1 else ""
            raise ArgumentError(f"{self.name} takes {taken} argument{'s' * (taken != 1)}; {len(args)} given{way}")

    def _broadcast(self, chosen: Any) -> list[Any]:
        """Return the arguments as arrays of one shape, once the signature is chosen."""
        chosen._fill_arrays()
        chosen._fill_argtypes()
        given = [kind or np.asarray(arg).dtype for arg, kind in zip(chosen.args, chosen.argtypes, strict=True)]
        try:
            chosen._resolve_signature()
        except TypeError as error:
            several = "ambiguous" in str(error)
            which = "several signatures fit" if several else "no signature has these types"
            way = (
                "Give numbers of NumPy's, as numpy.float32(1)" if several else "Convert, as in x.astype(numpy.float32)"
            )
            known = ", ".join(map(said, self.functions))
            raise ArgumentError(f"{self.name}{said(given)}: {which}; there are {known}. {way}") from None
        arrays = chosen._get_actual_args()
        shapes = ", ".join(str(array.shape) for array in arrays)
        try:
            broadcast: list[Any] = chosen._broadcast(arrays)
        except ValueError:
            raise ShapeError(f"{self.name}: arrays of shapes {shapes} cannot be broadcast to one shape") from None
        return broadcast

    def _flat(self, chosen: Any, array: Any) -> DeviceArray:
        """Return an argument on the device, with one axis."""
        if not chosen.is_device_array(array):
            made: DeviceArray = chosen.to_device(np.ravel(array), self.stream)
            return made
        flat = _flattened(array)
        return copied(array, self.stream).reshape(array.size) if flat is None else flat

    def _written(self, out: Any, inputs: list[DeviceArray], shape: _Shape, dtype: Any) -> DeviceArray:
        """Return the array that the kernel writes: out itself, if that cannot change unread items."""
        if isinstance(out, DeviceArray) and out.dtype == dtype:
            flat = _flattened(out)
            if flat is not None and all(_apart(one, flat) for one in inputs):
                return flat
        return device_array(math.prod(shape), dtype, stream=self.stream)


def as_result(name: str, out: Any, shape: _Shape, dtype: Any) -> Any:
    """Return the array for a result; raises ShapeError for another shape, ArgumentError if it cannot hold the items."""
    if isinstance(out, DeviceArray) or is_cuda_array(out):
        out = as_device_array(out)
    elif out is not None and not isinstance(out, np.ndarray):
        raise ArgumentError(f"{name}(out=...): {a_class(type(out))} is not an array")
    if out is not None and out.shape != shape:
        raise ShapeError(f"{name}(out=...): the result has the shape {shape}, and out {out.shape}")
    if out is not None and not np.can_cast(dtype, out.dtype, "same_kind"):
        raise ArgumentError(f"{name}(out=...): the result is {dtype}, which an array of {out.dtype} cannot hold")
    return out


def put(out: Any, made: DeviceArray, stream: Any) -> Any:
    """Return out, with the kernel's result."""
    if isinstance(out, DeviceArray) and made._memory is out._memory:
        return out
    result: Any = made
    if out.dtype != made.dtype:
        result = result.copy_to_host(stream=stream).astype(out.dtype)
    if isinstance(out, DeviceArray):
        out.copy_to_device(result, stream=stream)
    elif isinstance(result, DeviceArray):
        result.copy_to_host(out, stream=stream)
    else:
        out[...] = result
    return out


def repeated(array: DeviceArray, shape: _Shape) -> DeviceArray:
    """Return a view of another shape, in which the array is repeated along new axes."""
    ghost = array._ghost
    missing = len(shape) - ghost.ndim
    strides = [
        ghost.strides[axis - missing] if axis >= missing and ghost.shape[axis - missing] == size else 0
        for axis, size in enumerate(shape)
    ]
    return array._viewed(np.lib.stride_tricks.as_strided(ghost, shape, strides))


def check_keywords(name: str, keywords: Mapping[str, Any]) -> None:
    """Raise ArgumentError for a keyword that NumPy's ufuncs take and kernels' ufuncs do not."""
    if unknown := sorted(keywords.keys() - {"out", "stream"}):
        raise ArgumentError(f"{name}({unknown[0]}=...): ufuncs of kernels take the keywords out and stream only")


def apart(arg: Any, results: Iterable[Any], stream: Any) -> Any:
    """Return an input, or a copy if a result is written there."""
    if not isinstance(arg, DeviceArray):
        return arg
    written = (one for one in results if isinstance(one, DeviceArray))
    return copied(arg, stream) if any(np.may_share_memory(arg._ghost, one._ghost) for one in written) else arg


def reducible(name: str, functions: Mapping[Any, Any], arg: Any, stream: Any) -> Any:
    """Return an array that a ufunc may reduce in place: a host array, or a copy of one on the device.

    Raises ArgumentError if the ufunc does not take two arguments, or the array does not have one axis.
    """
    if any(len(types) != 2 for types in functions):
        raise ArgumentError(f"{name}.reduce: only ufuncs of two arguments reduce, as in float32(float32, float32)")
    refuse_masked(arg)
    array = as_device_array(arg) if isinstance(arg, DeviceArray) or is_cuda_array(arg) else np.asarray(arg)
    if array.ndim != 1:
        raise ShapeError(f"{name}.reduce: the array has {array.ndim} axes; pass one with 1, such as x.ravel()")
    return copied(array, stream) if isinstance(array, DeviceArray) else array


def copied(array: DeviceArray, stream: Any) -> DeviceArray:
    """Return a copy of an array on the device, in C order."""
    made = device_array(array.shape, array.dtype, stream=stream)
    made.copy_to_device(array, stream=stream)
    return made


def _flattened(array: DeviceArray) -> DeviceArray | None:
    """Return the view of an array with one axis; None if there is none."""
    if array.ndim == 1:
        return array
    return array.reshape(array.size) if array.is_c_contiguous() else None


def _apart(read: DeviceArray, written: DeviceArray) -> bool:
    """Return whether no item is overwritten by another item's result before it is read."""
    first, second = read._ghost, written._ghost
    same = first.strides == second.strides and first.dtype == second.dtype
    return (same and first.ctypes.data == second.ctypes.data) or not np.may_share_memory(first, second)


def said(types: Iterable[Any]) -> str:
    """Return the types of a call's arguments for messages."""
    return f"({', '.join(str(np.dtype(one)) for one in types)})"
