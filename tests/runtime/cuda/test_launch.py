"""Loading and launching: what the driver is asked for, and what users are told when it refuses."""

from __future__ import annotations

import gc
import struct

import pytest

from gridjit.compiler.values.errors import ConfigError, DeviceError, LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.target import Target

CONFIG = LaunchConfig.of((4, 2), 128)


def test_a_launch_passes_dimensions_stream_and_the_packed_parameters(api, device, artifact):
    kernel = device.load(artifact())
    kernel.launch(CONFIG, 7, 64, struct.pack("@q", 42))
    [arguments] = api.called("cuLaunchKernel")
    assert arguments[:10] == (kernel.handle, 4, 2, 1, 128, 1, 1, 64, 7, 0)
    assert api.packed == [struct.pack("@q", 42)]


def test_a_launch_without_parameters_passes_none(api, device, artifact):
    device.load(artifact()).launch(CONFIG, 0, 0, b"")
    [arguments] = api.called("cuLaunchKernel")
    assert arguments[-2:] == (0, 0)


def test_a_cooperative_artifact_is_launched_cooperatively(api, device, artifact):
    device.load(artifact(cooperative=True)).launch(CONFIG, 5, 32, b"12345678")
    [(made, _, parameters, _)] = api.called("cuLaunchKernelEx")
    assert (made.gridDimX, made.gridDimY, made.gridDimZ, made.blockDimX) == (4, 2, 1, 128)
    assert (made.sharedMemBytes, int(made.hStream), parameters) == (32, 5, 0)
    [attribute] = made.attrs
    assert (attribute.id.name, attribute.value.cooperative) == ("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", 1)
    assert api.packed == [b"12345678"]


def test_a_cluster_is_a_launch_attribute(api, device, artifact):
    device.load(artifact()).launch(LaunchConfig.of((4, 2), 128, cluster=(2, 2)), 0, 0, b"")
    [attribute] = api.called("cuLaunchKernelEx")[0][0].attrs
    dim = attribute.value.clusterDim
    assert (attribute.id.name, dim.x, dim.y, dim.z) == ("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", 2, 2, 1)


