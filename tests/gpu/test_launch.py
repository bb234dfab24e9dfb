"""Loading and launching on a real GPU."""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading

import numpy as np
import pytest

from gridjit import cuda
from gridjit.compiler.values.errors import ConfigError, LaunchError, LinkError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.numba_names.overload import held_attributes
from gridjit.runtime.process.current import create_stream

pytestmark = pytest.mark.gpu
VECTOR = "void(float32[::1], float32[::1], float32)"


def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def last_of_shared(out):
    tile = cuda.shared.array(0, np.int32)
    tile[out[0] + cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[1 + cuda.threadIdx.x] = tile[out[0] + cuda.threadIdx.x]


def last_of_a_static_array(out):
    tile = cuda.shared.array(200 << 8, np.int32)
    tile[(200 << 8) - 32 + cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[31 - cuda.threadIdx.x] = tile[(200 << 8) - 32 + cuda.threadIdx.x]


def grid_sync(out):
    i = cuda.grid(1)
    out[i] = i
    cuda.cg.this_grid().sync()
    if i == 0:
        total = 0
        for k in range(out.size):
            total += out[k]
        out[0] = total


def block_index(out):
    out[cuda.blockIdx.x] = cuda.blockIdx.x


def nothing():
    pass


def refuses_without_parameters():
    if cuda.grid(1) == 5:
        raise ValueError("the sixth thread")


def picky(x, refused):
    i = cuda.grid(1)
    if i == refused:
        raise ValueError("not this one")
    x[i] = 10 // (i - 100)


def holding(values):
    """Return a function whose threads hold so many values at once."""
    reads = "".join(f"    v{k} = x[i + {k}]\n" for k in range(values))
    writes = "".join(f"    x[i + {k}] = v{values - 1 - k}\n" for k in range(values))
    names = {"cuda": cuda}
    exec(f"def hold(x):\n    i = cuda.grid(1) * {values}\n{reads}    cuda.syncthreads()\n{writes}", names)
    return names["hold"]


def saxpy_case(device, n=1000):
    x = np.linspace(0, 1, n, dtype=np.float32)
    return x, to_device(x, space=device.space), to_device(np.ones(n, np.float32), space=device.space)


def test_a_kernel_computes(device, compiled, packed):
    kernel = compiled(saxpy, VECTOR)
    x, on_x, on_y = saxpy_case(device)
    kernel.launch(LaunchConfig.of(8, 128), 0, 0, packed(kernel, on_x, on_y, 3.0))
    assert np.allclose(on_y.copy_to_host(), 1 + 3 * x)


def test_a_kernel_without_parameters_runs(compiled):
    kernel = compiled(refuses_without_parameters, "void()", debug=True, opt=False)
    kernel.launch(LaunchConfig.of(1, 4), 0, 0, b"")
    with pytest.raises(ValueError, match=r"tid=\[1, 0, 0\] ctaid=\[1, 0, 0\]: the sixth thread"):
        kernel.launch(LaunchConfig.of(2, 4), 0, 0, b"")


def test_the_launch_function_takes_the_kernel_and_a_packed_buffer_by_address(device, compiled, packed):
    kernel = compiled(saxpy, VECTOR)
    x, on_x, on_y = saxpy_case(device)
    parameters = ctypes.create_string_buffer(packed(kernel, on_x, on_y, 3.0))
    size = ctypes.c_size_t(len(parameters) - 1)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(parameters), 2, ctypes.addressof(size), 0)
    u32, pointer = ctypes.c_uint32, ctypes.c_void_p
    launch = ctypes.CFUNCTYPE(ctypes.c_int, pointer, *[u32] * 7, pointer, pointer, pointer)(kernel.driver_function)
    assert launch(kernel.handle, 8, 1, 1, 128, 1, 1, 0, None, None, ctypes.addressof(extra)) == 0
    assert np.allclose(on_y.copy_to_host(), 1 + 3 * x)


def test_threads_that_never_saw_the_device_can_launch(device, compiled, packed):
    kernel = compiled(saxpy, VECTOR)
    x, on_x, on_y = saxpy_case(device)
    failures = []

    def work():
        try:
            kernel.launch(LaunchConfig.of(8, 128), 0, 0, packed(kernel, on_x, on_y, 1.0))
        except Exception as error:
            failures.append(error)

    for _ in range(4):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failures
    assert np.allclose(on_y.copy_to_host(), 1 + 4 * x)


@pytest.mark.parametrize("kilobytes", [16, 48, 64, 200])
def test_dynamic_shared_memory_of_any_size_the_device_has(device, compiled, packed, kilobytes):
    kernel = compiled(last_of_shared, "void(int32[::1])")
    out = to_device(np.full(33, kilobytes * 256 - 32, np.int32), space=device.space)
    kernel.launch(LaunchConfig.of(1, 32), 0, kilobytes << 10, packed(kernel, out))
    assert out.copy_to_host()[1:].tolist() == list(range(32))


def test_static_shared_memory_may_take_all_that_a_block_has_from_sm_90_on(device, compiled, packed):
    if device.compute_capability < (9, 0) or device.max_shared_bytes < 200 << 10:
        with pytest.raises(LinkError, match="shared arrays need 204,800 bytes"):
            compiled(last_of_a_static_array, "void(int32[::1])")
        return
    kernel = compiled(last_of_a_static_array, "void(int32[::1])")
    out = device_array(32, np.int32, space=device.space)
    kernel.launch(LaunchConfig.of(1, 32), 0, 0, packed(kernel, out))
    assert out.copy_to_host().tolist() == list(range(31, -1, -1))


def test_more_shared_memory_than_the_device_has_is_refused(compiled):
    kernel = compiled(last_of_shared, "void(int32[::1])")
    with pytest.raises(ConfigError, match="bytes of static and"):
        kernel.launch(LaunchConfig.of(1, 32), 0, 1 << 20, b"")


def test_a_grid_can_be_synchronized(device, compiled, packed):
    kernel = compiled(grid_sync, "void(int64[::1])")
    out = device_array(64 * 32, np.int64, space=device.space)
    kernel.launch(LaunchConfig.of(64, 32), 0, 0, packed(kernel, out))
    assert out.copy_to_host()[0] == sum(range(64 * 32))


def test_a_cooperative_grid_that_does_not_fit_says_what_would(device, compiled, packed):
    kernel = compiled(grid_sync, "void(int64[::1])")
    out = device_array(1, np.int64, space=device.space)
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE.*at most \d+ blocks of 1024"):
        kernel.launch(LaunchConfig.of(1_000_000, 1024), 0, 0, packed(kernel, out))


@pytest.mark.parametrize("cluster", [1, 2, 8, 16])
def test_a_grid_of_clusters_of_any_size_runs_each_block_once(device, compiled, packed, cluster):
    if device.compute_capability < (9, 0) or device.max_shared_bytes < 200 << 10:
        pytest.skip("clusters need sm_90 or newer")
    kernel = compiled(block_index, "void(int64[::1])")
    out = device_array(32, np.int64, space=device.space)
    kernel.launch(LaunchConfig.of(32, 32, cluster=cluster), 0, 0, packed(kernel, out))
    assert out.copy_to_host().tolist() == list(range(32))


def test_a_block_with_too_many_threads_for_its_kernel_says_so(compiled):
    kernel = compiled(nothing, "void()", launch_bounds=(64,))
    with pytest.raises(LaunchError, match=r"nothing \[grid 1, block 128\]: CUDA_ERROR_\w+ .*at most 64"):
        kernel.launch(LaunchConfig.of(1, 128), 0, 0, b"")


def test_the_driver_and_the_artifact_agree_on_what_a_kernel_uses(compiled):
    kernel = compiled(saxpy, VECTOR)
    uses, known = kernel.attributes(), kernel.artifact.resources
    assert (uses.registers, uses.shared_bytes, uses.local_bytes) == (
        known["registers"],
        known["shared_bytes"],
        known["local_bytes"],
    )


@pytest.mark.parametrize("values", [1, 40, 70, 100, 150, 200])
def test_the_artifact_says_what_the_driver_does_of_registers_and_the_threads_of_a_block(compiled, values):
    kernel = compiled(holding(values), "void(float32[::1])")
    assert held_attributes(kernel.artifact) == kernel.attributes()


def test_a_proposed_block_is_of_whole_warps_within_the_limit_and_what_is_resident_fits(device, compiled):
    kernel = compiled(saxpy, VECTOR)
    assert kernel.potential_block() % 32 == 0
    assert kernel.potential_block(limit=96) <= 96
    threads = device.attribute("MAX_THREADS_PER_MULTIPROCESSOR")
    assert 0 < kernel.active_blocks(128) * 128 <= threads


def test_loading_and_dropping_a_thousand_kernels_leaks_nothing(device, compiled):
    artifact, free = compiled(nothing, "void()").artifact, []
    for _ in range(6):
        for _ in range(1000):
            device.load(artifact).launch(LaunchConfig.of(1, 1), 0, 0, b"")
        device.synchronize()
        gc.collect()
        free.append(device.driver.call("cuMemGetInfo")[0])
    # A leak takes memory each time. The contexts and arrays of other processes, which come and go meanwhile, do not.
    assert min(before - after for before, after in itertools.pairwise(free)) < 8 << 20


def test_a_debug_kernel_raises_with_block_and_thread_and_can_go_on(device, compiled, packed):
    kernel = compiled(picky, "void(int64[::1], int64)", debug=True, opt=False)
    out = device_array(128, np.int64, space=device.space)
    place = r"In function 'picky', .*picky, tid=\[3, 0, 0\] ctaid=\[1, 0, 0\]"
    with pytest.raises(ValueError, match=f"{place}: not this one"):
        kernel.launch(LaunchConfig.of(2, 32), 0, 0, packed(kernel, out, 35))
    with pytest.raises(ZeroDivisionError, match=r"tid=\[4, 0, 0\] ctaid=\[3, 0, 0\]"):
        kernel.launch(LaunchConfig.of(4, 32), 0, 0, packed(kernel, out, -1))
    kernel.launch(LaunchConfig.of(2, 32), 0, 0, packed(kernel, out, -1))
    assert out.copy_to_host()[99 - 64] == 10 // (99 - 64 - 100)


SPOIL = """
import numpy as np
import struct
import gridjit
from gridjit import cuda
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.device import current_device

source = '''
def spoil(x):
    x[cuda.grid(1)] = 1
'''
import linecache
linecache.cache['spoil.py'] = (len(source), None, source.splitlines(True), 'spoil.py')
exec(compile(source, 'spoil.py', 'exec'))
device = current_device()
artifact = gridjit.jit(spoil, cache=False).compile('void(int64[::1])', target=device.target.arch)
kernel = device.load(artifact)
parameters = struct.pack(artifact.parameters, 0, 0, 1 << 40, 8, 0x10, 1 << 40, 8)
kernel.launch(LaunchConfig.of(3, 32), 0, 0, parameters)
try:
    device.synchronize()
except gridjit.LaunchError as error:
    print(error)
"""


def test_what_a_kernel_did_is_told_with_its_name(run_program):
    done = run_program(SPOIL)
    assert done.returncode == 0, done.stderr
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert "launched last: __main__.spoil [grid 3, block 32]" in done.stdout


def test_launches_are_captured_into_a_graph(device, compiled, packed):
    kernel = compiled(saxpy, VECTOR)
    x, on_x, on_y = saxpy_case(device)
    parameters = packed(kernel, on_x, on_y, 1.0)
    doomed = device_array(10, space=device.space)
    kernel.launch(LaunchConfig.of(8, 128), 0, 0, parameters)
    api = device.driver.api
    with create_stream(timeline=device.timeline) as stream:
        device.driver.call("cuStreamBeginCapture", stream.handle, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
        assert stream.is_capturing()
        kernel.launch(LaunchConfig.of(8, 128), stream, 0, parameters)
        del doomed
        gc.collect()
        with pytest.raises(LaunchError, match="make it before"):
            device_array(10, space=device.space)
        with pytest.raises(LaunchError, match="make it before"):
            device_array(10, stream=stream, space=device.space)
        graph = device.driver.call("cuStreamEndCapture", stream.handle)
        runnable = device.driver.call("cuGraphInstantiate", graph, 0)
        for _ in range(3):
            device.driver.call("cuGraphLaunch", runnable, stream.handle)
    assert np.allclose(on_y.copy_to_host(), 1 + 4 * x)
