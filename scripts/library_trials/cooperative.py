"""Kernels of cuda-cccl's cooperative module, which registers overloads and intrinsics and links LTO-IR.

Its releases differ in where the module is, and in whether what makes an algorithm is called `sum` or `make_sum`.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gridjit import cuda
from library_trials.trial import Trial

PLACES = ("cuda.coop._experimental", "cuda.coop", "cuda.cccl.cooperative.experimental")
THREADS, ITEMS = 128, 4
DTYPES = ("int32", "uint64", "float32")


def trials() -> Iterator[Callable[[], Trial]]:
    """Yield what makes each trial; making one may fail, as the library compiles CUDA C++ in it."""
    module = _module()
    block, warp = _makers(module.block), _makers(module.warp)
    for dtype in DTYPES:
        yield lambda dtype=dtype: _reduction(f"block sum {dtype}", block("sum")(_type(dtype), THREADS), dtype, np.sum)  # type: ignore[misc]
        yield lambda dtype=dtype: _reduction(  # type: ignore[misc]
            f"block maximum {dtype}", block("reduce")(_type(dtype), THREADS, _larger), dtype, np.max
        )
        yield lambda dtype=dtype: _items(  # type: ignore[misc]
            f"block inclusive sum {dtype}", block("inclusive_sum")(_type(dtype), THREADS, ITEMS), dtype, np.cumsum
        )
        yield lambda dtype=dtype: _items(  # type: ignore[misc]
            f"block merge sort {dtype}",
            block("merge_sort_keys")(_type(dtype), THREADS, ITEMS, _before),
            dtype,
            np.sort,
            in_place=True,
        )
    yield from _more(module, block, warp)


def _more(module: Any, block: Callable[..., Any], warp: Callable[..., Any]) -> Iterator[Callable[[], Trial]]:
    def exclusive(x: Any) -> Any:
        return np.cumsum(x) - x

    i32 = _type("int32")
    for algorithm in ("raking", "raking_commutative_only", "warp_reductions"):
        yield lambda a=algorithm: _reduction(  # type: ignore[misc]
            f"block sum, {a}", block("sum")(i32, THREADS, algorithm=a), "int32", np.sum
        )
    for algorithm in ("raking", "raking_memoize", "warp_scans"):
        yield lambda a=algorithm: _items(  # type: ignore[misc]
            f"block exclusive sum, {a}",
            block("exclusive_sum")(i32, THREADS, ITEMS, algorithm=a),
            "int32",
            exclusive,
        )
    yield lambda: _items(
        "block radix sort", block("radix_sort_keys")(i32, THREADS, ITEMS), "int32", np.sort, in_place=True
    )
    yield lambda: _items(
        "block radix sort descending",
        block("radix_sort_keys_descending")(i32, THREADS, ITEMS),
        "int32",
        lambda x: np.sort(x)[::-1],
        in_place=True,
    )
    yield lambda: _reduction("block sum in 3 dimensions", block("sum")(i32, (8, 4, 4)), "int32", np.sum, (8, 4, 4))
    yield lambda: _loaded(block("load")(i32, THREADS, ITEMS, "striped"), block("store")(i32, THREADS, ITEMS, "striped"))
    yield lambda: _exchanged(block("exchange")(module.block.BlockExchangeType.StripedToBlocked, i32, THREADS, ITEMS))
    yield lambda: _own_storage(block("sum")(i32, THREADS))
    yield lambda: _reduction("warp sum", warp("sum")(i32), "int32", np.sum, 32)
    yield lambda: _reduction("warp maximum", warp("reduce")(i32, _larger), "int32", np.max, 32)
    yield lambda: _scanned("warp exclusive sum", warp("exclusive_sum")(i32), exclusive)


def _module() -> Any:
    for place in PLACES:
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(place)
            if hasattr(module, "block"):
                return module
    raise SystemExit("this release has no cooperative module")


def _makers(module: Any) -> Callable[[str], Any]:
    return lambda name: getattr(module, f"make_{name}", None) or getattr(module, name)


def _type(dtype: str) -> Any:
    import numba

    return getattr(numba, dtype)


def _array(dtype: str) -> Any:
    return _type(dtype)[::1]


def _larger(a, b):  # type: ignore[no-untyped-def]
    return a if a > b else b


def _before(a, b):  # type: ignore[no-untyped-def]
    return a < b


def _inputs(dtype: str, count: int) -> Callable[[], tuple[Any, Any]]:
    # Small whole numbers: sums are exact in every order.
    values = np.random.default_rng(1).permutation(count).astype(dtype)
    return lambda: (values.copy(), np.zeros(count, dtype))


def _reduction(
    name: str, algorithm: Any, dtype: str, expected: Callable[..., Any], block: int | tuple[int, ...] = THREADS
) -> Trial:
    def kernel(x, out):  # type: ignore[no-untyped-def]
        thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
        result = algorithm(x[thread])
        if thread == 0:
            out[0] = result

    return Trial(
        name=name,
        kernel=kernel,
        signature=(_array(dtype), _array(dtype)),
        block=block,
        link=algorithm.files,
        arguments=_inputs(dtype, int(np.prod(block))),
        right=lambda x, out: out[0] == expected(x),
    )


def _items(name: str, algorithm: Any, dtype: str, expected: Callable[..., Any], in_place: bool = False) -> Trial:
    item = getattr(np, dtype)

    def kernel(x, out):  # type: ignore[no-untyped-def]
        items = cuda.local.array(ITEMS, item)
        first = cuda.threadIdx.x * ITEMS
        for i in range(ITEMS):
            items[i] = x[first + i]
        algorithm(items, items)
        for i in range(ITEMS):
            out[first + i] = items[i]

    def in_place_kernel(x, out):  # type: ignore[no-untyped-def]
        items = cuda.local.array(ITEMS, item)
        first = cuda.threadIdx.x * ITEMS
        for i in range(ITEMS):
            items[i] = x[first + i]
        algorithm(items)
        for i in range(ITEMS):
            out[first + i] = items[i]

    return Trial(
        name=name,
        kernel=in_place_kernel if in_place else kernel,
        signature=(_array(dtype), _array(dtype)),
        link=algorithm.files,
        arguments=_inputs(dtype, THREADS * ITEMS),
        right=lambda x, out: bool(np.array_equal(out, expected(x))),
    )


def _loaded(load: Any, store: Any) -> Trial:
    def kernel(x, out):  # type: ignore[no-untyped-def]
        items = cuda.local.array(ITEMS, np.int32)
        load(x, items)
        store(out, items)

    return Trial(
        name="block load and store",
        kernel=kernel,
        signature=(_array("int32"), _array("int32")),
        link=[*load.files, *store.files],
        arguments=_inputs("int32", THREADS * ITEMS),
        right=lambda x, out: bool(np.array_equal(out, x)),
    )


def _exchanged(exchange: Any) -> Trial:
    def kernel(x, out):  # type: ignore[no-untyped-def]
        items = cuda.local.array(ITEMS, np.int32)
        for i in range(ITEMS):
            items[i] = x[cuda.threadIdx.x + i * THREADS]
        exchange(items)
        for i in range(ITEMS):
            out[cuda.threadIdx.x * ITEMS + i] = items[i]

    return Trial(
        name="block exchange",
        kernel=kernel,
        signature=(_array("int32"), _array("int32")),
        link=exchange.files,
        arguments=_inputs("int32", THREADS * ITEMS),
        right=lambda x, out: bool(np.array_equal(out, x)),
    )


def _own_storage(algorithm: Any) -> Trial:
    storage_bytes = algorithm.temp_storage_bytes

    def kernel(x, out):  # type: ignore[no-untyped-def]
        storage = cuda.shared.array(storage_bytes, np.uint8)
        result = algorithm(storage, x[cuda.threadIdx.x])
        if cuda.threadIdx.x == 0:
            out[0] = result

    return Trial(
        name="block sum in storage of its own",
        kernel=kernel,
        signature=(_array("int32"), _array("int32")),
        link=algorithm.files,
        arguments=_inputs("int32", THREADS),
        right=lambda x, out: out[0] == x.sum(),
    )


def _scanned(name: str, algorithm: Any, expected: Callable[..., Any]) -> Trial:
    def kernel(x, out):  # type: ignore[no-untyped-def]
        out[cuda.threadIdx.x] = algorithm(x[cuda.threadIdx.x])

    return Trial(
        name=name,
        kernel=kernel,
        signature=(_array("int32"), _array("int32")),
        block=32,
        link=algorithm.files,
        arguments=_inputs("int32", 32),
        right=lambda x, out: bool(np.array_equal(out, expected(x))),
    )
