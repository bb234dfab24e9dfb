"""Graphs on the host: what is recorded is not done then, but each time that the graph is launched, in order."""

from __future__ import annotations

import gc
import pickle
import platform
import re
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import ArgumentError, DeviceError, LaunchError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices.host.graphs import Batch, HostRunnable
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.queues.attention import recorders
from tests.kernels import increments
from tests.programs import run_python

pytestmark = [
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
    pytest.mark.filterwarnings("ignore:.* recorded nothing"),
]


def adds(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


def fails_above(x, limit):
    if x[0] > limit:
        raise ValueError("too much")
    x[0] += 1


@pytest.fixture
def add() -> Any:
    """Return a kernel that adds to an array."""
    return gridjit.jit(adds, target="host")


def zeros(size: int = 8) -> Any:
    return to_device(np.zeros(size), space=HOST_SPACE)


def of(array: Any) -> set[Any]:
    return set(array.copy_to_host().tolist())


def test_an_assignment_of_an_array_is_repeated_in_a_graph_but_not_converted() -> None:
    x, y, narrow = zeros(), zeros(1), to_device(np.zeros(8, np.float32), space=HOST_SPACE)
    with gridjit.graph() as g:
        x.setitem(..., y, g.stream)
        with pytest.raises(ArgumentError, match="a graph cannot assign items of float32 to items of float64"):
            x.setitem(..., narrow, g.stream)
    y[0] = 3
    g.launch()
    g.stream.synchronize()
    assert of(x) == {3.0}


def test_what_is_recorded_is_done_when_the_graph_is_launched_and_each_time(add: Any) -> None:
    x, y, out = zeros(), zeros(), np.zeros(8)
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
        y.copy_to_device(x, g.stream)
        add[1, 32, g.stream](x, 10.0)
        x.copy_to_host(out, g.stream)
    assert (of(x), of(y), set(out.tolist())) == ({0}, {0}, {0})
    g.launch()
    assert (of(x), of(y), set(out.tolist())) == ({11}, {1}, {11})
    g.launch()
    assert (of(x), of(y), set(out.tolist())) == ({22}, {12}, {22})


def test_a_stream_that_was_launched_in_before_is_recorded_and_is_itself_again_after(add: Any) -> None:
    stream, x = gridjit.create_stream(), zeros()
    launch = add[1, 32, stream]
    for _ in range(5):
        launch(x, 1.0)
    with gridjit.graph(stream) as g:
        assert stream.is_capturing()
        launch(x, 1.0)
        launch(x, 1.0)
    assert not stream.is_capturing()
    assert of(x) == {5}
    launch(x, 1.0)
    g.launch()
    assert (of(x), len(g.nodes), stream.alive) == ({8}, 2, True)


def test_a_handle_or_foreign_object_of_the_stream_is_recorded_too(add: Any) -> None:
    x = zeros()

    class Foreign:
        def __init__(self, handle: int) -> None:
            self.cuda_stream = handle

    with gridjit.graph() as g:
        add[1, 32, int(g.stream)](x, 1.0)
        add[1, 32, Foreign(int(g.stream))](x, 1.0)
        add[1, 32](x, 100.0)
    assert of(x) == {100}
    g.launch()
    assert of(x) == {102}


def test_nodes_are_named_after_their_kernels_or_as_they_are_told(add: Any) -> None:
    x, buffer = zeros(), gridjit.Buffer.allocate(64, space=HOST_SPACE)
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
        with g.name("halo"):
            add[2, 16, g.stream](x, 2.0)
            buffer.fill(7, stream=g.stream)
        add[1, 32, g.stream](x, 3.0)
    assert [(node.name, node.kind) for node in g.nodes] == [
        ("adds", "kernel"),
        ("halo", "kernel"),
        ("halo 2", "fill"),
        ("adds 2", "kernel"),
    ]
    assert g.nodes["halo"] is g.nodes[1]
    assert g.nodes["halo"].config == add[2, 16].config
    assert repr(g.nodes["halo"]) == "<kernel node 1 'halo' [grid 2, block 16]>"
    assert repr(g) == "<gridjit graph of 4 nodes>"
    with pytest.raises(ArgumentError, match=r"no node 'hello'; its nodes are 'adds', 'halo', 'halo 2', 'adds 2'"):
        g.nodes["hello"]
    g.launch()
    assert set(np.asarray(buffer)) == {7}


def test_other_arguments_count_from_the_next_launch_on(add: Any) -> None:
    x, y = zeros(), zeros()
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
        add[1, 32, g.stream](x, 10.0)
    g.launch()
    g.update("adds 2", (y, 5.0))
    g.update(0, (x, 2.0))
    g.launch()
    g.update(g.nodes[1], [x, 100.0])
    g.launch()
    assert (of(x), of(y)) == ({11 + 2 + 102}, {5})


def test_arguments_of_other_types_get_code_of_their_own(add: Any) -> None:
    x, small = zeros(), to_device(np.zeros(4, np.int16), space=HOST_SPACE)
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
    compiles = add.stats.compiles
    g.update(0, (small, 3))
    assert add.stats.compiles == compiles + 1
    g.launch()
    assert (of(x), of(small)) == ({0}, {3})


def test_an_update_of_what_is_not_a_kernels_node_says_so(add: Any) -> None:
    x, y = zeros(), zeros()
    with gridjit.graph() as g:
        y.copy_to_device(x, g.stream)
    with gridjit.graph() as other:
        add[1, 32, other.stream](x, 1.0)
    with pytest.raises(ArgumentError, match="only nodes of kernels are updated"):
        g.update(0, (x,))
    with pytest.raises(ArgumentError, match="is another graph's"):
        g.update(other.nodes[0], (x, 1.0))
    for wrong in (7, -2, None, 1.0):
        with pytest.raises(ArgumentError, match=re.escape(f"{wrong!r} is not a node of this graph")):
            g.update(wrong, (x, 1.0))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"adds takes 2 arguments \(x, amount\); 1 given"):
        other.update(0, (x,))


