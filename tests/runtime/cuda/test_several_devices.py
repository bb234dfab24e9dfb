"""Two devices: copies between them, and streams of the one while the other is current."""

from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.device import Devices
from gridjit.runtime.process.current import create_stream

CONFIG = LaunchConfig.of(1, 32)
CUBE = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


@pytest.fixture
def devices(api):
    return Devices(Driver(api))


def test_a_copy_between_devices_does_not_come_by_the_host(api, devices):
    here, there = (devices[index].space for index in range(2))
    source, copy = to_device(CUBE, space=there), device_array(CUBE.shape, CUBE.dtype, space=here)
    api.calls.clear()
    copy.copy_to_device(source)
    ((to, to_context, of, of_context, size, stream),) = api.called("cuMemcpyPeerAsync")
    assert (to, of, size, stream) == (copy.data, source.data, CUBE.nbytes, 0)
    assert (to_context, of_context) == (devices[0].context, devices[1].context)
    assert not api.called("cuMemcpy") and not api.called("cuMemcpyAsync")
    assert np.array_equal(copy.copy_to_host(), CUBE)


def test_a_copy_between_devices_waits_for_the_source_and_the_source_for_it(api, devices):
    mine = create_stream(timeline=devices[0].timeline)
    theirs = create_stream(timeline=devices[1].timeline)
    source = to_device(CUBE, theirs, space=devices[1].space)
    copy = device_array(CUBE.shape, CUBE.dtype, space=devices[0].space)
    api.calls.clear()
    copy.copy_to_device(source, mine)
    wanted = ("cuEventRecord", "cuStreamWaitEvent", "cuMemcpyPeerAsync")
    order = [
        (name, call[-1 if name == "cuMemcpyPeerAsync" else name == "cuEventRecord"])
        for name, call in api.calls
        if name in wanted
    ]
    assert order == [
        ("cuEventRecord", theirs.handle),
        ("cuStreamWaitEvent", mine.handle),
        ("cuMemcpyPeerAsync", mine.handle),
        ("cuEventRecord", mine.handle),
        ("cuStreamWaitEvent", theirs.handle),
    ]


def test_a_kernel_launched_on_another_device_is_on_that_device_and_on_no_second_one_for_it(api, devices, artifact):
    kernel = devices[0].load(artifact())
    devices[1].make_current()
    assert kernel.here() is devices[1]
    devices[0].make_current()
    assert kernel.here() is devices[0]


def test_a_device_made_by_itself_finds_the_others_and_they_find_it(device):
    assert device.another(1) is device.another(1)
    assert device.another(1).another(0) is device


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[:, 1:3], np.s_[::-1, ::-1, ::-1], np.s_[:0]])
def test_any_view_is_copied_right_between_devices(devices, key):
    source = to_device(CUBE, space=devices[1].space)
    copy = to_device(np.zeros_like(CUBE), space=devices[0].space)
    expected = np.zeros_like(CUBE)
    copy[key].copy_to_device(source[key])
    expected[key] = CUBE[key]
    assert np.array_equal(copy.copy_to_host(), expected)


def test_a_stream_of_another_device_than_the_current_one_is_refused(api, devices, artifact):
    devices[0].make_current()
    kernel = devices[0].load(artifact(parameters="@"))
    own, others = (create_stream(timeline=devices[index].timeline) for index in range(2))
    kernel.launch(CONFIG, own, 0, b"")
    with pytest.raises(ConfigError, match=r"module.saxpy \[.*the stream is another device's than <CUDA device 0"):
        kernel.launch(CONFIG, others, 0, b"")
    assert len(api.called("cuLaunchKernel")) == 1
