"""What was launched last, for errors that are only found out later: from Python and from machine code alike."""

from __future__ import annotations

import gc

import pytest

from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.api.calls import attributed
from gridjit.runtime.devices.errors import KernelError
from gridjit.runtime.native.last_launches import LastLaunches, last_launches
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import StandInKernel

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
CONFIG = LaunchConfig.of(7, 32)


@pytest.fixture
def streams() -> tuple[int, int]:
    """Return the handles of two streams that no other test launches in."""
    return 0x71F0, 0x71F8


def names(stream: int) -> list[str]:
    return [f"{one.kernel} {one.config.griddim[0]}" for one in last_launches.of(stream)]


def test_a_native_launch_is_known_as_the_last_of_its_stream(streams: tuple[int, int]) -> None:
    first, second = (StandInKernel(arity=0, name=name) for name in ("first", "second"))
    configured = [first.configured(3, stream=streams[0]), second.configured(5, stream=streams[0])]
    for one in configured * 2:
        one()
    assert names(streams[0]) == ["second 5"]
    configured[0]()
    assert first.recorder.ways == ["python", "native", "native"]
    assert names(streams[0]) == ["first 3"]
    configured[1]()
    assert names(streams[0]) == ["second 5"]


def test_streams_are_kept_apart(streams: tuple[int, int]) -> None:
    kernel = StandInKernel(arity=0)
    for stream, grid in zip(streams * 2, (1, 2, 1, 2), strict=True):
        kernel.configured(grid, stream=stream)()
    assert [names(stream) for stream in streams] == [["standin 1"], ["standin 2"]]


def test_a_launch_from_python_after_native_ones_is_the_last(streams: tuple[int, int]) -> None:
    configured = StandInKernel(arity=0).configured(1, stream=streams[0])
    configured()
    configured()
    last_launches.note("python's", CONFIG, streams[0])
    assert names(streams[0]) == ["python's 7"]
    configured()
    assert names(streams[0]) == ["standin 1"]


def test_a_launch_that_the_driver_refused_is_none(streams: tuple[int, int]) -> None:
    kernel = StandInKernel(arity=0)
    configured = kernel.configured(1, stream=streams[0])
    configured()
    configured()
    last_launches.note("other", CONFIG, streams[0])
    kernel.recorder.code = 700
    with pytest.raises(RuntimeError):
        configured()
    assert names(streams[0]) == ["other 7"]


def test_the_launch_of_a_kernel_that_is_gone_is_still_known(streams: tuple[int, int]) -> None:
    last_launches.note("before", CONFIG, streams[1])
    kernel = StandInKernel(arity=0, name="gone")
    configured = kernel.configured(9, stream=streams[1])
    configured()
    configured()
    del kernel, configured
    gc.collect()
    assert names(streams[1]) == ["gone 9"]


def test_an_error_found_later_names_the_kernel_that_machine_code_launched(streams: tuple[int, int]) -> None:
    configured = StandInKernel(arity=0, name="culprit").configured(4, stream=streams[0])
    configured()
    configured()
    with (
        pytest.raises(KernelError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS; launched last: culprit \[grid 4, block 32\]"),
        attributed(streams[0]),
    ):
        raise KernelError("CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_ILLEGAL_ADDRESS")


def test_devices_are_kept_apart_and_what_is_kept_is_bounded() -> None:
    launches = LastLaunches()
    for device in (0, 1):
        launches.note(f"on {device}", CONFIG, 0, device)
    assert [one.kernel for one in launches.of(0, 1)] == ["on 1"]
    assert [one.kernel for one in launches.of(0)] == ["on 0", "on 1"]
    for stream in range(LastLaunches.LIMIT + 10):
        launches.note("many", CONFIG, stream, 0)
    assert len(launches.of()) <= LastLaunches.LIMIT
