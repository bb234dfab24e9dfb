"""Tiers on a real GPU: a captured graph keeps generic code, and specialized code comes when the capture has ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
]


def doubles(x):
    i = cuda.grid(1)
    if i < x.size:
        for _ in range(cuda.blockDim.x // 32):
            x[i] *= 2


def forms(kernel: Any) -> list[str]:
    return [found.tier for found in kernel.specializations]


def test_a_graph_is_captured_with_generic_code_and_goes_on_with_it_after_the_swap(device: Any) -> None:
    kernel = gridjit.jit(doubles, specialize="blockdim", tiered=True)
    x, stream = cuda.to_device(np.ones(64, np.float32)), gridjit.create_stream()
    call, api = device.driver.call, device.driver.api
    kernel[1, 64, stream](x)
    stream.synchronize()
    kernel.wait_for_compiles()
    call("cuStreamBeginCapture", stream.handle, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
    try:
        kernel[1, 64, stream](x)
        during = kernel.stats.swaps
    finally:
        graph = call("cuStreamEndCapture", stream.handle)
    assert (during, forms(kernel)) == (0, ["generic"])
    kernel[1, 64, stream](x)
    assert (kernel.stats.swaps, forms(kernel)) == (1, ["generic", "specialized"])
    runnable = call("cuGraphInstantiate", graph, 0)
    for _ in range(3):
        call("cuGraphLaunch", runnable, stream.handle)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [4.0 ** (1 + 1 + 3)] * 64
    call("cuGraphExecDestroy", runnable)
    call("cuGraphDestroy", graph)


def test_neither_form_has_launch_bounds_where_the_block_fits_without(device: Any) -> None:
    kernel = gridjit.jit("void(float32[::1])", specialize="blockdim", tiered=True)(doubles)
    kernel.compile("void(float32[::1])", config=(1, 96))
    generic, specialized = (kernel.loaded(found, device).attributes() for found in kernel.specializations)
    assert (specialized.max_threads, generic.max_threads) == (1024, 1024)
