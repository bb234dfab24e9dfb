"""GUFuncCall: a call of a generalized ufunc, from its arguments to its results.

As in NumPy, the first signature is chosen that takes every argument without losing precision. The remaining axes are
broadcast, and a result may go to an array of another type that can hold it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, ConfigError, ShapeError
from gridjit.runtime.arrays.create import as_device_array, device_array, to_device
from gridjit.runtime.installed.ufunc_call import (
    _Shape,
    apart,
    as_result,
    check_keywords,
    copied,
    put,
    repeated,
    said,
)
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.staging import refuse_masked
from gridjit.runtime.numba_names.functions import is_cuda_array

# For each class of Python's numbers, the kinds of NumPy's types that can hold any such number.
_WEAK: Mapping[type, str] = {int: "iufc", float: "fc", complex: "c"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GUFuncCall:
    """A call whose keywords were read. kernels: by the inputs' types, the results' types and a kernel.

    inputs_axes, results_axes: the names of the axes that the function sees of each.
    """

    name: str
    kernels: Mapping[tuple[Any, ...], tuple[tuple[Any, ...], Any]]
    inputs_axes: Sequence[Sequence[str]]
    results_axes: Sequence[Sequence[str]]
    out: Any = None
    stream: Any = 0

    @classmethod
    def of(cls, name: str, kernels: Mapping[Any, Any], engine: Any, keywords: Mapping[str, Any]) -> GUFuncCall:
        """Return the call with a user's keywords; raises ArgumentError for a keyword that ufuncs do not take."""
        check_keywords(name, keywords)
        given = {"out": keywords.get("out"), "stream": keywords.get("stream", 0)}
        return cls(name=name, kernels=kernels, inputs_axes=engine.sin, results_axes=engine.sout, **given)

    def result(self, args: tuple[Any, ...]) -> Any:
        """Return the result or results, in `out` or in new arrays; these are on the device if an argument is."""
        inputs, outs = self._apart(args)
        types = self._signature(inputs)
        result_types, kernel = self.kernels[types]
        arrays = [_array(arg, kind) for arg, kind in zip(inputs, types, strict=True)]
        loop, sizes = self._shapes(arrays)
        while loop[:1] == (1,) and self._lack_axes(outs, len(loop)):
            loop = loop[1:]
        shapes = [(*loop, *(sizes[axis] for axis in axes)) for axes in self.results_axes]
        targets = [
            as_result(self.name, out, shape, kind) for out, shape, kind in zip(outs, shapes, result_types, strict=True)
        ]
        made = [
            self._written(target, shape, kind, len(loop))
            for target, shape, kind in zip(targets, shapes, result_types, strict=True)
        ]
        if count := math.prod(loop):
            given = [
                self._repeated(apart(array, made, self.stream), kind, loop, len(axes))
                for array, kind, axes in zip(arrays, types, self.inputs_axes, strict=True)
            ]
            written = [one.reshape(count, *one.shape[len(loop) :]) for one in made]
            kernel.forall(count, stream=self.stream)(*given, *written)
        on_device = any(isinstance(array, DeviceArray) for array in arrays)
        results = [self._delivered(*one, on_device) for one in zip(targets, made, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _apart(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        """Return the inputs, and for each result its output array, or None."""
        takes, gives = len(self.inputs_axes), len(self.results_axes)
        outs = list(args[takes:])
        if self.out is not None:
            if outs:
                raise ConfigError("cannot specify argument 'out' as both positional and keyword")  # numba-cuda's words
            outs = list(self.out) if isinstance(self.out, tuple) else [self.out]
        if len(args) < takes or len(outs) not in (0, gives):
            raise ArgumentError(
                f"{self.name}: this gufunc accepts {_arguments(takes)} (its inputs), or {_arguments(takes + gives)} "
                f"(inputs and results). Got {_arguments(len(args))}."
            )
        for arg in (*args, *outs):
            refuse_masked(arg)
        return [_known(arg) for arg in args[:takes]], outs or [None] * gives

    def _signature(self, inputs: list[Any]) -> tuple[Any, ...]:
        """Return the first signature that every input can be cast to safely; raises ArgumentError if there is none.

        If no signature fits the types, single numbers may be cast to types that hold their values, as in numba-cuda.
        """
        weak = [type(arg) in _WEAK for arg in inputs]
        weak = [False] * len(inputs) if all(weak) else weak
        given = [type(arg) if one else _dtype(arg) for arg, one in zip(inputs, weak, strict=True)]
        if not any(weak) and tuple(given) in self.kernels:
            return tuple(given)
        for kinds in (given, [_of_value(arg, kind) for arg, kind in zip(inputs, given, strict=True)]):
            for types in self.kernels:
                if all(map(_can_cast, kinds, types)):
                    return types
        way = f"Convert, as in x.astype(numpy.{next(iter(self.kernels))[0]})"
        if any(isinstance(arg, DeviceArray) for arg in inputs):
            way += "; an array on the device does not support .astype(), so convert it before it is copied there"
        raise ArgumentError(
            f"{self.name}{said(map(np.dtype, given))}: no signature takes these without losing precision; there are "
            f"{', '.join(map(said, self.kernels))}. {way}"
        )

    def _shapes(self, arrays: list[Any]) -> tuple[_Shape, dict[str, int]]:
        """Return the shape that the function is repeated over, and the sizes of its own axes."""
        sizes: dict[str, int] = {}
        outer = []
        for number, (array, axes) in enumerate(zip(arrays, self.inputs_axes, strict=True), 1):
            if array.ndim < len(axes):
                raise ShapeError(
                    f"{self.name}: argument {number} has {array.ndim} ax{'i' if array.ndim == 1 else 'e'}s; its "
                    f"signature, ({','.join(axes)}), needs {len(axes)}"
                )
            split = array.ndim - len(axes)
            outer.append(array.shape[:split])
            for axis, size in zip(axes, array.shape[split:], strict=True):
                if sizes.setdefault(axis, size) != size:
                    raise ShapeError(
                        f"{self.name}: axis {axis} has {sizes[axis]} items in an argument before, and {size} in "
                        f"argument {number}, whose shape is {array.shape}"
                    )
        try:
            return np.broadcast_shapes(*outer), sizes
        except ValueError:
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ShapeError(f"{self.name}: arrays of shapes {shapes} cannot be broadcast to one shape") from None

    def _lack_axes(self, outs: list[Any], count: int) -> bool:
        """Return whether an array for a result has fewer axes than the loop's results."""
        given = zip(outs, self.results_axes, strict=True)
        return any(_is_array(out) and out.ndim < count + len(axes) for out, axes in given)

    def _written(self, target: Any, shape: _Shape, kind: Any, axes: int) -> DeviceArray:
        """Return the array that the kernel writes: the target itself, if it has the type and its axes can be merged."""
        is_it = isinstance(target, DeviceArray) and target.dtype == kind and (axes == 1 or target.is_c_contiguous())
        return target if is_it else device_array(shape, kind, stream=self.stream)

    def _repeated(self, array: Any, kind: Any, loop: _Shape, core: int) -> DeviceArray:
        """Return an input on the device, with one axis for all calls of the function, and then the axes `core`."""
        if not isinstance(array, DeviceArray):
            array = to_device(array, stream=self.stream)
        elif array.dtype != kind:  # no kernel casts on the device
            array = to_device(array.copy_to_host(stream=self.stream).astype(kind), stream=self.stream)
        outer, own = array.shape[: array.ndim - core], array.shape[array.ndim - core :]
        if math.prod(outer) == 1:
            return repeated(array.reshape(*own) if array.ndim > core else array, (math.prod(loop), *own))
        if outer != loop:
            array = repeated(array, (*loop, *own))
        if len(loop) != 1:
            whole = array if array.is_c_contiguous() else copied(array, self.stream)
            array = whole.reshape(math.prod(loop), *own)
        return array  # type: ignore[no-any-return]

    def _delivered(self, target: Any, made: DeviceArray, on_device: bool) -> Any:
        """Return a result, moved to the user's target."""
        if target is not None:
            return put(target, made, self.stream)
        return made if on_device else made.copy_to_host(stream=self.stream)[()]


def _is_array(out: Any) -> bool:
    return isinstance(out, np.ndarray | DeviceArray)


def _arguments(count: int) -> str:
    return f"{count} positional argument{'s' * (count != 1)}"


def _known(arg: Any) -> Any:
    """Return an argument with a known type: an array on the device, or a number of Python's or NumPy's."""
    if isinstance(arg, DeviceArray) or is_cuda_array(arg):
        return as_device_array(arg)
    return arg if type(arg) in _WEAK else np.asarray(arg)


def _dtype(arg: Any) -> Any:
    return arg.dtype if hasattr(arg, "dtype") else np.asarray(arg).dtype


def _of_value(arg: Any, kind: Any) -> Any:
    """Return the smallest type that holds a single number; of any other argument, its own type."""
    is_number = isinstance(arg, int | float | complex) or (isinstance(arg, np.ndarray) and arg.ndim == 0)
    return np.min_scalar_type(arg) if is_number and kind not in _WEAK else kind


def _can_cast(given: Any, wanted: Any) -> bool:
    """Return whether an argument's type, or the class of a number of Python's, can be cast without losing precision."""
    return wanted.kind in _WEAK[given] if given in _WEAK else bool(np.can_cast(given, wanted))


def _array(arg: Any, kind: Any) -> Any:
    """Return an argument as an array: on the device, unchanged; elsewhere, with items of that type."""
    return arg if isinstance(arg, DeviceArray) else np.asarray(arg, kind)
