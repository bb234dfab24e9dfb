"""operations: numba.cuda's operations in a kernel that is stepped through."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import UnsupportedError
from gridjit.compiler.values.launch_config import Dim3
from gridjit.runtime.stepping.block import WARP, Where, lane

_ALL = 0xFFFFFFFF


class Word(int):
    """A number of 32 bits; arithmetic with it has 64, as with numba's numbers."""

    def __abs__(self) -> Word:
        return Word(super().__abs__())


class Mask(Word):
    """A number of 32 bits without a sign."""

    def __invert__(self) -> int:
        return super().__invert__() & _ALL


class Dimensions:
    """threadIdx and its like: x, y and z of the calling thread. kind: their type."""

    def __init__(self, of: Callable[[], Dim3], kind: type[int] = Word) -> None:
        self._of, self._kind = of, kind

    x = property(lambda self: self._kind(self._of()[0]))
    y = property(lambda self: self._kind(self._of()[1]))
    z = property(lambda self: self._kind(self._of()[2]))


def _calling() -> Where:
    """Return the kernel's call of an operation."""
    frame = sys._getframe(2)
    return frame.f_code, frame.f_lasti


def _place(axis: int) -> int:
    mine = lane()
    config, block = mine.block.config, mine.block.position
    return block[axis] * config.blockdim[axis] + mine.position[axis]


def _several(ndim: int, of: Callable[[int], int]) -> Any:
    return of(0) if ndim == 1 else tuple(of(axis) for axis in range(ndim))


def grid(ndim: int) -> Any:
    """Return the thread's place in the grid: a number, or a tuple of two or three."""
    return _several(ndim, _place)


def gridsize(ndim: int) -> Any:
    """Return how many threads the grid has along each axis."""
    config = lane().block.config
    return _several(ndim, lambda axis: config.griddim[axis] * config.blockdim[axis])


def _dtype(kind: Any) -> Any:
    try:
        return np.dtype(kind)
    except TypeError:
        from gridjit.compiler.frontend.bindings.vocabulary import (
            dtype_of_type,  # a type of numba's, so that is imported
        )

        return dtype_of_type(kind)


def items(array: Any) -> Any:
    """Return an array whose records have their fields as attributes."""
    return array.view(np.recarray) if array.dtype.names else array


class Shared:
    """cuda.shared: one array for each place in the source, of all threads of a block."""

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return the block's array that is declared here; without items, the launch's dynamic memory."""
        block, kind = lane().block, _dtype(dtype)
        if shape in (0, (0,)):
            return items(block.dynamic[: block.dynamic.size // kind.itemsize * kind.itemsize].view(kind))
        return block.shared.setdefault(_calling(), items(np.zeros(shape, kind)))


class Local:
    """cuda.local: an array of each thread's own."""

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return a new array."""
        return items(np.zeros(shape, _dtype(dtype)))


class Const:
    """cuda.const: arrays that do not change."""

    def array_like(self, array: Any) -> Any:
        """Return the array."""
        return array


def syncthreads() -> None:
    """Wait for all threads of the block."""
    lane().wait("block")


def syncthreads_count(predicate: Any) -> int:
    """Return for how many of the block's threads predicate is true."""
    return Word(sum(map(bool, lane().wait("block", predicate).values())))


def syncthreads_and(predicate: Any) -> int:
    """Return whether predicate is true for all of the block's threads."""
    return Word(all(lane().wait("block", predicate).values()))


def syncthreads_or(predicate: Any) -> int:
    """Return whether predicate is true for any of the block's threads."""
    return Word(any(lane().wait("block", predicate).values()))


def threadfence() -> None:
    """Do nothing: a thread's writes are seen at once."""


def in_order() -> None:
    """Do nothing: a grid begins when the previous grid has ended."""


def nanosleep(ns: int) -> None:
    """Let other threads run."""
    lane().pause()


def _warp(mask: int, value: Any) -> dict[int, Any]:
    """Return the values of the warp's lanes in mask; the caller's code identifies the operation."""
    place = sys._getframe(1).f_code, int(mask) & _ALL
    return {number % WARP: found for number, found in lane().wait("warp", value, place).items()}


def _as_bits(lanes: Iterable[int]) -> int:
    """Return lanes as bits; the last lane is the sign, as in numba."""
    bits = sum(1 << number for number in lanes)
    return Word(bits - (bits >> 31 << 32))


def laneid() -> int:
    """Return the thread's lane in its warp."""
    return Word(lane().number % WARP)


