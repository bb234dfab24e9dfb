"""What implements the functions of `blockwise.block`, for a block of a given number of threads.

An implementation is registered for each call's Invocable, while the kernel with that call is compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import cuda
from numba.cuda.cudadecl import register_global
from numba.cuda.extending import overload
from numba.cuda.typing.templates import AbstractTemplate

from blockwise import block
from blockwise._extremes import extremes_type, make_extremes
from blockwise._nodes import Invocable

_MEMO: dict[tuple[str, int], Callable[..., Any]] = {}


@cuda.jit(device=True)
def rank():
    """The calling thread's place in its block."""
    return cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)


@cuda.jit(device=True)
def _add(a, b):
    return a + b


@cuda.jit(device=True)
def _multiply(a, b):
    return a * b


@cuda.jit(device=True)
def _larger(a, b):
    return a > b


@cuda.jit(device=True)
def _smaller(a, b):
    return a < b


def implement(invocable: Invocable) -> None:
    """Register what an invocable does."""
    node = invocable.node
    overload(invocable, target="cuda")(implementation(node.operation, node.threads))


def implementation(operation: str, threads: int) -> Callable[..., Any]:
    """Return what implements an operation, from the table where it was made before."""
    key = operation, threads
    if key not in _MEMO:
        make = _MAKERS[operation]
        _MEMO[key] = make(threads)
    return _MEMO[key]


def _reduction(combine: Any, threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            tile[rank()] = x
            cuda.syncthreads()
            total = tile[0]
            for i in range(1, threads):
                total = combine(total, tile[i])
            cuda.syncthreads()
            return total

        return code

    return typed


def _selection(better: Any, running: bool, threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            me = rank()
            tile[me] = x
            cuda.syncthreads()
            best = 0
            for i in range(1, me + 1 if running else threads):
                if better(tile[i], tile[best]):
                    best = i
            result = tile[best]
            cuda.syncthreads()
            return result

        return code

    return typed


def _scan(combine: Any, threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            me = rank()
            tile[me] = x
            cuda.syncthreads()
            total = tile[0]
            for i in range(1, me + 1):
                total = combine(total, tile[i])
            cuda.syncthreads()
            return total

        return code

    return typed


def _exclusive(threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            me = rank()
            tile[me] = x
            cuda.syncthreads()
            total = x - x
            for i in range(me):
                total = total + tile[i]
            cuda.syncthreads()
            return total

        return code

    return typed


def _moved(sources: str, threads: int) -> Callable[..., Any]:
    last = threads - 1
    reverse, shift = sources == "reverse", sources == "shift"

    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            me = rank()
            tile[me] = x
            cuda.syncthreads()
            source = 0
            if reverse:
                source = last - me
            if shift:
                source = me - 1
            result = tile[source] if source >= 0 else x - x
            cuda.syncthreads()
            return result

        return code

    return typed


def _count(threads: int) -> Callable[..., Any]:
    def typed(x):
        def code(x):
            tile = cuda.shared.array(threads, "int64")
            tile[rank()] = 1 if x != 0 else 0
            cuda.syncthreads()
            total = 0
            for i in range(threads):
                total += tile[i]
            cuda.syncthreads()
            return total

        return code

    return typed


def _sort(threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            me = rank()
            tile[me] = x
            cuda.syncthreads()
            place = 0
            for i in range(threads):
                if tile[i] < x or (tile[i] == x and i < me):
                    place += 1
            cuda.syncthreads()
            tile[place] = x
            cuda.syncthreads()
            result = tile[me]
            cuda.syncthreads()
            return result

        return code

    return typed


def _extremes(threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x
        extremes_type(x)  # a type that comes to be while a kernel is compiled

        def code(x):
            tile = cuda.shared.array(threads, dtype)
            tile[rank()] = x
            cuda.syncthreads()
            lowest = 0
            highest = 0
            for i in range(1, threads):
                if _smaller(tile[i], tile[lowest]):
                    lowest = i
                if _larger(tile[i], tile[highest]):
                    highest = i
            low = tile[lowest]
            high = tile[highest]
            cuda.syncthreads()
            return make_extremes(low, high)

        return code

    return typed


def _scratch_sum(threads: int) -> Callable[..., Any]:
    def typed(x):
        dtype = x

        def code(x):
            tile = cuda.shared.array(0, dtype)
            tile[rank()] = x
            cuda.syncthreads()
            total = tile[0]
            for i in range(1, threads):
                total = total + tile[i]
            cuda.syncthreads()
            return total

        return code

    return typed


_SUM = functools.partial(_reduction, _add)
_MAKERS: dict[str, Callable[[int], Callable[..., Any]]] = {
    "sum": _SUM,
    "watched_sum": _SUM,
    "owned_sum": _SUM,
    "entangled_sum": _SUM,
    "product": functools.partial(_reduction, _multiply),
    "maximum": functools.partial(_selection, _larger, False),
    "minimum": functools.partial(_selection, _smaller, False),
    "inclusive_sum": functools.partial(_scan, _add),
    "running_maximum": functools.partial(_selection, _larger, True),
    "exclusive_sum": _exclusive,
    "reverse": functools.partial(_moved, "reverse"),
    "broadcast": functools.partial(_moved, "broadcast"),
    "shift": functools.partial(_moved, "shift"),
    "count": _count,
    "sort": _sort,
    "extremes": _extremes,
    "scratch_sum": _scratch_sum,
}


def _register_template(function: Callable[..., Any]) -> None:
    """Give a function of `blockwise.block` a type; its calls are replaced before their types are asked for."""

    @register_global(function)
    class Replaced(AbstractTemplate):
        def generic(self, args, kws):
            return None


for _function in [*vars(block).values()]:
    if isinstance(_function, FunctionType) and not _function.__name__.startswith("_"):
        _register_template(_function)
