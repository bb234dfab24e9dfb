"""A kernel keeps a bounded number of specializations: the least recently used are unloaded, and said so once."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.devices import presence
from gridjit.runtime.devices.host.device import HostKernel
from gridjit.runtime.specializations.table import Specializations


def sized(limit: int) -> Any:
    """Return a kernel that is another one for every block size."""

    @gridjit.jit(max_specializations=limit, target="host")
    def sized(x):
        x[0] = gridjit.static.blockDim.x

    return sized


def launch(kernel: Any, block: int) -> None:
    """Launch with a block size and check what the kernel saw."""
    out = np.zeros(1, np.int64)
    kernel[1, block](out)
    assert out[0] == block


def blocks(kernel: Any) -> set[int]:
    """Return the block sizes of the specializations in use."""
    return {found.config.blockdim[0] for found in kernel.specializations}


def loaded_images() -> set[bytes]:
    """Return the object code of every kernel that is loaded on the host in this process."""
    gc.collect()
    return {found.artifact.image for found in gc.get_objects() if type(found) is HostKernel}


@pytest.mark.filterwarnings("ignore::gridjit.SpecializationWarning")
def test_the_least_recently_used_goes_and_comes_back_from_disk() -> None:
    kernel = sized(2)
    for block in (1, 2, 3):
        launch(kernel, block)
    assert blocks(kernel) == {2, 3}
    launch(kernel, 1)
    assert (kernel.stats.compiles, kernel.stats.disk_hits) == (3, 1)
    assert blocks(kernel) == {1, 3}


@pytest.mark.filterwarnings("ignore::gridjit.SpecializationWarning")
def test_one_that_is_launched_again_and_again_is_not_the_one_that_goes() -> None:
    kernel = sized(4)
    held = kernel[1, 1]
    out = np.zeros(1, np.int64)
    for block in range(2, 14):
        held(out)
        launch(kernel, block)
        assert out[0] == 1
    assert 1 in blocks(kernel)
    assert kernel.stats.compiles == 13
    assert kernel.stats.disk_hits == 0


@pytest.mark.filterwarnings("ignore::gridjit.SpecializationWarning")
def test_an_evicted_kernel_is_unloaded_and_its_configured_kernel_still_works() -> None:
    kernel = sized(2)
    held = kernel[1, 2]
    launch(kernel, 1)
    code = kernel.specializations[0].artifact.image
    out = np.zeros(1, np.int64)
    held(out)
    assert code in loaded_images()
    for block in (3, 4, 5):
        launch(kernel, block)
    assert blocks(kernel) == {4, 5}
    assert code not in loaded_images()
    held(out)
    assert out[0] == 2


def test_the_warning_comes_once_and_names_the_fact_that_varies_with_the_cure() -> None:
    kernel = sized(2)
    with pytest.warns(gridjit.SpecializationWarning) as caught:
        for block in range(1, 7):
            launch(kernel, block)
    (warning,) = caught
    text = str(warning.message)
    assert "sized has more than 2 specializations" in text
    assert "What varies is blockdim.x, read at test_table.py:" in text
    assert "cuda.blockDim" in text
    assert "jit(max_specializations=2)" in text


def test_the_warning_names_argument_types_when_those_vary() -> None:
    @gridjit.jit(max_specializations=2, target="host")
    def double(x):
        x[0] += x[0]

    with pytest.warns(gridjit.SpecializationWarning, match="What varies is argument types"):
        for dtype in (np.float32, np.float64, np.int32):
            array = np.ones(1, dtype)
            double[1, 1](array)
            assert array[0] == 2


def test_where_warnings_are_errors_the_warning_is_logged_and_the_launch_goes_on(logged: list[str]) -> None:
    kernel = sized(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in range(1, 7):
            launch(kernel, block)
    (said,) = logged
    assert "SpecializationWarning: sized.<locals>.sized has more than 2 specializations" in said
    logged.clear()


def test_a_kernel_that_keeps_within_its_bound_says_nothing() -> None:
    kernel = sized(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for block in (1, 2, 3, 4):
                launch(kernel, block)
    assert kernel.stats.compiles == 4


@pytest.mark.parametrize("wrong", [0, -1, "8", None])
def test_a_bound_that_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(gridjit.ConfigError, match="max_specializations"):
        sized(wrong)


def test_the_default_bound_is_64() -> None:
    assert Specializations().limit == 64


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::gridjit.SpecializationWarning")
def test_a_kernel_that_is_evicted_while_a_gpu_runs_it_ends_as_if_it_were_not() -> None:
    if reason := presence.why_not():
        pytest.skip(reason)

    @gridjit.jit(max_specializations=1, target="cuda")
    def slow(x, n):
        if cuda.threadIdx.x == 0:
            for _ in range(n):
                x[1] += 1.0
            x[0] = gridjit.static.blockDim.x

    count = 200_000_000  # a few tenths of a second
    outs = [cuda.to_device(np.zeros(2)) for _ in range(3)]
    for block, out in zip((32, 64, 96), outs, strict=True):
        slow[1, block](out, count if block < 96 else 1)
        gc.collect()
    assert blocks(slow) == {96}
    assert [tuple(out.copy_to_host()) for out in outs] == [(32, count), (64, count), (96, 1)]