def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait for the warp's threads that mask names."""
    _warp(mask, None)


def shfl_sync(mask: int, value: Any, source: int) -> Any:
    """Return the value of another lane."""
    return _warp(mask, value).get(source % WARP, value)


def shfl_up_sync(mask: int, value: Any, delta: int) -> Any:
    """Return the value of a lower lane, the thread's own at the warp's end."""
    return _warp(mask, value).get(laneid() - delta, value)


def shfl_down_sync(mask: int, value: Any, delta: int) -> Any:
    """Return the value of a higher lane, the thread's own at the warp's end."""
    return _warp(mask, value).get(laneid() + delta, value)


def shfl_xor_sync(mask: int, value: Any, lanes: int) -> Any:
    """Return the value of the lane with some bits of its number changed."""
    return _warp(mask, value).get(laneid() ^ int(lanes), value)


def all_sync(mask: int, predicate: Any) -> bool:
    """Return whether predicate is true for all."""
    return all(_warp(mask, predicate).values())


def any_sync(mask: int, predicate: Any) -> bool:
    """Return whether predicate is true for any."""
    return any(_warp(mask, predicate).values())


def eq_sync(mask: int, predicate: Any) -> bool:
    """Return whether predicate is the same for all."""
    return len(set(map(bool, _warp(mask, predicate).values()))) == 1


def ballot_sync(mask: int, predicate: Any) -> int:
    """Return the lanes for which predicate is true, as bits."""
    return _as_bits(number for number, found in _warp(mask, predicate).items() if found)


def match_any_sync(mask: int, value: Any) -> int:
    """Return the lanes with the same value, as bits."""
    return _as_bits(number for number, found in _warp(mask, value).items() if found == value)


def match_all_sync(mask: int, value: Any) -> tuple[int, bool]:
    """Return the lanes, as bits, and True if all have the same value; else 0 and False."""
    found = _warp(mask, value)
    same = len(set(found.values())) == 1
    return (_as_bits(found), True) if same else (0, False)


def activemask() -> int:
    """Return the lanes that are here when no other lane goes on, as bits."""
    return Mask(sum(1 << number % WARP for number in lane().wait("any")))


def lanemask_lt() -> int:
    """Return the lower lanes, as bits."""
    return Mask((1 << laneid()) - 1)


def _bits(value: Any, width: int = 0) -> tuple[int, int]:
    """Return a number's bits, and how many it has; the lowest of them, if width is given."""
    if not width and isinstance(value, np.generic):
        width = value.dtype.itemsize * 8
    elif not width:
        width = 32 if isinstance(value, Word) else 8 if isinstance(value, bool) else 64
    return int(value) & ((1 << width) - 1), width


def _as_wide(count: int, width: int) -> int:
    return Word(count) if width <= 32 else count


def popc(value: Any) -> int:
    """Return how many bits are set."""
    bits, width = _bits(value)
    return _as_wide(bits.bit_count(), width)


def brev(value: Any) -> Any:
    """Return the bits in reverse order: 64 of an unsigned number of 64 bits, 32 of any other, as numba-cuda does."""
    bits, width = _bits(value, 64 if isinstance(value, np.uint64) else 32)
    found = int(f"{bits:0{width}b}"[::-1], 2)
    return Mask(found) if width == 32 else np.uint64(found)


def clz(value: Any) -> int:
    """Return how many of the highest bits are 0."""
    bits, width = _bits(value)
    return _as_wide(width - bits.bit_length(), width)


def ffs(value: Any) -> int:
    """Return the number of the lowest set bit, from 1; 0 if there is none."""
    bits, _ = _bits(value)
    return Word((bits & -bits).bit_length())


def selp(condition: Any, first: Any, second: Any) -> Any:
    """Return first if condition is true, else second."""
    return first if condition else second


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c."""
    return a * b + c


def cbrt(value: Any) -> Any:
    """Return the cubic root."""
    return math.copysign(abs(value) ** (1 / 3), value)


def load(array: Any, index: Any) -> Any:
    """Return an item, whatever the hint for caches."""
    return array[index]


def store(array: Any, index: Any, value: Any) -> None:
    """Write an item, whatever the hint for caches."""
    array[index] = value


def unsupported(name: str, *_arguments: Any) -> Any:
    """Raise the error for a name that cannot be stepped through."""
    raise UnsupportedError(f"cuda.{name} cannot be stepped through; unset GRIDJIT_HOST_STEP to run the kernel compiled")
