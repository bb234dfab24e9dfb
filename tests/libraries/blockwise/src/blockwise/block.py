"""What kernels call for a whole block of threads, all of which have to call it; compiled for the block's size.

Every function takes and returns one value of each thread. There is no code here: see _block.
"""

from __future__ import annotations

from typing import Any, NoReturn


def _in_kernels_only(name: str) -> NoReturn:
    raise TypeError(f"blockwise.block.{name} is for kernels")


def sum(x: Any) -> Any:
    """The sum over the block, in every thread."""
    _in_kernels_only("sum")


def product(x: Any) -> Any:
    """The product over the block."""
    _in_kernels_only("product")


def maximum(x: Any) -> Any:
    """The largest value of the block."""
    _in_kernels_only("maximum")


def minimum(x: Any) -> Any:
    """The smallest value of the block."""
    _in_kernels_only("minimum")


def count(x: Any) -> Any:
    """How many of the block's values are not zero."""
    _in_kernels_only("count")


def inclusive_sum(x: Any) -> Any:
    """The sum over the threads up to this one."""
    _in_kernels_only("inclusive_sum")


def exclusive_sum(x: Any) -> Any:
    """The sum over the threads before this one."""
    _in_kernels_only("exclusive_sum")


def running_maximum(x: Any) -> Any:
    """The largest value of the threads up to this one."""
    _in_kernels_only("running_maximum")


def reverse(x: Any) -> Any:
    """The value of the thread as far from the block's end as this one is from its start."""
    _in_kernels_only("reverse")


def broadcast(x: Any) -> Any:
    """The first thread's value."""
    _in_kernels_only("broadcast")


def shift(x: Any) -> Any:
    """The value of the thread before this one; zero for the first."""
    _in_kernels_only("shift")


def sort(x: Any) -> Any:
    """The block's values in ascending order."""
    _in_kernels_only("sort")


def extremes(x: Any) -> Any:
    """The smallest and the largest value, as `low` and `high`, of a type made for values of x's type."""
    _in_kernels_only("extremes")


def size() -> Any:
    """How many threads a block has: a constant of the compiler."""
    _in_kernels_only("size")


def blocks() -> Any:
    """How many blocks the grid has: a constant of the compiler."""
    _in_kernels_only("blocks")


def scratch_sum(x: Any) -> Any:
    """The sum over the block, in dynamic shared memory that the launch need not ask for."""
    _in_kernels_only("scratch_sum")


def watched_sum(x: Any) -> Any:
    """The sum over the block; every launch is noted in blockwise.packing.LAUNCHES, by a function over numbers."""
    _in_kernels_only("watched_sum")


def owned_sum(x: Any) -> Any:
    """The sum over the block; every launch is noted by a method of an object that lives in this process alone."""
    _in_kernels_only("owned_sum")


def entangled_sum(x: Any) -> Any:
    """The sum over the block; every launch is noted by a nested function over such an object."""
    _in_kernels_only("entangled_sum")