def test_a_graph_keeps_its_arrays_and_lets_go_of_them_when_they_are_replaced_or_it_is_closed(add: Any) -> None:
    x, y = zeros(), zeros()
    gone = [weakref.ref(x), weakref.ref(y)]
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
    del x
    gc.collect()
    assert gone[0]() is not None
    g.launch()
    g.update(0, (y, 1.0))
    del y
    gc.collect()
    assert [one() is None for one in gone] == [True, False]
    g.close()
    g.close()
    gc.collect()
    assert gone[1]() is None
    assert (repr(g), g.closed) == ("<gridjit graph, closed>", True)
    with pytest.raises(DeviceError, match=r"this graph was closed; record another"):
        g.launch()


def test_a_graph_that_is_dropped_lets_go_of_its_arrays(add: Any) -> None:
    add[1, 32](zeros(), 1.0)  # what a compile met is kept until the garbage collector comes by
    x = zeros()
    gone = weakref.ref(x)
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
    del x, g
    gc.collect()
    assert gone() is None


def test_a_graph_keeps_code_that_its_kernel_let_go_of(add: Any) -> None:
    x = zeros()
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
    add.recompile()
    gc.collect()
    g.launch()
    assert of(x) == {1}


def test_code_is_compiled_while_it_is_recorded_and_not_when_it_runs() -> None:
    kernel, x = gridjit.jit(increments, target="host"), zeros()
    with gridjit.graph() as g:
        kernel[1, 32, g.stream](x)
    assert kernel.stats.compiles == 1
    g.launch()
    assert (kernel.stats.compiles, of(x)) == (1, {1})


def test_what_a_kernel_did_wrong_is_raised_by_the_launch_and_ends_it() -> None:
    kernel, x, after = gridjit.jit(fails_above, target="host", debug=False, opt=True), zeros(1), zeros(1)
    add = gridjit.jit(adds, target="host")
    with gridjit.graph() as g:
        for _ in range(2):
            add[1, 32, g.stream](x, 1.0)
            add[1, 32, g.stream](after, 1.0)
    for _ in range(3):
        g.launch()
    del kernel
    assert (of(x), of(after)) == ({6}, {6})


def test_the_launches_after_one_that_raised_are_not_made() -> None:
    kernel, add = gridjit.jit(fails_above, target="host", debug=True, opt=False), gridjit.jit(adds, target="host")
    x, after = zeros(1), zeros(1)
    with gridjit.graph() as g:
        kernel[1, 1, g.stream](x, 1.0)
        add[1, 32, g.stream](after, 1.0)
    g.launch()
    g.launch()
    with pytest.raises(ValueError, match="too much"):
        g.launch()
    assert (of(x), of(after)) == ({2}, {2})


def test_launches_that_follow_each_other_run_in_one_call(add: Any) -> None:
    x, y = zeros(), zeros()
    for _ in range(4):
        add[1, 32](x, 0.0)
    with gridjit.graph() as g:
        for _ in range(20):
            add[1, 32, g.stream](x, 1.0)
        y.copy_to_device(x, g.stream)
        add[1, 32, g.stream](x, 1.0)
    runnable: Any = g._runnable
    assert isinstance(runnable, HostRunnable)
    if runnable._device.engine(make=True) is not None:
        assert len(runnable._pieces) == 3
    for _ in range(50):
        g.launch()
    assert (of(x), of(y)) == ({50 * 21}, {50 * 21 - 1})


