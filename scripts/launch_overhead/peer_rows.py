"""peer_rows: a program that times one peer's launches - numba-cuda, CuPy, Triton or cuda.core - and writes the rows."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from launch_overhead.device import floor_of
from launch_overhead.kernels import TAKING, scalars, signature
from launch_overhead.timing import COUNTS, Case, calls, indexed_calls, measure


def main() -> None:
    """Measure one peer and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True, choices=PEERS)
    parser.add_argument("--loops", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--floor")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cases, synchronize = PEERS[given.name]()
    rows = measure(list(cases), floor_of(given.floor), synchronize, given.loops, given.repeats)
    kept = [row.as_json() for row in rows if row.who != "floor"]
    given.output.write_text(json.dumps({"rows": kept, "left_out": []}))


Peer = tuple[Iterator[Case], Callable[[], None]]


def numba_cuda() -> Peer:
    """numba-cuda's own device arrays, torch tensors, CuPy arrays and scalars; with and without a signature."""
    from numba import cuda

    def cases() -> Iterator[Case]:
        made: dict[str, Callable[[int], list[Any]]] = {
            "scalars": scalars,
            "own arrays": lambda count: [cuda.to_device(np.ones(8, np.float32)) for _ in range(count)],
        }
        for what, package in (("torch tensors", "torch"), ("CuPy arrays", "cupy")):
            if (make := _arrays_of(package)) is not None:
                made[what] = make
        for what, make in made.items():
            for count in (0, 1, 4, 26) if what == "scalars" else (1, 4, 26):
                for given in ("lazy", "eager"):
                    # A signature with C-contiguous arrays, as its users write it.
                    kernel = (cuda.jit if given == "lazy" else cuda.jit(signature(what, count)))(TAKING[count])
                    yield from _both("numba-cuda", what, count, kernel, make(count), given)

    return cases(), cuda.synchronize


def cupy_raw() -> Peer:
    """CuPy's RawKernel with CuPy arrays and scalars."""
    import cupy

    def cases() -> Iterator[Case]:
        for what in ("CuPy arrays", "scalars"):
            for count in COUNTS if what == "scalars" else COUNTS[1:]:
                kernel = cupy.RawKernel(_c_source(what, count), "take")
                values = scalars(count) if what == "scalars" else [cupy.ones(8, cupy.float32) for _ in range(count)]

                def launch(times: int, kernel: Any = kernel, values: tuple[Any, ...] = tuple(values)) -> None:
                    grid, block = (1,), (1,)
                    for _ in range(times):
                        kernel(grid, block, values)

                yield Case(who="CuPy RawKernel", what=what, count=count, how="each", words=count, launch=launch)

    return cases(), cupy.cuda.Device().synchronize


def triton() -> Peer:
    """Triton's jit with torch tensors and scalars."""
    import torch
    import triton as compiler

    def cases() -> Iterator[Case]:
        for what in ("torch tensors", "scalars"):
            for count in COUNTS if what == "scalars" else COUNTS[1:]:
                kernel = compiler.jit(TAKING[count])
                on = [torch.ones(8, device="cuda") for _ in range(count)]
                values = scalars(count) if what == "scalars" else on
                launch = _triton_loop(kernel, values)
                yield Case(who="Triton", what=what, count=count, how="each", words=count, launch=launch)

    return cases(), torch.cuda.synchronize


def _triton_loop(kernel: Any, values: list[Any]) -> Callable[[int], None]:
    grid = (1,)

    def launch(times: int) -> None:
        for _ in range(times):
            kernel[grid](*values)

    return launch


def cuda_core() -> Peer:
    """cuda.core's launch with ints for pointers, and with scalars."""
    from cuda import core
    from cuda.bindings import driver

    # The program, the launch and the configuration were experimental before cuda.core 1.0.
    if not hasattr(core, "launch"):
        from cuda.core import experimental as core
    device = core.Device()
    device.set_current()
    stream = device.default_stream
    config = core.LaunchConfig(grid=1, block=1)
    options = core.ProgramOptions(std="c++17", arch=f"sm_{device.arch}")

    def cases() -> Iterator[Case]:
        for count in COUNTS:
            program = core.Program(_c_source("scalars", count), code_type="c++", options=options)
            kernel = program.compile("cubin").get_kernel("take")
            values = tuple(np.float64(v) if isinstance(v, float) else v for v in scalars(count))

            def start(times: int, kernel: Any = kernel, values: tuple[Any, ...] = values) -> None:
                launch = core.launch
                for _ in range(times):
                    launch(stream, config, kernel, *values)

            yield Case(who="cuda.core launch", what="scalars", count=count, words=count, launch=start)

    def synchronize() -> None:
        driver.cuCtxSynchronize()

    return cases(), synchronize


def _both(who: str, what: str, count: int, kernel: Any, values: list[Any], given: str) -> Iterator[Case]:
    for how, loop in (("once", calls(kernel[1, 1], values)), ("each", indexed_calls(kernel, values))):
        yield Case(who=who, what=what, count=count, how=how, signature=given, words=count, launch=loop)


def _arrays_of(package: str) -> Callable[[int], list[Any]] | None:
    try:
        if package == "torch":
            import torch

            return lambda count: [torch.ones(8, dtype=torch.float32, device="cuda") for _ in range(count)]
        import cupy
    except ImportError:
        return None
    return lambda count: [cupy.ones(8, dtype=cupy.float32) for _ in range(count)]


def _c_source(what: str, count: int) -> str:
    names = [f"a{index}" for index in range(count)]
    if what == "scalars":
        types = ["double" if isinstance(value, float) else "long long" for value in scalars(count)]
    else:
        types = ["float *"] * count
    parameters = ", ".join(f"{kind} {name}" for kind, name in zip(types, names, strict=True))
    return f'extern "C" __global__ void take({parameters}) {{}}'


PEERS = {"numba-cuda": numba_cuda, "CuPy": cupy_raw, "Triton": triton, "cuda.core": cuda_core}


if __name__ == "__main__":
    main()