def test_a_cluster_of_more_than_eight_blocks_is_asked_for_once(api, device, artifact):
    kernel = device.load(artifact())
    for _ in range(2):
        kernel.launch(LaunchConfig.of(16, 128, cluster=16), 0, 0, b"")
    asked = api.called("cuKernelSetAttribute")
    assert [(name.name, value) for name, value, *_ in asked] == [
        ("CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
    ]


def test_a_grid_that_is_not_a_multiple_of_the_cluster_is_refused(device, artifact):
    with pytest.raises(ConfigError, match=r"module.saxpy .*multiple of the cluster"):
        device.load(artifact()).launch(LaunchConfig.of(3, 128, cluster=2), 0, 0, b"")


def test_shared_memory_above_48_kb_is_asked_for_by_itself_and_once(api, device, artifact):
    kernel = device.load(artifact())
    kernel.launch(CONFIG, 0, 47 << 10, b"")
    assert not api.called("cuKernelSetAttribute")
    kernel.launch(CONFIG, 0, 48 << 10, b"")  # 1 KB more is static
    kernel.launch(CONFIG, 0, 48 << 10, b"")
    kernel.launch(CONFIG, 0, 100 << 10, b"")
    asked = api.called("cuKernelSetAttribute")
    assert {name.name for name, *_ in asked} == {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"}
    assert [value for _, value, *_ in asked] == [48 << 10, 100 << 10]


def test_shared_memory_is_asked_for_on_each_device(api, device, artifact):
    kernel = device.load(artifact())
    kernel.launch(CONFIG, 0, 64 << 10, b"")
    api.context += 1
    kernel.launch(CONFIG, 0, 64 << 10, b"")
    assert [where for *_, where in api.called("cuKernelSetAttribute")] == [0, 1]


def test_more_shared_memory_than_the_device_has_names_the_limit(device, artifact):
    with pytest.raises(ConfigError, match=r"1024 bytes of static and 300000 of dynamic .* allows 232448"):
        device.load(artifact()).launch(CONFIG, 0, 300_000, b"")


def test_the_carveout_of_the_metadata_is_set(api, device, artifact):
    device.load(artifact(metadata={"shared_memory_carveout": 60}))
    [(name, value, *_)] = api.called("cuKernelSetAttribute")
    assert (name.name, value) == ("CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT", 60)


def test_code_for_another_architecture_is_not_loaded(device, artifact):
    with pytest.raises(DeviceError, match="compiled for sm_80"):
        device.load(artifact(target=Target(kind="ptx", arch="sm_80")))


def test_code_that_may_use_all_of_the_devices_architecture_is_loaded(device, artifact):
    assert device.load(artifact(target=Target(kind="ptx", arch="sm_90a"))).handle
    with pytest.raises(DeviceError, match="compiled for sm_80a"):
        device.load(artifact(target=Target(kind="ptx", arch="sm_80a")))


def test_a_library_is_unloaded_when_its_kernel_goes(api, device, artifact):
    kernel = device.load(artifact())
    library = kernel.library
    del kernel
    gc.collect()
    assert api.called("cuLibraryUnload") == [(library,)]


def test_a_thread_without_a_device_gets_the_kernels_own(api, device, artifact):
    kernel = device.load(artifact())
    api.context = 0
    api.failures["cuLaunchKernel"] = "CUDA_ERROR_INVALID_CONTEXT"
    with pytest.raises(LaunchError):
        kernel.launch(CONFIG, 0, 0, b"")
    assert api.context == device.context
    assert len(api.called("cuLaunchKernel")) == 2


def test_a_refused_launch_names_error_kernel_config_and_what_is_needed(api, device, artifact):
    kernel = device.load(artifact())
    api.failures["cuLaunchKernel"] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    with pytest.raises(LaunchError) as caught:
        kernel.launch(CONFIG, 0, 0, b"")
    message = str(caught.value)
    assert message.startswith(
        "module.saxpy [grid 4x2, block 128]: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES from cuLaunchKernel"
    )
    assert "128 threads (at most 1024) of 40 registers" in message


def test_a_cooperative_grid_that_is_too_large_says_how_many_blocks_fit(api, device, artifact):
    kernel = device.load(artifact(cooperative=True))
    api.failures["cuLaunchKernelEx"] = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    with pytest.raises(LaunchError, match="at most 264 blocks of 128 threads are resident"):
        kernel.launch(CONFIG, 0, 0, b"")


def test_what_a_kernel_did_is_told_at_the_next_wait_with_its_name(api, device, artifact):
    device.load(artifact()).launch(CONFIG, 0x77, 0, b"")
    api.failures["cuStreamSynchronize"] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS.*launched last: module.saxpy \[grid 4x2"):
        device.timeline.synchronize(0x77)


def test_what_a_kernel_did_is_not_blamed_on_the_one_that_found_it(api, device, artifact):
    device.load(artifact()).launch(CONFIG, 0x78, 0, b"")
    innocent = device.load(artifact(kernel="module.innocent"))
    api.failures["cuLaunchKernel"] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(
        LaunchError, match=r"found while launching module.innocent \[.*launched last:.*module.saxpy \[grid 4x2"
    ) as caught:
        innocent.launch(CONFIG, 0x78, 0, b"")
    assert caught.value.code == int(api.code("CUDA_ERROR_ILLEGAL_ADDRESS"))  # type: ignore[attr-defined]


def test_occupancy_comes_from_the_driver(api, device, artifact):
    kernel = device.load(artifact())
    assert kernel.potential_block(sharedmem=512) == 768
    assert api.called("cuOccupancyMaxPotentialBlockSize") == [(kernel.handle, None, 512, 0)]
    assert kernel.active_blocks(128) == 2
    assert kernel.attributes().registers == 40


def test_machine_code_finds_the_launch_function_and_the_kernel_as_numbers(device, artifact):
    kernel = device.load(artifact())
    assert (kernel.driver_function, kernel.grid_function) == (0xADD2E55, None)
    assert isinstance(kernel.handle, int)


def test_machine_code_launches_the_function_of_the_context_and_python_the_kernel(api, device, artifact):
    kernel = device.load(artifact())
    entries = []
    for api.epoch in (1, 2, 1):
        entries.append(kernel.entry(kernel.context))
        kernel.launch(CONFIG, 0, 0, b"")
    assert [(entry.handle, entry.context) for entry in entries] == [
        (kernel.handle + 0x10000 * epoch, epoch) for epoch in (1, 2, 1)
    ]
    assert len(api.called("cuKernelGetFunction")) == 2
    assert {arguments[0] for arguments in api.called("cuLaunchKernel")} == {kernel.handle}


def test_a_context_that_is_gone_has_no_number(api, device, artifact):
    kernel = device.load(artifact())
    api.failures["cuCtxGetId"] = "CUDA_ERROR_CONTEXT_IS_DESTROYED"
    assert kernel.context == 0
