"""The pool that arrays are allocated from: made beside the program, which does not wait for it."""

from __future__ import annotations

import threading

import pytest

from gridjit.runtime.devices.cuda.device import CudaDevice
from gridjit.runtime.devices.cuda.driver import Driver

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


def test_an_array_does_not_wait_for_the_pool_and_later_ones_come_from_it(api, cold, ready):
    first = cold.space.allocate(1000, 0)
    assert api.called("cuMemAlloc") == [(1000,)]
    ready.set()
    join()
    (made,), before = api.called("cuMemPoolCreate"), len(api.called("cuMemAllocFromPoolAsync"))
    second = cold.space.allocate(2000, 0)
    assert [size for size, *_ in api.called("cuMemAllocFromPoolAsync")[before:]] == [2000]
    assert len(api.called("cuMemAlloc")) == 1
    assert made and first.address != second.address


def test_memory_from_before_the_pool_is_freed_in_the_order_of_its_stream(api, cold, ready):
    stream = cold.timeline.create_stream()
    memory = cold.space.allocate(1000, 2)
    address = memory.address
    ready.set()
    join()
    del memory
    assert api.called("cuMemFreeAsync")[-1] == (address, 2)
    assert not api.called("cuMemFree")
    cold.timeline.destroy_stream(stream)


def test_the_pool_is_used_first_in_a_stream_that_waits_for_nobody_and_is_gone_then(api, cold, ready):
    ready.set()
    memory = cold.space.allocate(1000, 0)
    join()
    ((_, _, stream), *_) = api.called("cuMemAllocFromPoolAsync")
    assert api.called("cuStreamCreateWithPriority") == [(1, 0)]
    assert api.called("cuStreamDestroy") == [(stream,)]
    assert [at for _, at in api.called("cuMemFreeAsync")] == [stream]
    assert memory.address


def test_where_memory_is_short_before_the_pool_is_ready_it_is_waited_for(api, cold, ready):
    api.failures["cuMemAlloc"] = "CUDA_ERROR_OUT_OF_MEMORY"
    ready.set()
    assert cold.space.allocate(1000, 0).address in api.memory
    assert len(api.called("cuMemPoolCreate")) == 1


def test_without_new_threads_the_first_array_waits(api, cold, ready, monkeypatch):
    def refused(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refused)
    ready.set()
    cold.space.allocate(1000, 0)
    assert [size for size, *_ in api.called("cuMemAllocFromPoolAsync")] == [1, 1000]


def test_a_pool_that_cannot_be_made_leaves_memory_without_one(api, cold, ready):
    api.failures["cuMemPoolCreate"] = "CUDA_ERROR_NOT_SUPPORTED"
    first = cold.space.allocate(1000, 0)
    join()
    assert first.address != cold.space.allocate(2000, 0).address
    assert api.called("cuMemAlloc") == [(1000,), (2000,)]