def test_grids_of_any_size_run_whole_in_a_graph(add: Any) -> None:
    small, large = zeros(7), zeros(1 << 20)
    with gridjit.graph() as g:
        add[1, 32, g.stream](small, 1.0)
        add[1 << 12, 256, g.stream](large, 1.0)
        add[1, 32, g.stream](small, 1.0)
    for _ in range(20):
        g.launch()
    assert (of(small), of(large)) == ({40}, {20})


INTERRUPTED = """
import mmap, os, signal
import numpy as np

GO_ON, STARTED, WANTED = range(3)
flags = np.frombuffer(mmap.mmap(-1, 4096), np.int64)[:3]
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        if flags[WANTED] and flags[STARTED]:
            flags[WANTED] = 0
            os.kill(parent, signal.SIGINT)
        os.sched_yield()
    os._exit(0)

import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def waits(flags):
    cuda.atomic.add(flags, 1, 1)
    while cuda.atomic.add(flags, 0, 0) == 0:
        pass

@gridjit.jit(target="host")
def increment(x):
    x[0] += 1

x = np.zeros(1)
with gridjit.graph() as g:
    increment[1, 1, g.stream](x)
    waits[1, 1, g.stream](flags)
    increment[1, 1, g.stream](x)
flags[GO_ON] = 1
for _ in range(8):
    g.launch()
flags[:] = 0, 0, 1
try:
    g.launch()
except KeyboardInterrupt:
    print("interrupted", x[0])
flags[GO_ON] = 1
g.launch()
print("fine", x[0])
"""


@pytest.mark.skipif(
    object_layout() is None or platform.machine() != "x86_64", reason="blocks are only left where launches are native"
)
def test_an_interrupt_ends_a_graph_of_small_launches_and_leaves_all_usable() -> None:
    done = run_python("-c", INTERRUPTED)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == ["interrupted 17.0", "fine 19.0"]


def test_threads_launch_one_graph_at_once(add: Any) -> None:
    arrays = [zeros() for _ in range(4)]
    graphs = []
    for x in arrays:
        with gridjit.graph() as g:
            for _ in range(10):
                add[1, 32, g.stream](x, 1.0)
        graphs.append(g)
    barrier = threading.Barrier(4)

    def run(number: int) -> None:
        barrier.wait()
        for _ in range(200):
            graphs[number].launch()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [of(x) for x in arrays] == [{2000}] * 4


def test_another_threads_launches_in_the_stream_are_recorded_too_and_in_other_streams_are_done(add: Any) -> None:
    x, y, stream = zeros(), zeros(), gridjit.create_stream()

    def work() -> None:
        add[1, 32, g.stream](x, 1.0)
        add[1, 32, stream](y, 1.0)

    with gridjit.graph() as g:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    stream.synchronize()
    assert (of(x), of(y), len(g.nodes)) == ({0}, {1}, 1)
    g.launch()
    assert of(x) == {1}


def test_numpy_arrays_are_used_in_place_each_time_on_the_host(add: Any) -> None:
    x = np.zeros(4)
    with gridjit.graph() as g:
        add[1, 32, g.stream](x, 1.0)
    assert set(x) == {0}
    g.launch()
    g.launch()
    assert set(x) == {2}


def test_arrays_given_as_in_are_refused_with_the_way_on(add: Any) -> None:
    x = np.zeros(4)
    with gridjit.graph() as g, pytest.raises(ArgumentError, match=r"argument 'x' of adds: .* as In .*cuda\.to_device"):
        add[1, 32, g.stream](gridjit.In(x), 1.0)
    assert len(g.nodes) == 0


def test_hooks_run_when_a_launch_is_recorded(add: Any) -> None:
    x, seen = zeros(), []
    with gridjit.graph() as g:
        configured = add[1, 32, g.stream]
        configured.pre_launch_callbacks.append(lambda kernel, config: seen.append(config.griddim))
        configured(x, 1.0)
    g.launch()
    g.launch()
    assert (seen, of(x)) == ([(1, 1, 1)], {2})


def test_an_error_while_recording_drops_the_graph_and_leaves_the_stream_as_it_was(add: Any) -> None:
    x, stream = zeros(), gridjit.create_stream()
    g = gridjit.graph(stream)
    with pytest.raises(ZeroDivisionError), g:
        add[1, 32, stream](x, 1.0)
        raise ZeroDivisionError
    assert (g.closed, recorders, stream.is_capturing()) == (True, {}, False)
    add[1, 32, stream](x, 1.0)
    assert of(x) == {1}
    with pytest.raises(DeviceError, match="was closed"):
        g.launch()


