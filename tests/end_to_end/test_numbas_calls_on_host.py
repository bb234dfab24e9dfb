"""What of numba.cuda's calls about devices, contexts, memory and streams answers on the host, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gridjit import ArgumentError, cuda
from gridjit.runtime.devices import presence
from gridjit.runtime.process.session import end_session
from gridjit.runtime.simulated import current, under_numba

ANSWERED = """
cuda.is_available()
cuda.cuda_error() is None
cuda.is_supported_version()
cuda.is_float16_supported()
cuda.is_bfloat16_supported()
not cuda.is_fp8_supported()
cuda.detect()
len(cuda.gpus) == 2
list(cuda.gpus)[1].id == 1
cuda.gpus.lst
str(cuda.gpus)
cuda.select_device(1) and cuda.gpus.current.id == 1
cuda.gpus[0].name
cuda.gpus[0:2]
cuda.list_devices()[0].compute_capability >= (8, 0)
cuda.select_device(1).id == 1
cuda.get_current_device().name
cuda.get_current_device().id
cuda.get_current_device().uuid
cuda.get_current_device().compute_capability
cuda.get_current_device().WARP_SIZE == 32
cuda.get_current_device().MULTIPROCESSOR_COUNT
cuda.get_current_device().MAX_THREADS_PER_BLOCK == 1024
cuda.get_current_device().MAX_BLOCK_DIM_X
cuda.get_current_device().MAX_GRID_DIM_X
cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK
cuda.get_current_device().MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
cuda.get_current_device().MAX_REGISTERS_PER_BLOCK
cuda.get_current_device().CLOCK_RATE
cuda.get_current_device().ASYNC_ENGINE_COUNT
cuda.get_current_device().CAN_MAP_HOST_MEMORY
cuda.get_current_device().UNIFIED_ADDRESSING
cuda.get_current_device().CONCURRENT_KERNELS
cuda.get_current_device().supports_float16
cuda.get_current_device().supports_bfloat16
cuda.get_current_device().get_device_identity()
cuda.get_current_device().get_primary_context()
cuda.get_current_device().reset() is None
cuda.current_context().device.id == 0
cuda.current_context(1).device.id == 1
cuda.current_context().handle
cuda.current_context().get_memory_info().free
cuda.current_context().get_memory_info()[1]
cuda.current_context().synchronize() is None
cuda.current_context().push() is None
cuda.current_context().reset() is None
cuda.current_context().create_stream()
cuda.current_context().create_event()
cuda.current_context().get_default_stream()
cuda.current_context().get_legacy_default_stream()
cuda.current_context().get_per_thread_default_stream()
cuda.current_context().create_external_stream(5)
cuda.current_context().can_access_peer(1)
cuda.current_context().enable_peer_access(cuda.gpus[1].get_primary_context().handle) is None
cuda.current_context().get_active_blocks_per_multiprocessor(None, 128, 0) == 16
cuda.current_context().defer_cleanup()
cuda.current_context().deallocations.clear() is None
cuda.current_context().memalloc(64).device_ctypes_pointer
cuda.current_context().memhostalloc(64, mapped=True)
cuda.current_context().memallocmanaged(64)
cuda.current_context().memory_manager.get_memory_info()
cuda.current_context().allocations is not None
cuda.current_context().modules is not None
cuda.current_context().extras is not None
cuda.devices.get_context().device
cuda.devices.gpus[1]
cuda.devices.require_context(len)([1])
cuda.devices.reset() is None
cuda.require_context(len)([1])
cuda.defer_cleanup()
cuda.close() is None
cuda.synchronize() is None
cuda.stream().synchronize() is None
cuda.default_stream()
cuda.legacy_default_stream()
cuda.per_thread_default_stream()
cuda.external_stream(7)
cuda.event().record().query()
cuda.profile_start() is None
cuda.profile_stop() is None
cuda.profiling()
cuda.to_device(x).copy_to_host().sum() == 10
cuda.device_array(3).shape
cuda.device_array_like(x)
cuda.pinned_array(3)
cuda.pinned_array_like(x)
cuda.pinned(x)
cuda.mapped_array(3)
cuda.mapped_array_like(x)
cuda.managed_array(3)
cuda.is_cuda_array(cuda.to_device(x))
cuda.as_cuda_array(cuda.to_device(x))
cuda.from_cuda_array_interface(cuda.to_device(x).__cuda_array_interface__)
cuda.In(x), cuda.Out(x), cuda.InOut(x)
cuda.reduce(lambda a, b: a + b)(x) == 10
cuda.cudadrv.driver.driver.get_device_count() == 2
cuda.cudadrv.driver.driver.get_version()
cuda.cudadrv.driver.driver.is_available
cuda.cudadrv.driver.driver.cuMemGetInfo()
cuda.cudadrv.driver.driver.cuDeviceGetName(100, 0)
cuda.cudadrv.driver.driver.cuDeviceTotalMem(0)
cuda.cudadrv.driver.get_version()
cuda.cudadrv.driver.device_extents(cuda.current_context().memalloc(64))
cuda.cudadrv.driver.is_device_memory(cuda.current_context().memalloc(64))
cuda.cudadrv.driver.host_pointer(x)
cuda.cudadrv.devices.get_context().get_memory_info()
cuda.cudadrv.devices.gpus[1].name
cuda.runtime.get_version()
cuda.cg and cuda.libdevice and cuda.types and cuda.atomic and cuda.shared and cuda.float32x4
"""

# With what the error has to say.
REFUSED = {
    "cuda.current_context().get_ipc_handle(cuda.current_context().memalloc(8))": "cuIpcGetMemHandle: the host stands",
    "cuda.current_context().open_ipc_handle(bytes(64), 8)": "cuIpcOpenMemHandle: the host stands",
    "cuda.current_context().create_module_ptx('')": "cuLibraryLoadData: the host stands",
    "cuda.current_context().create_module_image(None)": "cuLibraryLoadData: the host stands",
    "cuda.cudadrv.driver.driver.cuGraphCreate(0)": "cuGraphCreate: the host stands",
    "cuda.to_device(x).get_ipc_handle()": "do(es)? not support IPC|IPC handles",
    "cuda.get_current_device().MEM_SYNC_DOMAIN_COUNT": "give it in a JSON file",
}


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have this be a computer without a GPU, which stands in for two A100."""
    monkeypatch.setattr(presence, "device_count", lambda: 0)
    for name, value in {"TARGET": "host", "HOST_DEVICES": "2", "HOST_DEVICE": "a100"}.items():
        monkeypatch.setenv(f"GRIDJIT_{name}", value)
    end_session()
    current.leave()
    under_numba.place()
    yield
    cuda.close()
    under_numba.displace()


