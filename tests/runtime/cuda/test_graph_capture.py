"""Launches into a stream that is captured into a graph: what could not be repeated is refused before it is done."""

from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.process.session import Session
from tests.kernels import writes_block

pytestmark = [
    pytest.mark.cuda_toolkit,
    pytest.mark.filterwarnings("ignore::gridjit.runtime.environment.warnings.PerformanceWarning"),
]
STREAM = 0x50


@pytest.fixture
def kernel(device, monkeypatch):
    """Return a kernel that is launched on the stand-in."""
    monkeypatch.setattr(Session, "device", lambda self, name: device)
    return gridjit.jit(writes_block)


def test_a_kernel_that_is_not_loaded_is_loaded_as_a_capture_allows_it_and_launched(api, device, kernel):
    out = to_device(np.zeros(32), space=device.space)
    api.capturing.add(STREAM)
    api.mode = "the capture's"
    modes = []
    load = api._functions["cuLibraryLoadData"]
    api._functions = {**api._functions, "cuLibraryLoadData": lambda *given: (modes.append(api.mode), load(*given))[1]}
    kernel[1, 32, STREAM](out)
    assert kernel.stats.compiles == 1
    assert [(call[1], call[8]) for call in api.called("cuLaunchKernel")] == [(1, STREAM)]
    assert [mode.name for mode in modes] == ["CU_STREAM_CAPTURE_MODE_RELAXED"]
    assert api.mode == "the capture's"


def test_a_kernel_that_was_launched_before_is_captured_also_with_another_grid(api, device, kernel):
    out = to_device(np.zeros(32), space=device.space)
    kernel[1, 32](out)
    api.capturing.add(STREAM)
    kernel[5, 32, STREAM](out)
    grids = [(call[1], call[8]) for call in api.called("cuLaunchKernel")]
    assert grids == [(1, 0), (5, STREAM)]


def test_a_kernel_that_needs_other_code_for_the_captured_launch_gets_it(api, device, kernel):
    out = to_device(np.zeros(64), space=device.space)
    kernel[1, 32](out)
    api.capturing.add(STREAM)
    kernel[1, 64, STREAM](out)
    assert kernel.stats.compiles == 2
    assert [(call[4], call[8]) for call in api.called("cuLaunchKernel")] == [(32, 0), (64, STREAM)]


@pytest.mark.parametrize("direction", [lambda x: x, gridjit.In, gridjit.Out, gridjit.InOut])
def test_an_array_on_the_host_is_refused_by_its_name_and_nothing_is_copied(api, kernel, direction):
    out = np.zeros(32)
    kernel[1, 32](direction(out))
    copies = len(api.called("cuMemcpy"))
    api.capturing.add(STREAM)
    with pytest.raises(ArgumentError, match=r"argument 'out' of writes_block: .* graph .*cuda\.to_device\(\) before"):
        kernel[1, 32, STREAM](direction(out))
    assert len(api.called("cuMemcpy")) == copies


def test_an_array_shows_no_items_in_a_captured_stream_and_breaks_no_capture_in_another(api, device):
    array = to_device(np.arange(3.0), space=device.space).bind(STREAM)
    api.mode, modes = "the capture's", []
    copy = api._functions["cuMemcpyAsync"]
    api._functions = {**api._functions, "cuMemcpyAsync": lambda *given: (modes.append(api.mode), copy(*given))[1]}
    api.capturing.add(STREAM + 1)
    assert repr(array).endswith(": [0., 1., 2.]>")
    api.capturing.add(STREAM)
    assert repr(array) == f"<{array.described}>"
    assert ([mode.name for mode in modes], api.mode) == (["CU_STREAM_CAPTURE_MODE_RELAXED"], "the capture's")
