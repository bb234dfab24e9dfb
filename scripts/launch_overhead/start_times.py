"""start_times: a program that takes one process from its start to its first result, and writes how long each step took.

    python -m launch_overhead.start_times gridjit|numba-cuda STARTED OUTPUT [cuda|host]

STARTED: time.monotonic() just before the process was started. The driver's context is made first, by itself, so that
its time is known. Two kernels are launched; both are in the cache on disk if this program has run before.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

_now = time.monotonic
cuda: Any = None  # the module that kernels name, once it is imported


def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def scale(x, a):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a


def main() -> None:
    """Run and write milliseconds by step."""
    global cuda
    who, started, output, *rest = sys.argv[1:]
    target = rest[0] if rest else "cuda"
    marks = [("interpreter", float(started)), ("context", _now())]
    if target == "cuda":
        _make_context()
    marks.append(("import numpy", _now()))
    import numpy as np

    marks.append((f"import {who}", _now()))
    cuda = _import(who)
    marks.append(("decorate", _now()))
    jit = _jit(who)
    first, second = jit(saxpy), jit(scale)
    marks.append(("arrays to the device", _now()))
    to_device = _to_device(who)
    x, y = to_device(np.ones(1000, np.float32)), to_device(np.ones(1000, np.float32))
    marks.append(("first launch", _now()))
    first[8, 128](x, y, 2.0)
    marks.append(("result to the host", _now()))
    result = y.copy_to_host()
    assert (result == 3).all()
    done = _now()
    second[8, 128](y, 2.0)
    second_done = _now()
    assert (y.copy_to_host() == 6).all()
    ends = [at for _, at in marks[1:]] + [done]
    steps = {name: (end - at) * 1e3 for (name, at), end in zip(marks, ends, strict=True)}
    steps["all"] = (done - float(started)) * 1e3
    steps["all less context"] = steps["all"] - steps["context"]
    steps["second kernel's launch"] = (second_done - done) * 1e3
    steps["compiles"] = _compiles(who, first, second)
    with open(output, "w") as file:
        json.dump(steps, file)


def _make_context() -> None:
    import ctypes

    library = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    codes = (
        library.cuInit(0),
        library.cuDeviceGet(ctypes.byref(device), 0),
        library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        library.cuCtxSetCurrent(context),
    )
    if any(codes):
        raise SystemExit(f"the driver's context could not be made (errors {codes})")


def _import(who: str) -> Any:
    if who == "gridjit":
        import gridjit.cuda

        return gridjit.cuda
    import numba.cuda

    return numba.cuda


def _jit(who: str) -> Any:
    if who == "gridjit":
        import gridjit

        return gridjit.jit
    return cuda.jit(cache=True)


def _to_device(who: str) -> Any:
    if who == "gridjit":
        from gridjit.runtime.arrays.create import to_device

        return to_device
    return cuda.to_device


def _compiles(who: str, *kernels: Any) -> int:
    if who == "gridjit":
        return sum(kernel.stats.compiles for kernel in kernels)
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)


if __name__ == "__main__":
    main()
