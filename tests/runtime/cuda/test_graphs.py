"""Graphs on a GPU, as the driver is called for them: captured once, instantiated once, updated in place."""

from __future__ import annotations

import gc
import struct
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.values.errors import ArgumentError, LaunchError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices.errors import DriverError
from gridjit.runtime.process.session import Session

pytestmark = [
    pytest.mark.cuda_toolkit,
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
]


def adds(x, amount):
    x[0] += amount


@pytest.fixture
def kernel(device, monkeypatch) -> Any:
    """Return a kernel that is launched on the stand-in."""
    monkeypatch.setattr(Session, "device", lambda self, name: device)
    return gridjit.jit(adds)


@pytest.fixture
def x(device) -> Any:
    """Return an array of the stand-in's."""
    return to_device(np.zeros(8), space=device.space)


def test_a_graph_is_captured_and_instantiated_once_and_launched_in_its_stream_or_another(api, kernel, x) -> None:
    stream = gridjit.create_stream()
    with gridjit.graph(stream) as g:
        kernel[1, 32, stream](x, 1.0)
        kernel[2, 32, stream](x, 2.0)
    other = gridjit.create_stream()
    g.launch()
    g.launch(other)
    assert [call[0] for call in api.called("cuStreamBeginCapture")] == [int(stream)]
    assert len(api.called("cuGraphInstantiate")) == 1
    assert [call[1] for call in api.called("cuGraphLaunch")] == [int(stream), int(other)]
    assert [(node.name, node.kind) for node in g.nodes] == [("adds", "kernel"), ("adds 2", "kernel")]


def test_the_capture_lets_other_threads_go_on(api, kernel, x) -> None:
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x, 1.0)
    ((_, mode),) = api.called("cuStreamBeginCapture")
    assert mode.name == "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL"


def test_new_arguments_are_set_in_the_executable_graph(api, device, kernel, x) -> None:
    y = to_device(np.zeros(8), space=device.space)
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x, 1.0)
        kernel[1, 32, g.stream](x, 2.0)
    g.update(1, (y, 5.0))
    ((node, packed),) = api.set_parameters
    assert node == api.nodes[1]
    assert packed == y._parameters + struct.pack("d", 5.0)
    assert len(api.called("cuGraphInstantiate")) == 1


def test_what_others_gave_to_the_stream_are_nodes_too(api, kernel, x) -> None:
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x, 1.0)
        api.cuMemcpyAsync(x.data, x.data, 8, int(g.stream))
        kernel[1, 32, g.stream](x, 1.0)
    assert [node.name for node in g.nodes] == ["adds", "adds 2", "captured"]
    with pytest.raises(ArgumentError, match="only nodes of kernels are updated"):
        g.update("captured", (x, 1.0))


def test_copies_are_captured_and_their_arrays_kept(api, device, kernel, x) -> None:
    y = to_device(np.ones(8), space=device.space)
    address = y.data
    with gridjit.graph() as g:
        x.copy_to_device(y, g.stream)
    assert api.called("cuMemcpyAsync")[-1][3] == int(g.stream)
    assert [node.kind for node in g.nodes] == ["copy"]
    del y
    gc.collect()
    assert address in api.memory
    g.close()
    gc.collect()
    assert address not in api.memory


def test_memory_is_freed_after_the_runs_that_use_it(api, device, kernel, x) -> None:
    stream = gridjit.create_stream()
    with gridjit.graph(stream) as g:
        kernel[1, 32, stream](x, 1.0)
    g.launch()
    del x
    gc.collect()
    g.close()
    gc.collect()
    calls = [(name, arguments) for name, arguments in api.calls if name.startswith(("cuEventRecord", "cuStreamWait"))]
    (recorded, waited) = calls[-2:]
    assert (recorded[0], recorded[1][1]) == ("cuEventRecord", int(stream))
    assert (waited[0], waited[1][:2]) == ("cuStreamWaitEvent", (0, recorded[1][0]))


def test_a_graph_that_goes_is_destroyed(api, kernel, x) -> None:
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x, 1.0)
    g.close()
    g.close()
    assert (len(api.called("cuGraphExecDestroy")), len(api.called("cuGraphDestroy"))) == (1, 1)


def test_arrays_on_the_host_are_refused_when_they_are_recorded_and_in_updates(api, kernel, x) -> None:
    with gridjit.graph() as g:
        with pytest.raises(ArgumentError, match=r"argument 'x' of adds: .*cuda\.to_device\(\) before the graph"):
            kernel[1, 32, g.stream](np.zeros(8), 1.0)
        kernel[1, 32, g.stream](x, 1.0)
    with pytest.raises(ArgumentError, match=r"argument 'x' of adds: .*cuda\.to_device\(\) before the graph"):
        g.update(0, (np.zeros(8), 1.0))
    assert api.set_parameters == []


def test_a_capture_that_was_broken_says_what_breaks_captures(api, kernel, x) -> None:
    api.failures["cuStreamEndCapture"] = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
    g = gridjit.graph()
    with pytest.raises(LaunchError, match=r"could not be recorded: .* do not\s+synchronize its stream"), g:
        kernel[1, 32, g.stream](x, 1.0)


def test_an_error_while_recording_ends_the_capture(api, kernel, x) -> None:
    g = gridjit.graph()
    with pytest.raises(ZeroDivisionError), g:
        kernel[1, 32, g.stream](x, 1.0)
        raise ZeroDivisionError
    assert api.capturing == set()
    assert (len(api.called("cuGraphInstantiate")), len(api.called("cuGraphDestroy"))) == (0, 1)


def test_a_stream_that_someone_else_captures_is_refused(api, kernel) -> None:
    stream = gridjit.create_stream()
    api.capturing.add(int(stream))
    with pytest.raises(LaunchError, match="is being captured by someone else"), gridjit.graph(stream):
        pass
    assert api.called("cuStreamBeginCapture") == []


def test_what_the_driver_says_of_a_launch_is_raised(api, kernel, x) -> None:
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x, 1.0)
    api.failures["cuGraphLaunch"] = "CUDA_ERROR_INVALID_VALUE"
    with pytest.raises(DriverError, match="cuGraphLaunch"):
        g.launch()
