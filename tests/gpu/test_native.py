"""Native launches on a real GPU: in every context, after a reset, and of CuPy's arrays."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.process.current import create_stream
from gridjit.runtime.process.session import session

pytestmark = pytest.mark.gpu


def ignore(value):
    pass


def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@pytest.fixture
def other_context() -> Iterator[int]:
    """Make another context on the device the calling thread's."""
    library = ctypes.CDLL("libcuda.so.1")
    session().device("cuda").make_current()  # type: ignore[attr-defined]
    context = ctypes.c_void_p()
    assert library.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    yield context.value or 0
    assert library.cuCtxDestroy_v2(context) == 0


def table_count(kernel: Any) -> int:
    return kernel[1, 1].launcher.native._count


def test_a_kernel_is_launched_by_each_contexts_own_function(other_context: int) -> None:
    library = ctypes.CDLL("libcuda.so.1")
    kernel = gridjit.jit(ignore)
    primary = session().device("cuda").context  # type: ignore[attr-defined]
    for _ in range(3):
        for context in (primary, other_context):
            assert library.cuCtxSetCurrent(ctypes.c_void_p(context)) == 0
            for value in range(3):
                kernel[1, 1](value)
            assert library.cuCtxSynchronize() == 0
    assert table_count(kernel) == 2
    assert library.cuCtxSetCurrent(ctypes.c_void_p(primary)) == 0


def test_launches_go_on_after_the_context_was_reset() -> None:
    program = """
        import ctypes, numpy as np, gridjit
        from gridjit import cuda

        @gridjit.jit
        def fill(out, value):
            out[0] = value

        library = ctypes.CDLL("libcuda.so.1")
        out = cuda.to_device(np.zeros(1, np.int32))
        for value in range(3):
            fill[1, 1](out, value)
        cuda.synchronize()
        assert library.cuDevicePrimaryCtxReset_v2(0) == 0

        @gridjit.jit
        def nothing(value):
            pass

        for value in range(3):
            nothing[1, 1](value)
        out = cuda.to_device(np.zeros(1, np.int32))
        for value in range(3, 6):
            fill[1, 1](out, value)
        print(int(out.copy_to_host()[0]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["5"]), done.stderr


def test_cupy_arrays_are_read_as_they_are() -> None:
    cupy: Any = pytest.importorskip("cupy", reason="CuPy is not installed")
    values = cupy.arange(48, dtype=np.float32)
    for x in (values, values[::2], values[1:], values[::-1], values.reshape(6, 8)[:, 3], values[:0]):
        kernel = gridjit.jit(double)
        for _ in range(3):
            y = cupy.zeros(x.size, np.float32)
            kernel[1, 64](x, y)
        assert (y == 2 * x).all()
        assert kernel[1, 64].launcher.fast is not None


def test_cupys_work_in_another_stream_is_waited_for() -> None:
    cupy: Any = pytest.importorskip("cupy", reason="CuPy is not installed")
    kernel = gridjit.jit(double)
    mine = create_stream(nonblocking=True)
    x, y = cupy.zeros(1 << 22, np.float32), cupy.zeros(1 << 22, np.float32)
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        for number in range(1, 20):
            for _ in range(20):
                x *= 1
            x.fill(number)
            kernel[1 << 14, 256, mine](x, y)
            mine.synchronize()
            assert float(y.min()) == float(y.max()) == 2 * number
        theirs.synchronize()


def test_a_launch_in_cupys_own_stream_is_native() -> None:
    cupy: Any = pytest.importorskip("cupy", reason="CuPy is not installed")
    kernel = gridjit.jit(double)
    x, y = cupy.ones(64, np.float32), cupy.zeros(64, np.float32)
    with cupy.cuda.Stream() as stream:
        kernel[1, 64, stream](x, y)
        assert kernel[1, 64, stream].launcher.fast is not None
        kernel[1, 64, stream](x, y)
        stream.synchronize()
    assert (y == 2).all()


def test_what_a_native_launch_did_is_told_with_its_kernels_name() -> None:
    program = """
        import numpy as np, gridjit
        from gridjit import cuda

        @gridjit.jit
        def harmless(x):
            x[0] = 0

        @gridjit.jit
        def spoil(x, place):
            x[place] = 1

        x = cuda.to_device(np.zeros(4, np.int64))
        for _ in range(3):
            spoil[2, 32](x, 0)
            harmless[1, 1](x)
        cuda.synchronize()
        spoil[2, 32](x, 1 << 40)
        assert spoil[2, 32].launcher.fast is not None
        try:
            cuda.synchronize()
        except gridjit.LaunchError as error:
            print(error)
        try:
            harmless[1, 1](x)
        except gridjit.LaunchError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    waited, launched = done.stdout.splitlines()
    assert waited.endswith("launched last: __main__.spoil [grid 2, block 32]"), waited
    assert "found while launching __main__.harmless [grid 1, block 1]; launched last: __main__.spoil" in launched


def test_own_arrays_launch_natively_with_much_shared_memory() -> None:
    x, y = to_device(np.ones(8, np.float32)), to_device(np.zeros(8, np.float32))
    configured = gridjit.jit(double)[1, 32, 0, 100 << 10]
    for _ in range(3):
        configured(x, y)
    assert configured.launcher.fast is not None
    assert (y.copy_to_host() == 2).all()
