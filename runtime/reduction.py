"""Reduce: numba-cuda's cuda.reduce - a kernel that reduces an array with a function - over gridjit's kernels."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.jit import jit
from gridjit.runtime.memory.device_array import DeviceArray

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike

# Threads of a block, a power of two, and the most blocks: as many results as one block reduces.
_THREADS = 128
_BLOCKS = 128


@functools.cache
def reduce_in(vocabulary: ModuleType) -> type[Reduce]:
    """Return the class of reductions whose kernels are written in a module's words: gridjit.cuda's."""
    made: type[Reduce] = type("Reduce", (Reduce,), {"_vocabulary": vocabulary, "__doc__": Reduce.__doc__})
    return made


class Reduce:
    """A reduction with a binary function that is associative and commutative: `cuda.reduce(lambda a, b: a + b)`.

    Call it with an array of one axis, on the host or the device.
    """

    _vocabulary: ClassVar[ModuleType]

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        if not callable(functor):
            raise ArgumentError(f"reduce({functor!r}): give a function of two values that returns one")
        self._functor = functor
        self._kernel = _kernel(functor, self._vocabulary)

    def __repr__(self) -> str:
        return f"<gridjit reduction by {getattr(self._functor, '__qualname__', 'a function')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the function, as device functions are: by its name, or else its code."""
        return _made_again, (self._vocabulary.__name__, jit(device=True)(self._functor))

    def __call__(
        self, arr: Any, size: int | None = None, res: DeviceArray | None = None, init: Any = 0, stream: StreamLike = 0
    ) -> Any:
        """Return arr reduced, with init in front.

        size: how many items of arr; default: all. res: an array on the device whose first item becomes the result; then
        None is returned, and nothing is copied to the host. init: of arr's type. stream: of the kernels. Of an empty
        array the result is init. Raises ArgumentError, a TypeError, for an array that does not have one axis.
        """
        if not hasattr(arr, "ndim"):
            raise ArgumentError(f"reduce: {a_class(type(arr))} is not an array; make one of it, numpy.array(x)")
        if arr.ndim != 1:
            raise ArgumentError(f"reduce: only support 1D array, this one has {arr.ndim} axes; pass x.ravel()")
        items = arr[:size]
        first = arr.dtype.type(init)
        if items.size < 1:
            return first
        partial = self._reduced(items, first, stream)
        if res is None:
            return partial[:1].copy_to_host(stream=stream)[0]
        res[:1].copy_to_device(partial[:1], stream=stream)
        return None

    def _reduced(self, items: Any, first: Any, stream: Any) -> DeviceArray:
        """Return an array on the device that begins with the result."""
        there = items if isinstance(items, DeviceArray) else _there(items, stream)
        blocks = min(-(-items.size // _THREADS), _BLOCKS)
        partial = device_array(blocks, there.dtype, stream=stream)
        self._kernel[blocks, _THREADS, stream](there, partial, first, True)
        if blocks > 1:
            self._kernel[1, _THREADS, stream](partial, partial, first, False)
        return partial


def _made_again(vocabulary: str, functor: Callable[[Any, Any], Any]) -> Reduce:
    return reduce_in(importlib.import_module(vocabulary))(functor)


def _there(items: Any, stream: Any) -> Any:
    """Return an array's items on the device; another library's array is there already."""
    return to_device(items, stream) if isinstance(items, np.ndarray) else items


@functools.lru_cache(maxsize=256)
def _kernel(functor: Callable[[Any, Any], Any], cuda: Any) -> Any:
    """Return the kernel that reduces an array to one item for each block."""
    combine = jit(device=True)(functor)

    def reduce_blocks(items, partial, first, with_first):  # type: ignore[no-untyped-def]
        shared = cuda.shared.array(_THREADS, items.dtype)
        thread, block = cuda.threadIdx.x, cuda.blockIdx.x
        start, step = block * _THREADS + thread, _THREADS * cuda.gridDim.x
        if start < items.size:
            own = items[start]
            for i in range(start + step, items.size, step):
                own = combine(own, items[i])
            shared[thread] = own
        cuda.syncthreads()
        # The threads of this block that had an item.
        filled = min(_THREADS, items.size - block * _THREADS)
        width = _THREADS // 2
        while width:
            if thread < width and thread + width < filled:
                shared[thread] = combine(shared[thread], shared[thread + width])
            cuda.syncthreads()
            width //= 2
        if thread == 0:
            partial[block] = combine(first, shared[0]) if with_first and block == 0 else shared[0]

    return jit(reduce_blocks)