def test_a_stream_has_one_recording_at_a_time_and_a_graph_is_recorded_once(add: Any) -> None:
    stream = gridjit.create_stream()
    with gridjit.graph(stream) as g:
        with pytest.raises(LaunchError, match="is being recorded into another graph"), gridjit.graph(stream):
            pass
        with pytest.raises(LaunchError, match="after its with block"):
            g.launch()
        with pytest.raises(LaunchError, match="after its with block"):
            g.nodes  # noqa: B018
        with pytest.raises(LaunchError, match="close it after its with block"):
            g.close()
    with pytest.raises(LaunchError, match="is recorded once"), g:
        pass
    with pytest.raises(LaunchError, match="name nodes inside its with block"), g.name("late"):
        pass


def test_a_graph_is_not_recorded_into_another(add: Any) -> None:
    x = zeros()
    with gridjit.graph() as inner:
        add[1, 32, inner.stream](x, 1.0)
    with gridjit.graph() as outer, pytest.raises(LaunchError, match="a graph is not recorded into another"):
        inner.launch(outer.stream)
    inner.launch()
    assert of(x) == {1}


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_the_default_stream_is_refused_with_the_way_on(stream: int) -> None:
    with pytest.raises(ArgumentError, match=r"the default stream cannot be recorded: give a stream of"):
        gridjit.graph(stream)


def test_an_empty_graph_runs_and_is_warned_of() -> None:
    with pytest.warns(gridjit.ConfigWarning, match="recorded nothing.*g.stream") as caught, gridjit.graph() as g:
        pass
    assert caught[0].filename == __file__
    g.launch()
    assert repr(g) == "<gridjit graph of 0 nodes>"


def test_an_event_in_a_stream_that_is_recorded_does_not_happen_and_says_so(add: Any) -> None:
    other = gridjit.create_stream()
    with gridjit.graph() as g:
        add[1, 8, g.stream](zeros(), 1.0)
        event = g.stream.record()
        event.wait(g.stream)
        waits = (lambda: event.wait(other), lambda: other.wait(g.stream))
        for asks in (event.synchronize, event.query, lambda: event.elapsed_time(event), *waits):
            with pytest.raises(LaunchError, match="a point of the graph, and does not happen now; record it after"):
                asks()
    g.launch()
    with pytest.raises(LaunchError, match="a point of the graph"):
        event.synchronize()
    event.record(g.stream).synchronize()
    assert event.query()


def test_a_stream_that_is_recorded_does_not_wait_for_what_is_not_in_the_graph_and_says_so(add: Any) -> None:
    other = gridjit.create_stream()
    with gridjit.graph() as g:
        add[1, 8, g.stream](zeros(), 1.0)
        for waits in (lambda: other.record().wait(g.stream), lambda: g.stream.wait(other)):
            with pytest.raises(LaunchError, match="does not wait for what is not in it: have the stream"):
                waits()
    g.stream.wait(other)
    g.launch()


def test_a_graph_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="a graph cannot be pickled"):
        pickle.dumps(gridjit.graph())


def test_an_update_makes_its_own_node_anew_and_leaves_the_others_and_what_runs(
    add: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, z = zeros(), zeros(), zeros()
    stream, opened = gridjit.create_stream(), threading.Event()
    with gridjit.graph(stream) as g:
        add[1, 32, stream](x, 1.0)
        add[1, 32, stream](y, 1.0)
        add[1, 32, stream](x, 1.0)
    made = []
    monkeypatch.setattr(Batch, "of", made.append)
    stream.on_complete(lambda: opened.wait(60))
    g.launch()
    g.update(1, (z, 5.0))
    g.launch()
    g.update(0, (z, 100.0))
    opened.set()
    stream.synchronize()
    assert (of(x), of(y), of(z), made) == ({4.0}, {1.0}, {5.0}, [])
    g.launch()
    stream.synchronize()
    assert (of(x), of(y), of(z)) == ({5.0}, {1.0}, {110.0})


def test_nodes_of_one_name_are_numbered_and_no_two_have_the_same(add: Any) -> None:
    x = zeros()
    with gridjit.graph() as g:
        for name in ("halo", "halo 2", "halo", "halo", "halo 2", "halo 3"):
            with g.name(name):
                add[1, 32, g.stream](x, 1.0)
    names = ["halo", "halo 2", "halo 3", "halo 4", "halo 2 2", "halo 3 2"]
    assert [node.name for node in g.nodes] == names
