"""Kernels that use blockwise, each in a way of its own, and what they give: the program of test_blockwise_library.

Run with names of cases, or none for all, it launches each once and prints as JSON what became of it. The environment
says how: REGISTER=no leaves it to gridjit to find the library, REGISTER=early registers before the kernels are made;
SETTINGS is JSON of settings of the library to set before launches.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import blockwise
import numpy as np
from blockwise import block, packing, records, thread
from blockwise.block import sum as block_sum

from gridjit import cuda

if os.environ.get("REGISTER") == "early":
    blockwise.register()

BLOCK, GRID = 32, 2
COUNT = BLOCK * GRID


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel over (x, out, *more), and what it makes of each block of x; hooks: how many run before a launch."""

    kernel: Any
    expected: Callable[[Any], Any]
    dtype: str = "int64"
    more: tuple[Any, ...] = ()
    block: int | tuple[int, ...] = BLOCK
    hooks: int = 0
    stored: bool = True


CASES: dict[str, Case] = {}


def case(expected: Callable[[Any], Any], **given: Any) -> Callable[[Callable[..., None]], Any]:
    """Return what makes a kernel of a function, and a case of that."""

    def add(function: Callable[..., None]) -> Any:
        kernel = cuda.jit(function)
        CASES[function.__name__] = Case(kernel=kernel, expected=expected, **given)
        return kernel

    return add


def block_wide(function: Callable[..., Any]) -> Any:
    """Return a kernel that calls one function of the block, which is a variable of its closure."""

    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    return cuda.jit(kernel)


def shifted(x: Any) -> Any:
    """Return x one place further, with zero in front."""
    return np.concatenate(([0], x[:-1])).astype(x.dtype)


# One kernel for each function of the block and each type of value: 10 of them for 3 types.
for dtype in ("int64", "float64", "int32"):
    for function, result in {
        block.sum: np.sum,
        block.maximum: np.max,
        block.minimum: np.min,
        block.count: np.count_nonzero,
        block.inclusive_sum: np.cumsum,
        block.exclusive_sum: lambda x: np.cumsum(x) - x,
        block.running_maximum: np.maximum.accumulate,
        block.reverse: lambda x: x[::-1],
        block.shift: shifted,
        block.sort: np.sort,
    }.items():
        CASES[f"{function.__name__} {dtype}"] = Case(kernel=block_wide(function), expected=result, dtype=dtype)  # type: ignore[arg-type]


@case(np.prod)
def by_a_chain_of_attributes(x, out):
    i = cuda.grid(1)
    out[i] = blockwise.block.product(x[i])


@case(np.sum)
def by_a_name_of_its_own(x, out):
    i = cuda.grid(1)
    out[i] = block_sum(x[i])


@case(lambda x: x[0])
def by_broadcast(x, out):
    i = cuda.grid(1)
    out[i] = block.broadcast(x[i])


@case(lambda x: x - x.min() + x.max())
def twice_in_a_kernel(x, out):
    i = cuda.grid(1)
    low = block.minimum(x[i])
    out[i] = x[i] - low + block.maximum(x[i])


@cuda.jit(device=True)
def sum_of_squares(x):
    return block.sum(x * x)


@case(lambda x: (x * x).sum())
def in_a_device_function(x, out):
    i = cuda.grid(1)
    out[i] = sum_of_squares(x[i])


@case(lambda x: x.max() - x.min())
def a_type_made_while_compiling(x, out):
    i = cuda.grid(1)
    found = block.extremes(x[i])
    out[i] = found.high - found.low


@case(lambda x: x.max() - x.min(), dtype="float64")
def another_type_made_while_compiling(x, out):
    i = cuda.grid(1)
    found = block.extremes(x[i])
    out[i] = found.high - found.low