def asked(call: str) -> Any:
    return eval(call, {"cuda": cuda, "x": np.arange(5.0)})


@pytest.mark.parametrize("call", ANSWERED.strip().splitlines())
def test_a_call_is_answered_on_the_host(call: str) -> None:
    answer = asked(call)
    assert answer is not False and answer is not None


@pytest.mark.parametrize("call", REFUSED)
def test_a_call_that_needs_a_real_gpu_is_refused_with_the_reason(call: str) -> None:
    with pytest.raises(Exception, match=REFUSED[call]):
        asked(call)


@pytest.mark.parametrize(("given", "what"), [("'a', 0", "threads"), ("32, 'a'", "bytes")])
def test_occupancy_of_a_block_that_is_not_a_number_is_refused_with_it(given: str, what: str) -> None:
    with pytest.raises(ArgumentError, match=f"='a'.*: give a whole number of {what}"):
        asked(f"cuda.current_context().get_active_blocks_per_multiprocessor(None, {given})")


def test_states_of_random_generators_are_made_without_a_driver() -> None:
    random = cuda.random

    @cuda.jit
    def kernel(states, x):
        i = cuda.grid(1)
        x[i] = random.xoroshiro128p_uniform_float64(states, i)

    x = np.zeros(64)
    kernel[2, 32](random.create_xoroshiro128p_states(64, seed=1), x)
    assert np.unique(x).size == 64
    assert (x >= 0).all() and (x < 1).all()
