"""Launches into streams of any library, with every shape that a launch can have."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.kernels import writes_block_everywhere

pytestmark = pytest.mark.usefixtures("target")


class SomeStream:
    """A stream of a library that speaks the protocol and nothing else."""

    def __init__(self, handle: int) -> None:
        self.handle_of_a_stream = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle_of_a_stream)


@pytest.mark.parametrize("kind", ["own", "int", "protocol"])
def test_a_kernel_is_launched_in_a_stream_however_it_is_given(kind: str) -> None:
    kernel, out = gridjit.jit(writes_block_everywhere), cuda.to_device(np.zeros(100, np.int64))
    with gridjit.create_stream() as stream:
        given: Any = {"own": stream, "int": int(stream), "protocol": SomeStream(int(stream))}[kind]
        for block in (32, 64, 32):
            kernel[4, block, given](out)
            stream.synchronize()
            assert set(out.copy_to_host()) == {block}
    assert kernel.stats.compiles == 2


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_a_kernel_is_launched_in_a_stream_of_another_library(target: str, library: str) -> None:
    if target == "host":
        pytest.skip("the libraries' streams are the GPU's")
    module: Any = pytest.importorskip(library)
    kernel, out = gridjit.jit(writes_block_everywhere), cuda.to_device(np.zeros(100, np.int64))
    cuda.synchronize()
    stream = module.cuda.Stream()
    for block in (32, 64, 32):
        kernel[4, block, stream](out)
        stream.synchronize()
        assert set(out.copy_to_host()) == {block}


def test_a_cluster_is_a_field_of_the_launch_like_others(target: str) -> None:
    if cuda.get_current_device().compute_capability < (9, 0):
        pytest.skip("clusters need sm_90 or newer")
    kernel, out = gridjit.jit(writes_block_everywhere), cuda.to_device(np.zeros(256, np.int64))
    for cluster in (None, 2, 4):
        kernel.configure(8, 32, cluster=cluster)(out)
        assert set(out.copy_to_host()) == {32}
    assert kernel.stats.compiles == 1


def for_two_milliseconds() -> None:
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass


def test_events_measure_how_many_milliseconds_the_work_between_them_took() -> None:
    with gridjit.create_stream() as stream, gridjit.create_event() as start, gridjit.create_event() as end:
        out = cuda.to_device(np.zeros(100, np.int64), stream=stream)
        began = time.perf_counter()
        start.record(stream)
        stream.on_complete(for_two_milliseconds)
        gridjit.jit(writes_block_everywhere)[4, 32, stream](out)
        end.record(stream)
        end.synchronize()
        whole = (time.perf_counter() - began) * 1e3
        # The clocks of a GPU and of its host differ a little.
        assert 1.9 <= start.elapsed_time(end) <= whole + 0.1
        assert set(out.copy_to_host(stream=stream)) == {32}
