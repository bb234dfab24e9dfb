"""The native launch function: it launches what it was told of as Python would, and leaves all else to Python."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError, DeviceError
from gridjit.compiler.values.footprint import Effects
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.process.current import create_stream
from gridjit.runtime.queues.timeline import HOST
from tests.runtime.standin import Launched, StandInKernel

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")


def both_ways(*args: Any, kernel: StandInKernel | None = None, **configuration: Any) -> tuple[Launched, Launched]:
    """Return a launch from Python and the next one, which must be native."""
    kernel = kernel or StandInKernel(arity=len(args))
    configured = kernel.configured(**configuration)
    configured(*args)
    configured(*args)
    assert kernel.recorder.ways == ["python", "native"]
    first, second = kernel.recorder.launches
    return first, second


def test_the_second_launch_is_native_and_equal_in_everything() -> None:
    first, second = both_ways(3, np.ones(5), 2.5, griddim=(2, 3, 4), blockdim=(8, 4, 2), stream=16, sharedmem=1024)
    assert (second.config, second.sharedmem, second.stream) == (LaunchConfig.of((2, 3, 4), (8, 4, 2), 1024), 1024, 16)
    assert second.parameters == first.parameters
    assert second.handle == first.handle == 0x77


def test_a_kernel_without_parameters_is_given_no_buffer() -> None:
    first, second = both_ways()
    assert second.parameters == first.parameters == b""


def test_required_shared_memory_is_launched_with() -> None:
    kernel = StandInKernel(arity=0, effects=Effects(sharedmem=4096))
    assert [launched.sharedmem for launched in both_ways(kernel=kernel, sharedmem=16)] == [4096, 4096]


@pytest.mark.parametrize(
    "other",
    [
        (1.5, 2.0),
        (True, 2.0),
        (np.int64(1), 2.0),
        (2**63, 2.0),
        (1, 2),
        (1, np.float64(2.0)),
    ],
)
def test_an_argument_of_another_type_goes_to_python_and_is_native_the_next_time(other: tuple[Any, ...]) -> None:
    kernel = StandInKernel(arity=2)
    configured = kernel.configured()
    for args in ((1, 2.0), (1, 2.0), other, other, (1, 2.0)):
        configured(*args)
    assert kernel.recorder.ways == ["python", "native", "python", "native", "native"]
    assert len(kernel.signatures) == 2
    assert kernel.recorder.launches[2].parameters == kernel.recorder.launches[3].parameters


@pytest.mark.parametrize("wide", [2**64, -(2**63) - 1, (2**64, 1.0)])
@pytest.mark.parametrize("before", [1, 2**64 - 1, (2**64 - 1, 1.0)])
def test_an_int_that_fits_no_parameter_is_an_error_that_names_it(before: Any, wide: Any) -> None:
    configured = StandInKernel(arity=2).configured()
    configured(1.0, before)
    configured(1.0, before)
    with pytest.raises(ArgumentError, match=r"argument 'a1' of standin: the int -?\d+ does not fit into 64 bits"):
        configured(1.0, wide)


def test_a_wrong_number_of_arguments_is_an_error() -> None:
    configured = StandInKernel(arity=1).configured()
    configured(1)
    with pytest.raises(ArgumentError, match="standin takes 1"):
        configured(1, 2)
    with pytest.raises(ArgumentError, match="standin takes 1"):
        configured()


@pytest.mark.parametrize("warm", [False, True])
def test_keywords_are_an_error(warm: bool) -> None:
    configured = StandInKernel(arity=1).configured()
    if warm:
        configured(1)
        configured(1)
    with pytest.raises(ArgumentError, match="standin takes its arguments by position"):
        configured(a0=1)  # type: ignore[arg-type]


def test_a_launch_that_the_driver_refuses_is_tried_by_python_which_says_why() -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    configured(1)
    kernel.recorder.code = 719
    with pytest.raises(RuntimeError, match="the driver says 719"):
        configured(1)
    assert kernel.recorder.ways == ["python", "native"]


def test_more_kinds_than_there_are_tables_still_launch_right() -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    values = [1, 2.0, True, 3j, np.int8(4), np.float32(5), np.ones(3), np.ones((2, 2)), np.ones(3, np.int32)]
    for _ in range(20):
        for value in values:
            configured(value)
    by_kind = [kernel.recorder.launches[index :: len(values)] for index in range(len(values))]
    assert all(len({launched.parameters for launched in launches}) == 1 for launches in by_kind)
    assert len({launches[0].parameters for launches in by_kind}) == len(values)


def test_objects_of_equal_configuration_share_tables_but_not_callbacks() -> None:
    kernel = StandInKernel(arity=1)
    called: list[Any] = []
    first, second = kernel.configured(), kernel.configured()
    first.pre_launch_callbacks.append(lambda *args: called.append(args))
    first(1)
    second(1)
    assert called == [(kernel, first)]
    assert kernel.recorder.ways == ["python", "native"]
    assert len(kernel.signatures) == 1


def test_a_callback_added_late_runs_and_one_removed_does_not() -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    called: list[Any] = []
    configured(1)
    configured(1)
    configured.pre_launch_callbacks.append(lambda *args: called.append(args))
    configured(1)
    assert called == [(kernel, configured)]
    configured.pre_launch_callbacks.clear()
    configured(1)
    assert len(called) == 1
    assert kernel.recorder.ways == ["python", "native", "python", "native"]


def test_hooks_of_the_compile_run_before_each_launch_with_the_object_that_was_called() -> None:
    called: list[Any] = []
    kernel = StandInKernel(arity=0, hooks=(lambda *args: called.append(args),))
    configured = kernel.configured()
    configured()
    configured()
    assert called == [(kernel, configured)] * 2


def test_cooperative_kernels_are_launched_by_python() -> None:
    kernel = StandInKernel(arity=0, cooperative=True)
    configured = kernel.configured()
    configured()
    configured()
    assert kernel.recorder.ways == ["python", "python"]


def test_what_is_forgotten_is_looked_up_again_by_objects_that_exist() -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    configured(1)
    configured(1)
    kernel.ready.drop()
    configured(1)
    assert kernel.recorder.ways == ["python", "native", "python"]
    assert len(kernel.signatures) == 2


def test_streams_are_told_apart_by_identity_not_equality() -> None:
    class Stream:
        def __init__(self, handle: int) -> None:
            self.handle = handle

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, self.handle)

    kernel = StandInKernel(arity=0)
    one, other = kernel.configured(stream=Stream(0x100)), kernel.configured(stream=Stream(0x200))
    for configured in (one, other, one, other):
        configured()
    assert [launched.stream for launched in kernel.recorder.launches] == [0x100, 0x200, 0x100, 0x200]


@pytest.mark.parametrize("hold_gil", [False, True])
def test_threads_launch_at_once_without_mixing_their_parameters(hold_gil: bool) -> None:
    kernel = StandInKernel(arity=3, hold_gil=hold_gil)
    configured = kernel.configured()
    configured(0, 0.0, 0)
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for index in range(300):
            configured(number, float(number), index)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = sorted(np.frombuffer(launched.parameters, "i8,f8,i8")[0].item() for launched in kernel.recorder.launches[1:])
    assert seen == [(number, float(number), index) for number in range(1, 5) for index in range(300)]
    assert set(kernel.recorder.ways[1:]) == {"native"}


def test_the_launch_function_outlives_what_it_was_taken_from() -> None:
    kernel = StandInKernel(arity=1)
    recorder = kernel.recorder
    configured = kernel.configured()
    configured(1)
    configured(1)
    function: Any = configured.__call__
    del configured
    kernel.ready = None  # type: ignore[assignment]
    gc.collect()
    function(5)
    assert recorder.last.parameters == (5).to_bytes(8, "little")


def test_a_kernel_that_is_gone_takes_its_tables_along() -> None:
    kernel = StandInKernel(arity=1)
    gone = weakref.ref(kernel.device)
    configured = kernel.configured()
    configured(1)
    configured(1)
    del kernel, configured
    gc.collect()
    assert gone() is None


def test_an_argument_is_not_kept_alive_or_lost_by_launching() -> None:
    import sys

    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    value = np.ones(3)
    configured(value)
    gc.collect()  # garbage of earlier tests refers to None too
    before, none_before = sys.getrefcount(value), sys.getrefcount(None)
    for _ in range(1000):
        configured(value)
    for _ in range(50):
        configured(1.5)
    del kernel.recorder.launches[:]
    assert sys.getrefcount(value) == before
    assert abs(sys.getrefcount(None) - none_before) < 500


def test_a_stream_that_was_destroyed_is_an_error_also_after_native_launches() -> None:
    stream = create_stream(timeline=HOST)
    kernel = StandInKernel(arity=1)
    configured = kernel.configured(stream=stream)
    configured(1)
    configured(1)
    assert kernel.recorder.ways == ["python", "native"]
    assert kernel.recorder.last.stream == stream.handle
    stream.close()
    with pytest.raises(DeviceError, match="destroyed"):
        configured(1)
