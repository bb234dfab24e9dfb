"""gridjit.graph() on a real GPU: what is recorded runs each time, is updated in place, and lets go when it ends."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import ArgumentError, LaunchError
from gridjit.runtime.queues.streams import Stream

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
]


def adds(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


@pytest.fixture
def add(device: Any) -> Any:
    """Return a kernel that adds to an array."""
    return gridjit.jit(adds, target="cuda")


@pytest.fixture(params=[False, True], ids=["blocking", "nonblocking"])
def stream(request: pytest.FixtureRequest) -> Any:
    """Return a stream to record."""
    with gridjit.create_stream(nonblocking=request.param) as made:
        yield made


def zeros(size: int = 100) -> Any:
    made = cuda.to_device(np.zeros(size))
    cuda.synchronize()
    return made


def test_launches_and_copies_run_as_often_as_the_graph(add: Any, stream: Stream) -> None:
    x, y = zeros(), zeros()
    with gridjit.graph(stream) as g:
        add[1, 128, stream](x, 1.0)
        y.copy_to_device(x, stream)
        add[1, 128, stream](x, 10.0)
    assert [node.kind for node in g.nodes] == ["kernel", "copy", "kernel"]
    for _ in range(3):
        g.launch()
    stream.synchronize()
    assert (set(x.copy_to_host()), set(y.copy_to_host())) == ({33}, {23})


def test_a_launch_that_machine_code_knows_is_recorded_with_its_node(add: Any, stream: Stream) -> None:
    x = zeros()
    launch = add[1, 128, stream]
    for _ in range(5):
        launch(x, 1.0)
    with gridjit.graph(stream) as g:
        launch(x, 1.0)
        launch(x, 1.0)
    launch(x, 1.0)
    g.launch()
    stream.synchronize()
    assert (set(x.copy_to_host()), [node.kind for node in g.nodes]) == ({8}, ["kernel", "kernel"])


def test_updates_count_from_the_next_launch_on(add: Any, stream: Stream) -> None:
    x, y, small = zeros(), zeros(), cuda.to_device(np.zeros(7, np.int16))
    cuda.synchronize()
    with gridjit.graph(stream) as g:
        add[1, 128, stream](x, 1.0)
        add[1, 128, stream](x, 10.0)
    g.launch()
    g.update(1, (y, 5.0))
    g.launch()
    g.update("adds", (small, 3))  # other code
    g.launch()
    stream.synchronize()
    assert [set(a.copy_to_host()) for a in (x, y, small)] == [{12}, {10}, {3}]


def test_arrays_and_code_live_as_long_as_the_graph(add: Any, stream: Stream) -> None:
    x, out = zeros(), zeros()
    with gridjit.graph(stream) as g:
        add[1, 128, stream](x, 1.0)
        out.copy_to_device(x, stream)
    del x
    add.recompile()
    gc.collect()
    others = [zeros() for _ in range(20)]
    for _ in range(4):
        g.launch()
    stream.synchronize()
    assert set(out.copy_to_host()) == {4}
    assert {value for one in others for value in one.copy_to_host()} == {0}
    g.close()


def test_missing_code_is_compiled_while_it_is_recorded(stream: Stream) -> None:
    kernel, x = gridjit.jit(adds, target="cuda"), zeros()
    with gridjit.graph(stream) as g:
        kernel[1, 128, stream](x, 1.0)
    assert kernel.stats.compiles == 1
    g.launch()
    stream.synchronize()
    assert set(x.copy_to_host()) == {1}


def test_a_graph_runs_in_another_stream(add: Any, stream: Stream) -> None:
    x = zeros()
    with gridjit.graph() as g:
        add[1, 128, g.stream](x, 1.0)
    g.launch(stream)
    stream.synchronize()
    assert set(x.copy_to_host()) == {1}


def test_what_cannot_be_recorded_is_refused_and_the_rest_goes_on(add: Any, stream: Stream) -> None:
    x = zeros()
    with gridjit.graph() as inner:
        add[1, 128, inner.stream](x, 1.0)
    with gridjit.graph(stream) as g:
        with pytest.raises(ArgumentError, match=r"cuda\.to_device\(\) before the graph"):
            add[1, 128, stream](np.zeros(8), 1.0)
        with pytest.raises(LaunchError, match="not recorded into another"):
            inner.launch(stream)
        add[1, 128, stream](x, 1.0)
    g.launch()
    stream.synchronize()
    assert set(x.copy_to_host()) == {1}


def test_waiting_for_a_recorded_stream_is_refused_and_the_rest_goes_on(add: Any, stream: Stream) -> None:
    x = zeros()
    with gridjit.graph(stream) as g:
        with pytest.raises(LaunchError, match="is being recorded into a graph"):
            stream.synchronize()
        add[1, 128, stream](x, 1.0)
    g.launch()
    stream.synchronize()
    assert set(x.copy_to_host()) == {1}


def test_what_breaks_the_capture_is_said(add: Any, stream: Stream) -> None:
    x = zeros()
    with pytest.raises(LaunchError, match="could not be recorded"), gridjit.graph(stream):
        add[1, 128, stream](x, 1.0)
        with pytest.raises(gridjit.GridjitError):  # as another library would
            stream.timeline.synchronize(stream.handle)
    add[1, 128, stream](x, 1.0)
    stream.synchronize()
    assert set(x.copy_to_host()) == {1}


def test_torchs_work_is_recorded_between_kernels(add: Any) -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.zeros(100, device="cuda", dtype=torch.float64)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.mul_(1)  # torch loads its code
        torch.cuda.synchronize()
        with gridjit.graph(stream) as g:
            add[1, 128, g.stream](x, 1.0)
            x.mul_(2)
            add[1, 128, g.stream](x, 1.0)
    assert [node.kind for node in g.nodes] == ["kernel", "kernel", "captured"]
    for _ in range(2):
        g.launch()
    torch.cuda.synchronize()
    assert set(x.tolist()) == {9}
