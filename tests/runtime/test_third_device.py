"""A device that was written from the protocols alone: what they declare is enough for everything that kernels do."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.signature import ArgType, ScalarType
from gridjit.runtime.args.handler import ArgumentHandler, Parameters, Place, register
from gridjit.runtime.devices.base import Capture, Device, LoadedKernel, Runnable
from gridjit.runtime.memory.space import Space
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.operation import Operation
from gridjit.runtime.process.session import Session
from gridjit.runtime.queues.streams import Timeline
from tests.runtime.recording_device import (
    Recorder,
    RecordingCapture,
    RecordingDevice,
    RecordingGraph,
    RecordingKernel,
    RecordingSpace,
    RecordingTimeline,
)

pytestmark = pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning")
ORDINAL = 3


class Celsius:
    """A value of a class that no kind of argument is for."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


class CelsiusHandler:
    """An argument kind, written from its protocol alone."""

    def kind(self, value: Celsius) -> Hashable:
        return Celsius

    def type_of(self, value: Celsius, place: Place) -> ArgType:
        return ScalarType(dtype="float64")

    def parameters(self, value: Celsius, transfer: Any) -> Parameters:
        return [value.degrees]

    def operation(self, value: Celsius, place: Place, declared: ArgType) -> Operation | None:
        return None


register(Celsius, CelsiusHandler())
PROTOCOLS = [
    (Device, RecordingDevice),
    (LoadedKernel, RecordingKernel),
    (Space, RecordingSpace),
    (Timeline, RecordingTimeline),
    (Capture, RecordingCapture),
    (Runnable, RecordingGraph),
    (ArgumentHandler, CelsiusHandler),
]


def declared(cls: type) -> dict[str, list[tuple[str, Any]] | None]:
    """Return the public names that a class has, with the parameters of those that are called."""
    names = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
    return {
        name: [(p.name, p.default) for p in inspect.signature(value).parameters.values()] if callable(value) else None
        for name, value in names.items()
    }


@pytest.mark.parametrize(("protocol", "written"), PROTOCOLS)
def test_what_runs_below_has_what_the_protocols_declare_and_nothing_more(protocol: type, written: type) -> None:
    assert declared(written) == declared(protocol)


