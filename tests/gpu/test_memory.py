"""Device memory on a real GPU."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pytest

from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.arrays.create import (
    as_device_array,
    device_array,
    mapped_array,
    pinned,
    pinned_array,
    to_device,
)
from gridjit.runtime.process.current import create_stream
from tests.views import check_copies_of_a_view

pytestmark = pytest.mark.gpu
CUBE = np.arange(20 * 30 * 40, dtype=np.int32).reshape(20, 30, 40)
SLICES = [np.s_[:], np.s_[::3], np.s_[::-1], np.s_[5:17]]


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("key", list(itertools.product(SLICES, repeat=3)))
def test_any_view_is_copied_right_both_ways(device, axes, key):
    check_copies_of_a_view(device.space, CUBE, axes, key)


@pytest.mark.parametrize("pinned", [False, True])
def test_copies_in_a_stream_are_in_order(device, pinned):
    values = pinned_array(1 << 20, np.float64, space=device.space) if pinned else np.empty(1 << 20)
    values[:] = np.arange(1 << 20)
    out = pinned_array(1 << 20, np.float64, space=device.space) if pinned else np.empty(1 << 20)
    with create_stream(timeline=device.timeline) as stream:
        there = to_device(values, stream, space=device.space)
        other = device_array(1 << 20, stream=stream, space=device.space)
        other.copy_to_device(there)
        other.copy_to_host(out)
        stream.synchronize()
        assert np.array_equal(out, values)


@pytest.mark.parametrize("dtype", ["c16", "f2", "M8[ns]", [("x", "i4"), ("y", "f8", (2,))]])
def test_any_item_type_is_copied(device, dtype):
    values = np.frombuffer(np.random.default_rng(0).bytes(np.dtype(dtype).itemsize * 50), dtype)
    assert to_device(values, space=device.space).copy_to_host().tobytes() == values.tobytes()


def test_more_memory_than_there_is_says_what_to_do(device):
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_OUT_OF_MEMORY .* drop device arrays"):
        device_array(1 << 50, np.uint8, space=device.space)
    assert device_array(10, space=device.space).copy_to_host().shape == (10,)


def test_dropped_arrays_give_their_memory_back(device):
    device.synchronize()
    free, _ = device.driver.call("cuMemGetInfo")
    for _ in range(50):
        device_array(1 << 30, np.uint8, space=device.space)
    device.synchronize()
    assert free - device.driver.call("cuMemGetInfo")[0] < 3 << 30


def test_mapped_and_pinned_arrays(device):
    mapped = mapped_array(1000, np.int64, space=device.space)
    mapped[:] = np.arange(1000)
    assert np.array_equal(as_device_array(mapped, space=device.space).copy_to_host(), np.arange(1000))
    values = np.arange(1 << 16)
    with pinned(values, space=device.space), create_stream(timeline=device.timeline) as stream:
        there = to_device(values, stream, space=device.space)
        assert np.array_equal(there.copy_to_host(), np.arange(1 << 16))


def test_cupy_and_this_share_memory(device):
    cupy = pytest.importorskip("cupy")
    ours = to_device(np.arange(12.0).reshape(3, 4), space=device.space)
    theirs = cupy.asarray(ours)
    theirs[:, 1:3] += 100
    expected = np.arange(12.0).reshape(3, 4)
    expected[:, 1:3] += 100
    assert np.array_equal(ours.copy_to_host(), expected)
    view = as_device_array(theirs.T[::-1, ::2], space=device.space)
    del theirs
    gc.collect()
    assert np.array_equal(view.copy_to_host(), expected.T[::-1, ::2])
    assert np.array_equal(cupy.asnumpy(cupy.from_dlpack(ours)), expected)


def test_torch_and_this_share_memory(device):
    torch = pytest.importorskip("torch")
    ours = to_device(np.arange(12.0).reshape(3, 4), space=device.space)
    theirs = torch.from_dlpack(ours.T)
    assert theirs.data_ptr() == ours.data
    theirs += 1
    torch.cuda.synchronize()
    assert np.array_equal(ours.copy_to_host(), np.arange(1.0, 13).reshape(3, 4))
    again = as_device_array(theirs, space=device.space)
    assert again.strides == ours.T.strides
    address = ours.data
    del ours, again
    gc.collect()
    assert theirs.sum().item() == 78
    assert theirs.data_ptr() == address


FIRST_ARRAYS = """
import sys
import numpy as np
if "others" in sys.argv:
    import ctypes
    library, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    codes = library.cuInit(0), library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert codes == (0, 0), codes
from gridjit import cuda
from gridjit.runtime.devices.cuda.device import current_device
sizes = [1, 100, 3000, 65536, 70000, 300000] * 20  # more than a slab has, and larger arrays between
arrays = [cuda.to_device(np.full(size, number, np.uint8)) for number, size in enumerate(sizes)]
assert (current_device().slab is None) == ("others" in sys.argv)
spans = sorted((array.data, array.data + array.size) for array in arrays)
assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
del arrays[::2]
arrays[::2] = [cuda.to_device(np.full(array.size, 255 - array.copy_to_host()[0], np.uint8)) for array in arrays[::2]]
for place, array in enumerate(arrays):
    number = 2 * place + 1
    assert (array.copy_to_host() == (number if place % 2 else 255 - number)).all(), place
print("right")
"""


@pytest.mark.parametrize("who", ["", "others"])
def test_first_arrays_are_right_whoever_made_the_context(run_program, who):
    done = run_program(FIRST_ARRAYS.replace("import sys\n", f"import sys\nsys.argv.append({who!r})\n", 1))
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
