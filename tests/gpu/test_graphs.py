"""Graphs on a real GPU: kernels are captured with any arrays there, and what cannot be is refused in time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.queues.streams import Stream
from tests.kernels import increments

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
]
Replay = Callable[[Stream, Callable[[], None], int], None]


def adds_block(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += gridjit.static.blockDim.x


@pytest.fixture
def replay(device: Any) -> Replay:
    """Return a function that captures in a stream what a function launches there, and runs the graph some times."""
    call, api = device.driver.call, device.driver.api

    def replay(stream: Stream, work: Callable[[], None], times: int) -> None:
        gc.collect()  # graphs of torch's that were dropped before: freeing them would break the capture
        device.synchronize()
        call("cuStreamBeginCapture", stream.handle, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
        try:
            work()
        finally:
            graph = call("cuStreamEndCapture", stream.handle)
        runnable = call("cuGraphInstantiate", graph, 0)
        for _ in range(times):
            call("cuGraphLaunch", runnable, stream.handle)
        stream.synchronize()
        call("cuGraphExecDestroy", runnable)
        call("cuGraphDestroy", graph)

    return replay


@pytest.fixture(params=[False, True], ids=["blocking", "nonblocking"])
def stream(request: pytest.FixtureRequest) -> Any:
    """Return a stream to capture."""
    made = gridjit.create_stream(nonblocking=request.param)
    yield made
    made.close()


def test_launches_on_own_arrays_run_as_often_as_their_graph(replay: Replay, stream: Stream) -> None:
    kernel, x = gridjit.jit(increments), cuda.to_device(np.zeros(200, np.float32))
    kernel[4, 64](x)

    def work() -> None:
        for grid in (4, 4, 5):
            kernel[grid, 64, stream](x)

    replay(stream, work, 3)
    assert set(x.copy_to_host()) == {1 + 3 * 3}


def test_a_graph_keeps_the_code_of_its_own_block_size(replay: Replay, stream: Stream) -> None:
    kernel, x = gridjit.jit(adds_block), cuda.to_device(np.zeros(100, np.int64))
    for block in (128, 256):
        kernel[1, block](x)

    def work() -> None:
        kernel[1, 128, stream](x)
        kernel[1, 256, stream](x)

    replay(stream, work, 2)
    assert set(x.copy_to_host()) == {3 * (128 + 256)}


def test_code_that_is_not_loaded_is_compiled_and_captured(replay: Replay, stream: Stream) -> None:
    warm, cold, x = gridjit.jit(increments), gridjit.jit(adds_block), cuda.to_device(np.zeros(100, np.int64))
    warm[1, 128](x)

    def work() -> None:
        cold[1, 128, stream](x)
        warm[1, 128, stream](x)

    replay(stream, work, 2)
    assert set(x.copy_to_host()) == {1 + 2 * (128 + 1)}
    assert cold.stats.compiles == 1


def test_arrays_of_the_host_are_refused_and_the_capture_goes_on(replay: Replay, stream: Stream) -> None:
    kernel, x, on_host = gridjit.jit(increments), cuda.to_device(np.zeros(100)), np.zeros(100)
    kernel[1, 128](x)

    def work() -> None:
        with pytest.raises(ArgumentError, match=r"argument 'x' of increments.*cuda\.to_device\(\) before the capture"):
            kernel[1, 128, stream](on_host)
        kernel[1, 128, stream](x)

    replay(stream, work, 2)
    assert set(x.copy_to_host()) == {3}
    assert set(on_host) == {0}


def test_mapped_and_managed_arrays_are_captured(replay: Replay, stream: Stream) -> None:
    kernel = gridjit.jit(increments)
    for make in (cuda.mapped_array, cuda.managed_array):
        x = make(100, dtype=np.int64)
        x[:] = 0
        kernel[1, 128](x)
        replay(stream, lambda x=x: kernel[1, 128, stream](x), 4)  # type: ignore[misc]
        assert set(x.tolist()) == {5}


def test_a_graph_of_torchs_runs_kernels_among_torchs_own() -> None:
    torch: Any = pytest.importorskip("torch")
    kernel = gridjit.jit(increments)
    x, own = torch.zeros(200, device="cuda"), cuda.to_device(np.zeros(200, np.float32))
    kernel[4, 64](x)
    kernel[4, 64](own)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        kernel[4, 64, here](x)
        kernel[4, 64, here](own)
        doubled = 2 * x
        kernel[4, 64, here](x)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert set(x.tolist()) == {1 + 3 * 2}
    assert set(doubled.tolist()) == {2 * (1 + 3 * 2 - 1)}
    assert set(own.copy_to_host()) == {1 + 3}


def test_code_that_is_not_loaded_is_captured_in_torchs_graphs_too() -> None:
    torch: Any = pytest.importorskip("torch")
    kernel, x = gridjit.jit(increments), torch.zeros(200, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel[4, 64, torch.cuda.current_stream()](x)
        x += 1
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()
    assert set(x.tolist()) == {2 * 2}
    assert kernel.stats.compiles == 1


def test_code_that_is_unloaded_during_a_capture_leaves_it_whole(
    replay: Replay, stream: Stream, device: Any, compiled: Any
) -> None:
    kernel, x = gridjit.jit(increments), cuda.to_device(np.zeros(100, np.int64))
    artifact = compiled(increments, "void(int64[::1])").artifact
    kernel[1, 128](x)

    def work() -> None:
        device.load(artifact)  # and dropped
        gc.collect()
        kernel[1, 128, stream](x)

    replay(stream, work, 2)
    assert set(x.copy_to_host()) == {1 + 2}


def test_an_array_that_is_dropped_during_a_capture_leaves_it_whole(replay: Replay, stream: Stream) -> None:
    kernel, x = gridjit.jit(increments), cuda.to_device(np.zeros(100, np.int64))
    kernel[1, 128](x)
    others = [cuda.device_array(1000), cuda.device_array(1000, stream=stream), cuda.managed_array(10)]

    def work() -> None:
        others.clear()
        kernel[1, 128, stream](x)

    replay(stream, work, 2)
    assert set(x.copy_to_host()) == {1 + 2}
