"""The pool that arrays are allocated from: made beside the program, which does not wait for it."""

from __future__ import annotations

import threading

import pytest

from gridjit.runtime.current import create_stream
from gridjit.runtime.devices.cuda.device import CudaDevice
from gridjit.runtime.devices.cuda.driver import Driver
from gridjit.runtime.devices.cuda.memory.pool import FEW

SOON_S = 30


@pytest.fixture
def ready():
    """Return what the driver waits for before it allocates from a pool."""
    return threading.Event()


@pytest.fixture
def cold(api, ready):
    """Return a device whose pool was never used."""
    device, functions = CudaDevice(Driver(api), 0), dict(api._functions)
    known = functions["cuMemAllocFromPoolAsync"]

    def allocate(self, *given):
        assert ready.wait(SOON_S)
        return known(self, *given)

    api._functions = functions | {"cuMemAllocFromPoolAsync": allocate}
    yield device
    ready.set()
    join()


def join():
    for thread in threading.enumerate():
        if thread.name == "gridjit pool":
            thread.join()


def arrays(space, count):
    return [space.allocate(1000, 0) for _ in range(count)]


def from_pools(api):
    return [size for size, *_ in api.called("cuMemAllocFromPoolAsync")]


def test_a_few_arrays_do_without_a_pool(api, cold):
    kept = arrays(cold.space, FEW - 1)
    assert len(api.called("cuMemAlloc")) == len(kept) == FEW - 1
    assert not api.called("cuMemPoolCreate")


def test_more_arrays_do_not_wait_for_the_pool_and_come_from_it_once_it_is_there(api, cold, ready):
    kept = arrays(cold.space, FEW + 3)
    assert len(api.called("cuMemAlloc")) == FEW + 3
    ready.set()
    join()
    kept += arrays(cold.space, 2)
    assert from_pools(api) == [1, 1000, 1000]
    assert len({memory.address for memory in kept}) == FEW + 5
    assert len(api.called("cuMemPoolCreate")) == 1


def test_an_array_from_before_the_pool_is_freed_in_the_order_of_its_stream(api, cold, ready):
    stream = create_stream(timeline=cold.timeline)
    memory = cold.space.allocate(1000, stream)
    address = memory.address
    del memory
    assert api.called("cuMemFreeAsync") == [(address, stream.handle)]
    ready.set()
    kept = arrays(cold.space, 1)
    join()
    kept += arrays(cold.space, 1)
    assert from_pools(api) == [1, 1000]


def test_the_pool_is_used_first_in_a_stream_that_waits_for_nobody_and_is_gone_then(api, cold, ready):
    ready.set()
    kept = arrays(cold.space, FEW)
    join()
    ((_, _, stream),) = api.called("cuMemAllocFromPoolAsync")
    assert api.called("cuStreamCreateWithPriority") == [(1, 0)]
    assert api.called("cuStreamDestroy") == [(stream,)]
    assert [at for _, at in api.called("cuMemFreeAsync")] == [stream]
    assert len(kept) == FEW


def test_where_memory_is_short_the_pool_is_made_and_asked(api, cold, ready):
    ready.set()
    api.failures["cuMemAlloc"] = "CUDA_ERROR_OUT_OF_MEMORY"
    assert cold.space.allocate(1000, 0).address in api.memory
    assert from_pools(api) == [1, 1000]


def test_without_new_threads_the_pool_is_made_in_place(api, cold, ready, monkeypatch):
    def refused(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refused)
    ready.set()
    kept = arrays(cold.space, FEW + 1)
    assert from_pools(api) == [1, 1000]
    assert len(kept) == FEW + 1


def test_a_pool_that_cannot_be_made_leaves_memory_without_one(api, cold):
    api.failures["cuMemPoolCreate"] = "CUDA_ERROR_NOT_SUPPORTED"
    kept = arrays(cold.space, FEW)
    join()
    address = kept[0].address
    del kept[0]
    assert api.called("cuMemFree") == [(address,)]
    assert cold.space.allocate(2000, 0).address
    assert len(api.called("cuMemAlloc")) == FEW + 1
