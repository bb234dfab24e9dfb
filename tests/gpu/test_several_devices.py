"""Two real GPUs: each has its own code, memory, streams and events, and the thread's current one decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.devices import presence
from gridjit.runtime.devices.cuda.device import CudaDevice, current_device, devices
from gridjit.runtime.process.current import create_event, create_stream

pytestmark = pytest.mark.gpu
COUNT = 2


def add(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += value


def slow_add(x, value, turns):
    i = cuda.grid(1)
    if i < x.size:
        total = 0.0
        for turn in range(turns):
            total = total * 0.5 + turn % 3
        x[i] += value + (total < -1.0)


@pytest.fixture(autouse=True)
def _two_devices(_gpu: None) -> Iterator[None]:
    """Skip where there are not two devices; make the first one current before and after."""
    if (found := presence.device_count()) < COUNT:
        pytest.skip(f"these tests need {COUNT} CUDA devices; there is {found}")
    cuda.select_device(0)
    yield
    cuda.select_device(0)


def on(ordinal: int) -> CudaDevice:
    """Make a device the current one."""
    cuda.select_device(ordinal)
    return devices()[ordinal]


def ones(ordinal: int, size: int = 1000) -> Any:
    return to_device(np.ones(size), space=devices()[ordinal].space)


def test_one_configured_kernel_runs_on_whichever_device_is_current() -> None:
    kernel = gridjit.jit(add)
    configured = kernel[8, 128]
    arrays = [ones(ordinal) for ordinal in range(COUNT)]
    for turn in range(5):
        for ordinal, array in enumerate(arrays):
            on(ordinal)
            (configured if turn % 2 else kernel[8, 128])(array, 10 + ordinal)
    for ordinal, array in enumerate(arrays):
        assert (array.copy_to_host() == 1 + 5 * (10 + ordinal)).all()
    assert configured.launcher.fast is not None
    if devices()[0].target == devices()[1].target:
        assert kernel.stats.compiles + kernel.stats.disk_hits == 1


@pytest.mark.parametrize("warm", [0, 3])
def test_an_argument_on_another_device_is_an_error_that_names_it(warm: int) -> None:
    kernel = gridjit.jit(add)
    arrays = [ones(ordinal) for ordinal in range(COUNT)]
    for ordinal, array in enumerate(arrays):
        on(ordinal)
        for _ in range(warm):
            kernel[8, 128](array, 1)
    for ordinal in range(COUNT):
        on(ordinal)
        there = 1 - ordinal
        with pytest.raises(TypeError, match=rf"argument 'x' of add: a device array on CUDA device {there}"):
            kernel[8, 128](arrays[there], 1)
        kernel[8, 128](arrays[ordinal], 1)
    for array in arrays:
        assert (array.copy_to_host() == 2 + warm).all()


def test_a_device_is_current_inside_with() -> None:
    kernel = gridjit.jit(add)
    first = ones(0)
    kernel[8, 128](first, 1)
    with cuda.gpus[1]:
        second = cuda.to_device(np.ones(1000))
        assert current_device().ordinal == 1
        for _ in range(3):
            kernel[8, 128](second, 5)
        assert (second.copy_to_host() == 16).all()
    assert current_device().ordinal == 0
    kernel[8, 128](first, 1)
    assert (first.copy_to_host() == 3).all()


@pytest.mark.filterwarnings("ignore:.*is copied to the device and back")
def test_host_arrays_go_to_the_current_device_and_back() -> None:
    kernel = gridjit.jit(add)
    for ordinal in (0, 1, 1, 0, 1):
        on(ordinal)
        values = np.ones(1000)
        kernel[8, 128](values, ordinal + 2)
        assert (values == ordinal + 3).all()


def test_a_debug_kernels_exception_is_the_current_devices() -> None:
    @gridjit.jit(debug=True, opt=False)
    def divide(x, by):
        x[cuda.threadIdx.x] = 1 // by

    for ordinal in (0, 1, 0):
        on(ordinal)
        x = cuda.to_device(np.zeros(1, np.int64))
        divide[1, 1](x, 1)
        with pytest.raises(ZeroDivisionError):
            divide[1, 1](x, 0)
        divide[1, 1](x, 1)


def test_each_device_has_its_own_streams_and_events() -> None:
    kernel = gridjit.jit(add)
    for ordinal in (0, 1, 0, 1):
        device = on(ordinal)
        with create_stream(timeline=device.timeline) as stream:
            array = to_device(np.ones(1000), stream, space=device.space)
            start = stream.record()
            for _ in range(3):
                kernel[8, 128, stream](array, 1)
            end = stream.record()
            end.synchronize()
            assert start.elapsed_time(end) >= 0
            assert (array.copy_to_host() == 4).all()


def test_a_stream_of_another_device_is_refused() -> None:
    kernel = gridjit.jit(add)
    device = on(1)
    stream = create_stream(timeline=device.timeline)
    there = ones(1)
    kernel[8, 128, stream](there, 1)
    kernel[8, 128, stream](there, 1)
    on(0)
    for array in (ones(0), ones(0)):
        with pytest.raises(gridjit.ConfigError, match="the stream is another device's than <CUDA device 0"):
            kernel[8, 128, stream](array, 1)
        assert (array.copy_to_host() == 1).all()
    with pytest.raises(TypeError, match="CUDA device 1"):
        kernel[8, 128, stream](there, 1)
    on(1)
    kernel[8, 128, stream](there, 1)
    stream.synchronize()
    assert (there.copy_to_host() == 4).all()


def test_a_stream_waits_for_another_devices_event() -> None:
    kernel = gridjit.jit(slow_add)
    first, second = (create_stream(nonblocking=True, timeline=devices()[ordinal].timeline) for ordinal in range(COUNT))
    source, copy = ones(0, 1 << 20), ones(1, 1 << 20)
    on(0)
    kernel[1 << 12, 256, first](source, 1.0, 20_000)
    event = create_event(timing=False, timeline=devices()[0].timeline).record(first)
    second.wait(event)
    copy.bind(second).copy_to_device(source.bind(first))
    second.synchronize()
    assert (copy.copy_to_host() == 2).all()


def test_a_thread_has_a_device_of_its_own() -> None:
    kernel = gridjit.jit(add)
    start, results = threading.Barrier(2 * COUNT), {}

    def work(number: int) -> None:
        on(number % COUNT)
        array = cuda.to_device(np.zeros(1000))
        start.wait()
        for turn in range(300):
            kernel[8, 128](array, number + 1)
            if turn % 50 == 0:
                assert current_device().ordinal == number % COUNT
        results[number] = array.copy_to_host()

    run_all([lambda number=number: work(number) for number in range(2 * COUNT)])  # type: ignore[misc]
    for number in range(2 * COUNT):
        assert (results[number] == 300 * (number + 1)).all()


def run_all(functions: list[Callable[[], None]]) -> None:
    """Run functions in threads, and raise what one of them raised."""
    errors: list[BaseException] = []

    def caught(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("key", [np.s_[:], np.s_[::2], np.s_[:, 5:17], np.s_[::-1, ::-1, ::-1], np.s_[:, :, ::3]])
@pytest.mark.parametrize("current", [0, 1])
def test_arrays_are_copied_between_devices(key: Any, current: int) -> None:
    cube = np.arange(20 * 30 * 40, dtype=np.int32).reshape(20, 30, 40)
    on(current)
    for to, of in ((0, 1), (1, 0)):
        source = to_device(cube, space=devices()[of].space)
        copy = device_array(cube.shape, cube.dtype, space=devices()[to].space)
        copy.copy_to_device(np.zeros_like(cube))
        copy[key].copy_to_device(source[key])
        expected = np.zeros_like(cube)
        expected[key] = cube[key]
        assert np.array_equal(copy.copy_to_host(), expected)
    assert current_device().ordinal == current


@pytest.mark.parametrize("own_streams", [False, True])
def test_a_copy_between_devices_waits_for_the_kernel_that_writes_and_holds_up_the_next(own_streams: bool) -> None:
    kernel = gridjit.jit(slow_add)
    mine, theirs = (
        create_stream(nonblocking=True, timeline=devices()[ordinal].timeline) if own_streams else 0
        for ordinal in range(COUNT)
    )
    for number in range(1, 6):
        on(1)
        source = to_device(np.zeros(1 << 20), theirs, space=devices()[1].space)
        kernel[1 << 12, 256, theirs](source, float(number), 5000)
        copy = device_array(1 << 20, np.float64, stream=mine, space=devices()[0].space)
        copy.copy_to_device(source, mine)
        kernel[1 << 12, 256, theirs](source, 100.0, 1)
        assert (copy.copy_to_host(stream=mine) == number).all()
        assert (source.copy_to_host(stream=theirs) == number + 100).all()


def test_arrays_go_when_another_device_is_current() -> None:
    on(1)
    array = ones(1, 1 << 24)
    on(0)
    del array
    assert current_device().ordinal == 0
    assert (ones(1).copy_to_host() == 1).all()
