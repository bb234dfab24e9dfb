"""Exceptions of debug kernels: cleared before a launch, raised after it with block and thread."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices.errors import LostDeviceError
from gridjit.runtime.process.current import create_stream

CONFIG = LaunchConfig.of(8, 128)
PLACES = {b"tidx": 3, b"tidy": 0, b"tidz": 0, b"ctaidx": 7, b"ctaidy": 1, b"ctaidz": 0}


@pytest.fixture
def debug_kernel(api, device, artifact):
    del api.failures["cuLibraryGetGlobal"]
    api.globals = {b"entry__errcode__": ctypes.c_int32(9)}
    api.globals |= {b"entry__" + name + b"__": ctypes.c_int32(value) for name, value in PLACES.items()}
    return device.load(artifact())


def test_an_exception_of_an_earlier_launch_is_forgotten(api, debug_kernel):
    debug_kernel.launch(CONFIG, 0, 0, b"")
    assert api.globals[b"entry__errcode__"].value == 0
    assert len(api.called("cuLaunchKernel")) == 1


def test_an_exception_is_raised_with_block_and_thread(api, debug_kernel, monkeypatch):
    class Failing(type(api)):  # type: ignore[misc]
        def launch(self, *arguments):
            self.globals[b"entry__errcode__"].value = 5
            return ()

    monkeypatch.setitem(api._functions, "cuLaunchKernel", Failing.launch)
    with pytest.raises(IndexError, match=r"module.saxpy, tid=\[3, 0, 0\] ctaid=\[7, 1, 0\]: out of bounds"):
        debug_kernel.launch(CONFIG, 0, 0, b"")
    assert api.called("cuStreamSynchronize") == [(0,)]


def test_a_debug_kernel_cannot_be_captured(api, debug_kernel):
    api.capturing.add(0x50)
    with pytest.raises(LaunchError, match="cannot be captured"):
        debug_kernel.launch(CONFIG, 0x50, 0, b"")


def test_after_a_fatal_error_every_call_tells_it_and_what_to_do(api, device, artifact):
    device.load(artifact()).launch(CONFIG, 0, 0, b"")
    made = to_device(np.arange(5), space=device.space)
    for call in ("cuCtxSynchronize", "cuMemAllocFromPoolAsync", "cuMemcpy", "cuStreamCreateWithPriority"):
        api.failures[call] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(
        LaunchError, match=r"jit\(debug=True.*restart the process; launched last: .*module.saxpy \[grid 8"
    ):
        device.synchronize()
    told = (
        r"from cu\w+: the device was lost.*restart the process. The error was:.*cuCtxSynchronize.*module.saxpy \[grid 8"
    )
    calls = [
        device.synchronize,
        made.copy_to_host,
        lambda: to_device(np.arange(5), space=device.space),
        lambda: create_stream(timeline=device.timeline),
    ]
    for call in calls:
        with pytest.raises(LostDeviceError, match=told) as caught:
            call()
        assert str(caught.value).count("launched last") == 1
        assert caught.value.name == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_kernels_without_such_variables_are_not_waited_for(api, device, artifact):
    device.load(artifact()).launch(CONFIG, 0, 0, b"")
    assert not api.called("cuStreamSynchronize")
    assert not api.called("cuMemsetD32Async")
