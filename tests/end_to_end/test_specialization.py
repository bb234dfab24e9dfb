"""How often a kernel is compiled: once for each combination of the launch facts that its compilation read."""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import LaunchConfig, cuda

pytestmark = pytest.mark.usefixtures("target")


def make_block_sum() -> gridjit.Kernel:
    @gridjit.jit
    def block_sum(x, out):
        tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
        thread = cuda.threadIdx.x
        i = cuda.grid(1)
        tile[thread] = x[i] if i < x.size else 0
        cuda.syncthreads()
        half = gridjit.static.blockDim.x // 2
        while half:
            if thread < half:
                tile[thread] += tile[thread + half]
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            out[cuda.blockIdx.x] = tile[0]

    return block_sum


def make_increment() -> gridjit.Kernel:
    @gridjit.jit
    def increment(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    return increment


def run_block_sum(kernel: gridjit.Kernel, grid: int, block: int) -> None:
    x = np.random.default_rng(grid).random(grid * block - 3, dtype=np.float32)
    out = np.empty(grid, np.float32)
    kernel[grid, block](x, out)
    padded = np.zeros(grid * block, np.float64)
    padded[: x.size] = x
    np.testing.assert_allclose(out, padded.reshape(grid, block).sum(axis=1), rtol=1e-5)


def test_400_grid_sizes_of_a_kernel_that_reads_the_block_size_are_one_compile() -> None:
    kernel = make_block_sum()
    for grid in range(1, 401):
        run_block_sum(kernel, grid, 64)
    assert kernel.stats.compiles == 1


def test_three_block_sizes_of_a_kernel_that_reads_the_block_size_are_three_compiles() -> None:
    kernel = make_block_sum()
    for block in (32, 64, 128, 64, 32):
        for grid in (1, 5):
            run_block_sum(kernel, grid, block)
    assert kernel.stats.compiles == 3
    assert [str(found.footprint) for found in kernel.specializations] == [
        "blockdim.x = 32",
        "blockdim.x = 64",
        "blockdim.x = 128",
    ]


def test_a_kernel_that_reads_nothing_is_compiled_once_for_all_launches() -> None:
    kernel = make_increment()
    x = np.zeros(1000)
    for launch in ((1, 32), (40, 32), (5, 256), ((3, 2), (16, 2)), (2, 512)):
        kernel[launch](x)
    assert kernel.stats.compiles == 1
    assert not kernel.specializations[0].launch_config_sensitive


def test_a_foreign_rewrite_that_reads_the_block_and_marks_makes_one_compile_per_block(foreign_rewrites: None) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("after-inference")
    class NeedsTheBlock(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            config = ensure_current_launch_config()
            assert len(config.blockdim) == 3
            config.dispatcher.mark_launch_config_sensitive()
            return False

    kernel = make_increment()
    x = np.zeros(1000)
    for grid in (1, 2, 30):
        for block in (32, 64):
            kernel[grid, block](x)
    assert kernel.stats.compiles == 2
    assert {str(found.footprint) for found in kernel.specializations} == {"blockdim = 32", "blockdim = 64"}
    assert all(found.metadata["launch_config_sensitive"] for found in kernel.specializations)


def test_other_argument_types_are_another_compile_with_their_own_sensitivity() -> None:
    kernel = make_increment()
    for dtype in (np.float32, np.int64, np.float32):
        kernel[1, 32](np.zeros(5, dtype))
    assert kernel.stats.compiles == 2


def test_a_mark_from_outside_makes_each_named_field_count() -> None:
    kernel = make_increment()
    kernel.mark_launch_config_sensitive("sharedmem")
    x = np.zeros(5)
    for grid, shared in ((1, 0), (2, 0), (2, 64)):
        kernel[grid, 32, 0, shared](x)
    assert kernel.stats.compiles == 2


def test_capture_sees_the_configuration_of_a_compile_and_none_without_one() -> None:
    kernel = make_block_sum()
    with gridjit.launchconfig.capture_compile_config(kernel) as first:
        run_block_sum(kernel, 7, 32)
    with gridjit.launchconfig.capture_compile_config(kernel) as second:
        run_block_sum(kernel, 9, 32)
    assert first["config"] == LaunchConfig.of(7, 32)
    assert LaunchConfig.of(7, 32) == first["config"] != LaunchConfig.of(8, 32)
    assert hash(first["config"]) == hash(LaunchConfig.of(7, 32))
    assert second["config"] is None


def test_a_captured_configuration_names_its_kernel_and_can_be_copied() -> None:
    kernel = make_increment()
    with gridjit.launchconfig.capture_compile_config(kernel) as capture:
        kernel[7, 32](np.zeros(5))
    found = capture["config"]
    assert found is not None and found.dispatcher is kernel
    assert copy.copy(found).dispatcher is kernel
    assert dataclasses.replace(found, sharedmem=64).sharedmem == 64


def test_a_capture_sees_neither_what_comes_from_the_cache_nor_other_kernels_compiles(
    restart: Callable[[], None],
) -> None:
    run_block_sum(make_block_sum(), 7, 32)
    restart()
    kernel = make_block_sum()
    with gridjit.launchconfig.capture_compile_config(kernel) as capture:
        run_block_sum(kernel, 7, 32)
        make_increment()[1, 32](np.zeros(5))
    assert (kernel.stats.compiles, kernel.stats.disk_hits) == (0, 1)
    assert capture["config"] is None


def test_overlapping_captures_end_in_any_order_and_leave_nothing_behind() -> None:
    kernel = make_block_sum()
    outer = gridjit.launchconfig.capture_compile_config(kernel)
    inner = gridjit.launchconfig.capture_compile_config(kernel)
    first, second = outer.__enter__(), inner.__enter__()
    run_block_sum(kernel, 1, 32)
    outer.__exit__(None, None, None)
    run_block_sum(kernel, 1, 64)
    inner.__exit__(None, None, None)
    run_block_sum(kernel, 1, 128)
    assert first["config"] == LaunchConfig.of(1, 32)
    assert second["config"] == LaunchConfig.of(1, 64)


def test_a_capture_does_not_see_other_threads_compiles() -> None:
    kernel = make_block_sum()
    with gridjit.launchconfig.capture_compile_config(kernel) as capture:
        other = threading.Thread(target=run_block_sum, args=(kernel, 1, 32))
        other.start()
        other.join()
    assert kernel.stats.compiles == 1
    assert capture["config"] is None


def test_recompile_takes_up_a_changed_global(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = gridjit.jit(writes_global)
    out = np.zeros(1)
    kernel[1, 1](out)
    monkeypatch.setitem(globals(), "SETTING", 8)
    kernel[1, 1](out)
    assert out[0] == 3
    kernel.recompile()
    kernel[1, 1](out)
    assert out[0] == 8


SETTING = 3


def writes_global(out):
    out[0] = SETTING


def test_sensitive_kernels_can_be_recompiled_and_launched_by_forall() -> None:
    kernel = gridjit.jit(writes_block)
    out = np.zeros(1000, np.int64)
    kernel.forall(out.size, tpb=128)(out)
    assert set(out) == {128}
    kernel.recompile()
    kernel.forall(out.size, tpb=64)(out)
    assert set(out) == {64}
    assert kernel.stats.compiles == 2  # nothing had changed, so recompiling found the first in the cache


def writes_block(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = gridjit.static.blockDim.x


def test_explain_names_the_fact_that_differed_and_where_it_was_read() -> None:
    kernel = gridjit.jit(writes_block)
    for block in (32, 64):
        kernel[1, block](np.zeros(1))
    text = kernel.explain()
    line = writes_block.__code__.co_firstlineno + 3
    assert f"blockdim.x 32 -> 64, read at test_specialization.py:{line}" in text
    assert "2 compiled" in text


def test_shared_memory_written_while_compiling_acts_on_that_very_launch(foreign_rewrites: None) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config

    @register_rewrite("after-inference")
    class NeedsSharedMemory(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            current_launch_config().sharedmem = 4 * 64
            return False

    @gridjit.jit
    def reverse(x):
        tile = cuda.shared.array(0, np.float32)
        tile[cuda.threadIdx.x] = x[cuda.threadIdx.x]
        cuda.syncthreads()
        x[cuda.threadIdx.x] = tile[tile.size - 1 - cuda.threadIdx.x]

    for _ in range(2):
        x = np.arange(64, dtype=np.float32)
        reverse[1, 64](x)
        assert list(x) == list(range(63, -1, -1))
    assert reverse.stats.compiles == 1


@cuda.jit(device=True)
def incremented(x: Any) -> Any:
    return x + 1


@cuda.jit(device=True)
def doubled(x: Any) -> Any:
    return 2 * x


STEPS = (incremented, doubled)


def test_device_functions_in_a_tuple_are_called_without_a_warning() -> None:
    @cuda.jit
    def stepped(x: Any) -> None:
        x[0] = STEPS[1](STEPS[0](x[0]))

    x = np.ones(1)
    stepped[1, 1](x)  # here, warnings are errors
    assert x[0] == 4