@case(lambda x: x + x.size)
def size_as_a_constant(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + block.size()


@case(lambda x: x[::-1])
def size_as_a_shape(x, out):
    tile = cuda.shared.array(block.size(), np.int64)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    out[i] = tile[block.size() - 1 - cuda.threadIdx.x]


@case(lambda x: x + GRID)
def blocks_as_a_constant(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + block.blocks()


@case(np.sum)
def in_memory_it_did_not_ask_for(x, out):
    i = cuda.grid(1)
    out[i] = block.scratch_sum(x[i])


@case(np.sum, hooks=1)
def with_a_hook_over_numbers(x, out):
    i = cuda.grid(1)
    out[i] = block.watched_sum(x[i])


@case(lambda x: 2 * x.sum(), hooks=2)
def with_two_hooks(x, out):
    i = cuda.grid(1)
    out[i] = block.watched_sum(x[i])
    out[i] += block.watched_sum(x[i])


@case(np.sum, hooks=1, stored=False)
def with_a_method_of_a_node(x, out):
    i = cuda.grid(1)
    out[i] = block.owned_sum(x[i])


@case(np.sum, hooks=1, stored=False)
def with_a_hook_over_a_node(x, out):
    i = cuda.grid(1)
    out[i] = block.entangled_sum(x[i])


@case(lambda x: np.cumsum(np.sort(x)))
def one_after_the_other(x, out):
    i = cuda.grid(1)
    out[i] = block.inclusive_sum(block.sort(x[i]))


@case(np.sum, block=(8, 2, 2))
def in_three_dimensions(x, out):
    me = cuda.threadIdx.x + 8 * (cuda.threadIdx.y + 2 * cuda.threadIdx.z)
    i = me + BLOCK * cuda.blockIdx.x
    out[i] = block.sum(x[i])


@case(lambda x: np.array([x[: i + 1].sum() if i % 2 else x[i] for i in range(x.size)]))
def in_a_branch_of_values(x, out):
    i = cuda.grid(1)
    total = block.inclusive_sum(x[i])
    out[i] = total if i % 2 else x[i]


@case(lambda x: 3 * x.sum())
def in_a_loop(x, out):
    i = cuda.grid(1)
    total = 0
    for _ in range(3):
        total += block.sum(x[i])
    out[i] = total


@case(lambda x: np.clip(x, 3, 9))
def clamped(x, out):
    i = cuda.grid(1)
    out[i] = thread.clamp(x[i], 3, 9)


@case(lambda x: (x + 4) // 2)
def blended(x, out):
    i = cuda.grid(1)
    out[i] = thread.blend(x[i], np.int64(4))


@case(lambda x: (x + 4) / 2, dtype="float64")
def blended_floats(x, out):
    i = cuda.grid(1)
    out[i] = thread.blend(x[i], 4.0)


@case(lambda x: x - 5)
def difference(x, out):
    i = cuda.grid(1)
    out[i] = thread.difference(x[i], np.int64(5))


@case(lambda x: x * 2.0, dtype="float64")
def scaled(x, out):
    i = cuda.grid(1)
    out[i] = thread.scaled(x[i])


@case(lambda x: x + 3)
def offset(x, out):
    i = cuda.grid(1)
    out[i] = thread.offset(x[i])


@case(lambda x: x * 10)
def weighted(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * thread.weight(1)


@case(lambda x: x + np.arange(x.size))
def positioned(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + thread.position(cuda.threadIdx.x, BLOCK)


@case(lambda x: np.maximum(x - 4, 0))
def guarded(x, out):
    i = cuda.grid(1)
    out[i] = thread.guarded(x[i] - 4)


@case(lambda x: x + x)
def by_an_intrinsic(x, out):
    i = cuda.grid(1)
    out[i] = thread.twice(x[i])


@case(lambda x: (x * 100) & 255)
def inlined(x, out):
    i = cuda.grid(1)
    out[i] = thread.low_bits(x[i] * 100)


@case(lambda x: x + 7)
def imported_late(x, out):
    i = cuda.grid(1)
    out[i] = thread.lazily(x[i])


@case(lambda x: x + 11)
def remembered(x, out):
    i = cuda.grid(1)
    out[i] = thread.remembered(x[i])


@case(lambda x: x + 40, more=(40,))
def a_number_of_the_launch(x, out, number):
    i = cuda.grid(1)
    out[i] = thread.item_of_launch(x[i])


@case(lambda x: thread_and_block(x))
def of_thread_and_block(x, out):
    i = cuda.grid(1)
    out[i] = block.sum(thread.twice(x[i])) + thread.offset(x[i])


def thread_and_block(x: Any) -> Any:
    """Return what of_thread_and_block makes of a block."""
    return 2 * x.sum() + x + 3


@case(lambda x: x + (x < 5), more=(records.Span(1.0, 4.0),))
def packed_by_the_library(x, out, span):
    i = cuda.grid(1)
    out[i] = x[i] + (1 if span.end == 5.0 and x[i] < span.end else 0)


@case(lambda x: x + 6.0 + 9.0 + 3.0, dtype="float64", more=(records.Metre(3.0),))
def a_quantity(x, out, length):
    i = cuda.grid(1)
    out[i] = x[i] + length.doubled() + length.squared + length.metre


@case(lambda x: x + 3.5, dtype="float64", more=(records.Second(1.5), records.Second(2.0)))
def a_sum_of_quantities(x, out, first, second):
    i = cuda.grid(1)
    out[i] = x[i] + (first + second)


@case(lambda x: x + 4, more=(records.Tag("four"),))
def a_type_by_name(x, out, tag):
    i = cuda.grid(1)
    out[i] = x[i] + tag.letters


@case(lambda x: x + 3, more=(7, records.WANTED), stored=False)
def an_argument_by_identity(x, out, number, wanted):
    i = cuda.grid(1)
    out[i] = x[i] + records.index_of_wanted(wanted)


def values(name: str) -> Any:
    """Return the x of a case."""
    return np.random.default_rng(len(name)).integers(0, 12, COUNT).astype(CASES[name].dtype)


def launched(name: str) -> dict[str, Any]:
    """Launch a case once, and return what became of it."""
    found = CASES[name]
    x = values(name)
    out = np.zeros(COUNT, x.dtype)
    before = len(packing.LAUNCHES)
    found.kernel[GRID, found.block](x, out, *found.more)
    parts = [x[first : first + BLOCK] for first in range(0, COUNT, BLOCK)]
    expected = np.concatenate([np.broadcast_to(found.expected(part), BLOCK) for part in parts])
    return {
        "right": bool(np.array_equal(out, expected.astype(x.dtype))),
        "out": out.tolist(),
        "compiles": found.kernel.stats.compiles,
        "hooks": packing.LAUNCHES[before:],
        "hooks expected": found.hooks,
        "stored": found.stored,
        "story": found.kernel.explain(),
    }


def attempted(name: str) -> dict[str, Any]:
    """Return what launched returns, or the error."""
    try:
        return launched(name)
    except Exception as error:
        story = f"{type(error).__name__}: {error}"
        return {
            "right": False,
            "out": [],
            "compiles": -1,
            "hooks": [],
            "hooks expected": 0,
            "stored": True,
            "story": story,
        }


def set_up() -> None:
    """Register the library, unless that is left to gridjit, and set its settings."""
    from blockwise import _settings

    if os.environ.get("REGISTER") != "no":
        blockwise.register()
    for setting, value in json.loads(os.environ.get("SETTINGS", "{}")).items():
        before = getattr(_settings, setting)
        made = tuple(value) if isinstance(value, list) else value
        setattr(_settings, setting, _settings.Order[value] if isinstance(before, _settings.Order) else made)


def main() -> None:
    """Launch cases and print what became of them."""
    set_up()
    print(json.dumps({name: attempted(name) for name in sys.argv[1:] or CASES}))


if __name__ == "__main__":
    main()
