"""numba-cuda's own contexts, memory, streams and events work over the simulated driver; the rest is refused by name."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gridjit import cuda
from gridjit.runtime.simulated import under_numba
from tests.runtime.simulated.conftest import Choose


@pytest.fixture
def numba_driver(choose: Choose) -> Iterator[Any]:
    """numba-cuda's module `driver`, answered by two simulated A100."""
    choose(DEVICE="a100", DEVICES="2")
    under_numba.displace()
    under_numba.place()
    yield cuda.cudadrv.driver
    cuda.cudadrv.devices.reset()
    under_numba.displace()


def test_its_devices_are_the_simulated_ones(numba_driver: Any) -> None:
    first, second = cuda.cudadrv.devices.gpus
    assert (first.name, first.compute_capability) == ("NVIDIA A100-SXM4-40GB", (8, 0))
    assert first.MULTIPROCESSOR_COUNT == 108 and first.WARP_SIZE == 32
    assert (first.id, second.id) == (0, 1) and first.uuid != second.uuid
    assert numba_driver.Device.from_identity(second.get_device_identity()).id == 1
    assert numba_driver.driver.get_version() == (13, 0)


def test_its_current_device_is_the_threads_here_too(numba_driver: Any) -> None:
    with cuda.cudadrv.devices.gpus[1]:
        assert cuda.get_current_device().id == 1
    with cuda.gpus[1]:
        assert cuda.cudadrv.devices.get_context().device.id == 1


def test_its_memory_counts_and_goes_to_and_from_the_host(numba_driver: Any) -> None:
    context = cuda.current_context()
    context.memory_manager.deallocations.clear()
    before = context.get_memory_info().free
    memory = context.memalloc(4000)
    assert context.get_memory_info().free == before - 4000
    values, back = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    numba_driver.host_to_device(memory, values, 4000)
    numba_driver.device_to_host(back, memory, 4000)
    assert (back == values).all()
    numba_driver.device_memset(memory, 0, 2000)
    numba_driver.device_to_host(back, memory, 4000)
    assert back[499] == 0 and back[500] == 500
    start, end = numba_driver.device_extents(memory.view(100))
    assert end - start == 4000
    del memory
    gc.collect()
    context.memory_manager.deallocations.clear()
    assert context.get_memory_info().free == before


def test_more_memory_than_there_is_is_its_own_error(numba_driver: Any) -> None:
    with pytest.raises(numba_driver.CudaAPIError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        cuda.current_context().memalloc(50 << 30)


def test_its_pinned_mapped_and_managed_memory_is_the_hosts(numba_driver: Any) -> None:
    context = cuda.cudadrv.devices.get_context()
    for memory in (context.memhostalloc(80), context.memhostalloc(80, mapped=True), context.memallocmanaged(80)):
        array = np.ndarray(10, np.float64, buffer=memory)
        array[:] = 3
        assert array.sum() == 30


def test_its_streams_and_events_measure(numba_driver: Any) -> None:
    context = cuda.cudadrv.devices.get_context()
    stream, start, end = context.create_stream(), context.create_event(), context.create_event()
    start.record(stream)
    stream.synchronize()
    end.record(stream)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0


def test_what_no_driver_has_is_missing_so_that_libraries_may_ask(numba_driver: Any) -> None:
    assert not hasattr(numba_driver.driver, "target_context")


def test_what_only_a_real_driver_can_do_is_refused_by_name(numba_driver: Any) -> None:
    context = cuda.cudadrv.devices.get_context()
    with pytest.raises(numba_driver.CudaAPIError, match="cuIpcGetMemHandle: the host stands in for the GPU"):
        context.get_ipc_handle(context.memalloc(8))
    with pytest.raises(numba_driver.CudaAPIError, match="cuLibraryLoadData: the host stands in for the GPU"):
        context.create_module_image(None)
    with pytest.raises(numba_driver.CudaAPIError, match="cuGraphCreate: the host stands in for the GPU"):
        numba_driver.driver.cuGraphCreate(0)


def test_displaced_it_asks_for_a_real_driver_again(numba_driver: Any) -> None:
    memory = cuda.current_context().memalloc(8)
    cuda.cudadrv.devices.reset()
    under_numba.displace()
    assert "cuMemAlloc" not in vars(numba_driver.driver)
    del memory  # and what is left of the simulated one's is freed all the same: else a warning, which fails the test
    gc.collect()
