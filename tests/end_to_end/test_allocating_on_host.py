"""Kernels that allocate on the host, where NUMBA_CUDA_ENABLE_NRT asks for it: arrays made, given back and counted."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.runtime.simulated import allocations


@pytest.fixture(autouse=True)
def with_allocations(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    numba_cuda()
    from numba.cuda import config

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)
    allocations.count(wanted=True)
    yield
    allocations.count(wanted=False)


def counted(launch):
    """Return what a launch takes and frees."""
    before = allocations.counts()
    launch()
    return [now - then for now, then in zip(allocations.counts(), before, strict=True)]


@gridjit.jit(device=True)
def made(n, value):
    array = np.empty(n, np.float64)
    for j in range(n):
        array[j] = value * j
    return array


def test_arrays_made_in_kernels_and_device_functions_are_used_and_freed():
    @gridjit.jit
    def kernel(x):
        i = cuda.grid(1)
        zeros = np.zeros((3, 4))
        x[i] = made(10, i)[3] + zeros[2, 3] + zeros.reshape(12)[5]

    x = np.full(8, -1.0)
    taken, freed, heads, heads_freed = counted(lambda: kernel[2, 4](x))
    assert x.tolist() == [3.0 * i for i in range(8)]
    assert taken == freed == heads == heads_freed == 16


def test_kernels_that_wait_for_other_blocks_allocate():
    @gridjit.jit
    def kernel(lock, x):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        x[0] += np.ones(3).sum()
        cuda.atomic.exch(lock, 0, 0)

    x = np.zeros(1)
    taken, freed, *_ = counted(lambda: kernel[4, 8](np.zeros(1, np.int32), x))
    assert x[0] == 96.0
    assert taken == freed == 32


def test_an_array_that_outlives_a_branch_is_freed_once():
    @gridjit.jit
    def kernel(x):
        i = cuda.grid(1)
        array = np.ones(4)
        for _ in range(i):
            array = array.copy()
        x[i] = array[3]

    x = np.zeros(5)
    taken, freed, *_ = counted(lambda: kernel[1, 5](x))
    assert x.tolist() == [1.0] * 5
    assert taken == freed == 5 + sum(range(5))


def test_arrays_outlive_barriers():
    @gridjit.jit
    def kernel(x):
        t = cuda.threadIdx.x
        array = np.full(3, t)
        cuda.syncthreads()
        x[t] = array[1] + array[2]

    x = np.zeros(16, np.int64)
    taken, freed, *_ = counted(lambda: kernel[1, 16](x))
    assert x.tolist() == [2 * t for t in range(16)]
    assert taken == freed == 16


def test_more_memory_than_there_is_raises_in_python():
    @gridjit.jit
    def kernel(x, n):
        x[0] = np.empty(n, np.float64).size

    with pytest.raises(MemoryError):
        kernel[1, 1](np.zeros(1), 2**58)


def test_nothing_is_counted_that_nobody_asked_for():
    @gridjit.jit
    def kernel(x):
        x[0] = np.ones(3)[0]

    allocations.count(wanted=False)
    assert counted(lambda: kernel[1, 1](np.zeros(1))) == [0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore::gridjit.InstallWarning")  # other tests have numba-cuda make kernels
def test_numba_cudas_own_statistics_are_those_of_kernels_on_the_host():
    @gridjit.jit
    def kernel(x):
        x[0] = np.ones(3)[2]

    with gridjit.install():
        from numba.cuda.memory_management.nrt import rtsys

        rtsys.memsys_enable_stats()
        before = rtsys.get_allocation_stats()
        kernel[1, 4](np.zeros(1))
        after = rtsys.get_allocation_stats()
        assert (after.alloc - before.alloc, after.mi_free - before.mi_free) == (4, 4)
        assert rtsys.memsys_get_stats_free() == after.free
        rtsys.memsys_disable_stats()
        with pytest.raises(RuntimeError, match="disabled"):
            rtsys.get_allocation_stats()