class Here:
    """The recording device, as the one that all kernels of the process run on."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.notes: list[str] = []
        self.device = RecordingDevice(self.recorder, self.notes, target=host_target(), ordinal=ORDINAL)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    made = Here()
    monkeypatch.setattr(Session, "device", lambda self, target: made.device)
    yield made


@pytest.fixture
def scale() -> Any:
    @gridjit.jit
    def scale(x, factor):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    return scale


def described(parameters: bytes) -> tuple[int, int, float]:
    """Return items, address of the first, and the number behind, of the parameters of (an array, a float64)."""
    _, _, count, _, address, _, _ = np.frombuffer(parameters[:56], np.int64).tolist()
    return count, address, float(np.frombuffer(parameters[56:64], np.float64)[0])


def test_a_kernel_is_launched_there_with_its_arrays_copied_to_its_memory_and_back(here: Here, scale: Any) -> None:
    x = np.arange(5.0)
    scale[2, 64, 0, 16](x, 2.5)
    launched = here.recorder.last
    count, address, factor = described(launched.parameters)
    assert (launched.config.griddim, launched.config.blockdim, launched.sharedmem) == ((2, 1, 1), (64, 1, 1), 16)
    assert (count, factor) == (5, 2.5)
    assert address != x.ctypes.data
    assert here.notes == ["in 5 on 0", "out 5 on 0"]


@pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
def test_its_address_is_what_machine_code_launches_by(here: Here, scale: Any) -> None:
    x = cuda.to_device(np.arange(5.0))
    configured = scale[2, 64]
    for _ in range(3):
        configured(x, 2.5)
    assert here.recorder.ways == ["python", "native", "native"]
    assert len({launched.parameters for launched in here.recorder.launches}) == 1


def test_device_arrays_are_in_its_memory_and_used_in_place(here: Here, scale: Any) -> None:
    x = cuda.to_device(np.arange(5.0))
    here.notes.clear()
    scale[1, 64](x, 2.5)
    assert described(here.recorder.last.parameters) == (5, x.data, 2.5)
    assert here.notes == []
    assert (x.device, x.copy_to_host().tolist()) == (ORDINAL, [0.0, 1.0, 2.0, 3.0, 4.0])
    same, strided = cuda.device_array_like(x), x[::-1].copied()
    same.copy_to_device(x)
    assert same.copy_to_host().tolist() == strided.copy_to_host().tolist()[::-1] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert cuda.pinned_array(3).shape == (3,)
    with pytest.raises(DeviceError, match="no managed memory"):
        cuda.managed_array(3)


def test_its_streams_and_events_order_launches_and_copies(here: Here, scale: Any) -> None:
    with cuda.stream() as stream, gridjit.create_event() as event, gridjit.create_event() as later:
        scale[1, 64](np.arange(5.0), 2.5)
        event.record().wait(cuda.default_stream())
        assert event.elapsed_time(later) == 1.0
        stream.synchronize()
    stream.close()
    cuda.synchronize()
    assert here.recorder.last.stream == 101
    assert here.notes == [
        "create stream 101",
        "create event 102",
        "create event 103",
        "in 5 on 101",
        "out 5 on 101",
        "record 102 in 101",
        "0 waits for 102",
        "synchronize 101",
        "destroy event 103",
        "destroy event 102",
        "destroy stream 101",
        "synchronize all",
    ]


def test_its_graphs_record_run_and_are_updated(here: Here, scale: Any) -> None:
    x = cuda.to_device(np.arange(5.0))
    y = cuda.device_array_like(x)
    here.notes.clear()
    with gridjit.graph() as graph:
        scale[1, 64, graph.stream](x, 2.0)
        y.copy_to_device(x, stream=graph.stream)
    graph.launch()
    graph.update(0, (y, 3.0))
    graph.launch(graph.stream)
    graph.close()
    assert here.recorder.launches == []
    assert [note for note in here.notes if not note.startswith("keep")] == [
        "create stream 101",
        "capture 101",
        "run 2 in 0",
        "update node 1",
        "run 2 in 101",
        "close",
    ]


def test_an_error_while_a_graph_is_recorded_cancels_its_capture(here: Here, scale: Any) -> None:
    x = cuda.to_device(np.arange(5.0))
    with pytest.raises(ZeroDivisionError), gridjit.graph() as graph:
        scale[1, 64, graph.stream](x, 2.0)
        _ = 1 / 0
    assert here.notes[-1] == "cancel"


def test_what_can_be_asked_of_a_kernel_is_asked_of_its_device(here: Here, scale: Any) -> None:
    scale.forall(100)(cuda.to_device(np.arange(100.0)), 2.5)
    assert here.recorder.last.config.blockdim == (48, 1, 1)
    (overload,) = scale.overloads.values()
    assert (overload.regs_per_thread, overload.shared_mem_per_block, overload.max_threads_per_block) == (11, 22, 55)
    assert overload.max_cooperative_grid_blocks(128) == 8
    function = overload._codelibrary.get_cufunc()
    assert (function.handle, function.device) == (0x77, here.device)
    with pytest.raises(DeviceError, match="no memory to split"):
        function.cache_config(prefer_cache=True)
    with pytest.raises(DeviceError, match="no memory to split"):
        function.set_shared_memory_carveout(50)


def test_hooks_run_before_a_launch_there(here: Here, scale: Any) -> None:
    configured, seen = scale[3, 32], []
    configured.pre_launch_callbacks.append(lambda kernel, config: seen.append((kernel == scale, config.griddim)))
    configured(cuda.to_device(np.arange(5.0)), 2.5)
    assert seen == [(True, (3, 1, 1))]
    assert here.recorder.ways == ["python"]


def test_an_argument_kind_written_from_its_protocol_is_passed(here: Here, scale: Any) -> None:
    x = cuda.to_device(np.arange(5.0))
    scale[1, 64](x, Celsius(21.5))
    assert described(here.recorder.last.parameters) == (5, x.data, 21.5)


def test_what_the_host_has_not_it_says() -> None:
    @gridjit.jit(target="host")
    def nothing(x):
        pass

    nothing[1, 1](1)
    (overload,) = nothing.overloads.values()
    loaded = overload._loaded()
    assert (loaded.handle, loaded.grid_function, loaded.context, loaded.resident_blocks(32)) == (
        None,
        None,
        0,
        32 * 132,
    )
    assert loaded.driver_function is None
    assert (loaded.here(), loaded.device.ordinal, loaded.device.staging) == (loaded.device, None, None)
    with pytest.raises(DeviceError, match="launches kernels by a handle"):
        loaded.entry(0)
    with pytest.raises(DeviceError, match="memory cannot be split"):
        loaded.prefer_shared(50)


def test_a_warning_that_is_an_error_is_raised_as_itself_and_nothing_is_launched(
    here: Here, scale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubtful(self: Any, value: Celsius, transfer: Any) -> Parameters:
        warnings.warn("so cold?", UserWarning, stacklevel=2)
        return [value.degrees]

    monkeypatch.setattr(CelsiusHandler, "parameters", doubtful)
    with pytest.raises(UserWarning, match="so cold"):  # warnings are errors in these tests
        scale[1, 64](cuda.to_device(np.arange(5.0)), Celsius(-271.0))
    assert here.recorder.launches == []
