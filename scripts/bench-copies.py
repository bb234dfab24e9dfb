#!/usr/bin/env python
"""Print the bandwidth of copies between views on the GPU, beside that of a plain copy in the same run.

A copy's bytes count twice: read and written. The last column is its share of the plain copy's bandwidth; the goal for a
transposed array of 4096 x 4096 float32 is 0.70. Also: what the first copy by a kernel takes, which the driver finishes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import gridjit
from gridjit import cuda

SIDE, ROUNDS = 4096, 20


def seconds(copy: Callable[[gridjit.Stream], None], stream: gridjit.Stream) -> float:
    """Return what the device takes for a copy, at best of some."""
    best = float("inf")
    for _ in range(5):
        with gridjit.create_event() as start, gridjit.create_event() as end:
            start.record(stream)
            for _ in range(ROUNDS):
                copy(stream)
            end.record(stream).synchronize()
            best = min(best, float(start.elapsed_time(end)) / ROUNDS / 1e3)
    return best


def row(name: str, to: cuda.DeviceNDArray, of: cuda.DeviceNDArray, stream: gridjit.Stream, plain: float) -> float:
    """Measure a copy, print it, and return its bandwidth in GB/s."""

    def copy(stream: gridjit.Stream) -> None:
        to.copy_to_device(of, stream)

    begun = time.perf_counter()
    copy(stream)
    stream.synchronize()
    first = time.perf_counter() - begun
    found = float(2 * to.nbytes / seconds(copy, stream) / 1e9)
    share = found / plain if plain else 1.0
    print(f"{name:44} {found:8.0f} GB/s   first {first * 1e3:7.2f} ms   of a plain copy {share:.2f}")
    return found


def main() -> None:
    """Measure, and print."""
    stream = gridjit.create_stream(nonblocking=True)
    for dtype in (np.float32, np.int8, np.int16, np.float64, np.complex128):
        items = cuda.to_device(np.zeros((SIDE, SIDE), dtype))
        out = cuda.device_array((SIDE, SIDE), dtype)
        cuda.synchronize()
        name = np.dtype(dtype).name
        plain = row(f"{name}, plain", out, items, stream, 0)
        row(f"{name}, transposed", out, items.T, stream, plain)
        row(f"{name}, into a transposed", out.T, items, stream, plain)
        row(f"{name}, rows of half the width", out[:, : SIDE // 2], items[:, SIDE // 2 :], stream, plain)
        row(f"{name}, every second column", out[:, ::2], items[:, 1::2], stream, plain)
        row(f"{name}, both axes reversed", out, items[::-1, ::-1], stream, plain)
        cube_in, cube_out = items.reshape(256, 256, 256), out.reshape(256, 256, 256)
        row(f"{name}, axes (2, 0, 1) of a cube", cube_out, cube_in.transpose(2, 0, 1), stream, plain)
        row(f"{name}, axes (1, 0, 2) of a cube", cube_out, cube_in.transpose(1, 0, 2), stream, plain)
        row(f"{name}, planes of a cube", cube_out[:, :128, :128], cube_in[:, 64:192, 64:192], stream, plain)


if __name__ == "__main__":
    main()
