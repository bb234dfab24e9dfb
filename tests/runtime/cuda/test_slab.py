"""The first small arrays of a process take memory that was allocated with the context, where that was made here."""

from __future__ import annotations

import gc
import itertools
import threading
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import LaunchError
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.device import Devices
from gridjit.runtime.devices.cuda.memory import slab
from gridjit.runtime.devices.cuda.memory.slab import MOST_BYTES, SLAB_BYTES, Slab
from gridjit.runtime.process.current import create_stream

POOLS = "cuMemPoolCreate", "cuMemAllocFromPoolAsync"


@pytest.fixture(autouse=True)
def _no_context(api: Any) -> None:
    """Have no context there before."""
    api.active = False


def slab_at(api: Any) -> int:
    """Return where the one slab of the stand-in is."""
    [(size,)] = api.called("cuMemAlloc")
    assert size == SLAB_BYTES
    return next(address for address, block in api.memory.items() if block.size >= SLAB_BYTES)


def test_first_small_arrays_need_no_pool(api, device):
    values = np.arange(1000, dtype=np.float32)
    first, second = to_device(values, space=device.space), device_array(3, np.int8, space=device.space)
    assert np.array_equal(first.copy_to_host(), values)
    assert (first.data, second.data) == (slab_at(api), slab_at(api) + 4096)
    assert not any(api.called(name) for name in POOLS)


def test_no_memory_of_a_slab_is_used_twice(api, device):
    first = device_array(100, np.int8, space=device.space)
    address = first.data
    del first
    gc.collect()
    assert device_array(100, np.int8, space=device.space).data == address + 512
    assert not api.called("cuMemFree")
    assert not api.called("cuMemFreeAsync")


def test_larger_arrays_come_from_the_pool(api, device):
    device_array(MOST_BYTES, np.int8, space=device.space)
    assert not api.called("cuMemPoolCreate")
    device_array(MOST_BYTES + 1, np.int8, space=device.space)
    assert [size for size, *_ in api.called("cuMemAllocFromPoolAsync")] == [MOST_BYTES + 1]


def test_arrays_come_from_the_pool_once_the_slab_is_used_up(api, device):
    count = SLAB_BYTES // MOST_BYTES
    taken = [device_array(MOST_BYTES, np.int8, space=device.space) for _ in range(count)]
    assert not api.called("cuMemAllocFromPoolAsync")
    pooled = device_array(1, np.int8, space=device.space)
    assert len(api.called("cuMemAllocFromPoolAsync")) == 1
    assert pooled.data not in range(slab_at(api), slab_at(api) + SLAB_BYTES)
    del taken, pooled
    gc.collect()
    assert len(api.called("cuMemFreeAsync")) == 1


def test_a_context_that_others_made_gets_no_slab(api, device):
    api.active = True
    device_array(5, space=device.space)
    assert not api.called("cuMemAlloc")
    assert len(api.called("cuMemAllocFromPoolAsync")) == 1


@pytest.mark.parametrize("others", [True, False])
def test_after_a_reset_nothing_of_the_old_slab_is_used(api, device, monkeypatch, others):
    old = device_array(5, space=device.space)
    api.failures["cuCtxGetId"] = "CUDA_ERROR_CONTEXT_IS_DESTROYED"
    monkeypatch.setitem(api._functions, "cuDevicePrimaryCtxRetain", lambda self, _: self.reset())
    api.reset = lambda: (api.failures.pop("cuCtxGetId"), setattr(api, "epoch", 2), 0xD0)[-1]
    api.active = others
    new = device_array(5, space=device.space)
    assert new.data != old.data + 512
    assert len(api.called("cuMemAlloc")) == (1 if others else 2)
    assert len(api.called("cuMemAllocFromPoolAsync")) == (1 if others else 0)


def test_a_slab_of_a_context_that_another_reset_is_not_used(api, device):
    device_array(5, space=device.space)
    api.epoch += 1
    device_array(5, space=device.space)
    assert len(api.called("cuMemAllocFromPoolAsync")) == 1


def test_where_there_is_no_memory_for_a_slab_arrays_come_from_the_pool(api, device):
    api.failures["cuMemAlloc"] = "CUDA_ERROR_OUT_OF_MEMORY"
    device_array(5, space=device.space)
    assert len(api.called("cuMemAllocFromPoolAsync")) == 1


def test_compute_sanitizer_sees_each_array(api, device, monkeypatch):
    monkeypatch.setattr(slab, "_SANITIZER", "libc.so.6")  # a library that is in this process
    device_array(5, space=device.space)
    assert not api.called("cuMemAlloc")
    assert len(api.called("cuMemAllocFromPoolAsync")) == 1


def test_no_array_can_be_made_while_a_stream_is_captured(api, device):
    device_array(5, space=device.space)
    with create_stream(timeline=device.timeline) as stream:
        api.capturing.add(stream.handle)
        with pytest.raises(LaunchError, match="make it before the capture"):
            device_array(5, stream=stream, space=device.space)
        api.capturing.clear()


def test_a_capture_elsewhere_does_not_mind_that_a_slab_is_made(api, device):
    device.make_current()
    names = [name for name, _ in api.calls]
    at = names.index("cuMemAlloc")
    assert names[at - 1] == names[at + 1] == "cuThreadExchangeStreamCaptureMode"


@pytest.mark.parametrize("failure", [None, "CUDA_ERROR_OUT_OF_MEMORY"])
def test_to_make_a_slab_does_not_change_the_threads_device(api, failure):
    if failure:
        api.failures["cuMemAlloc"] = failure
    devices = Devices(Driver(api))
    devices[1].make_current()
    before = api.context
    assert devices[0].context != before
    assert api.context == before
    assert len(api.called("cuMemAlloc")) == 2


def test_a_thread_whose_context_is_gone_can_make_a_slab(api, device):
    api.context, set_context = 0xDEAD, api.cuCtxSetCurrent
    gone = (api.code("CUDA_ERROR_CONTEXT_IS_DESTROYED"),)
    api.cuCtxSetCurrent = lambda context: gone if context == 0xDEAD else set_context(context)
    assert device.context
    assert device.slab.take(1)


def test_each_devices_arrays_are_in_its_own_slab(api):
    devices = Devices(Driver(api))
    for device in devices:
        device_array(5, space=device.space)
    contexts = [arguments[0] for name, arguments in api.calls if name == "cuCtxSetCurrent"]
    assert len(api.called("cuMemAlloc")) == len(set(contexts) - {0}) == 2
    assert not api.called("cuMemAllocFromPoolAsync")


def test_threads_never_get_the_same_bytes() -> None:
    shared, size = Slab(4096, 8 * 1000 * 512, 1), 512
    begin, found = threading.Barrier(8), [list[int]() for _ in range(8)]

    def take(mine: list[int]) -> None:
        begin.wait()
        mine += [shared.take(size) for _ in range(1000)]

    threads = [threading.Thread(target=take, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(itertools.chain(*found)) == list(range(4096, 4096 + 8 * 1000 * 512, 512))
    assert shared.take(1) == 0


def test_what_the_collector_frees_may_take_memory_too() -> None:
    """A finalizer that runs while memory is taken does not get the same bytes."""
    shared, found = Slab(4096, SLAB_BYTES, 1), list[int]()

    class Taker:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            found.append(shared.take(512))

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            Taker()
            found.append(shared.take(512))
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(found) == len(set(found)) == 600
