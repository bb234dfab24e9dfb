"""New device arrays on the host are zero, as memory is that a GPU gives out for the first time: runs are repeatable."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.memory import unwritten


@pytest.fixture(autouse=True)
def on_host(cache_dir, monkeypatch, restart):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setattr(unwritten, "tracked", [])  # after a debug kernel of another test, arrays begin as a pattern
    restart()


@gridjit.jit
def sums(total, values):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, i % total.size, values[i])


SIZES = [1, 8, 100, 5000, 100_000]


@pytest.mark.parametrize("size", SIZES)
def test_a_new_array_is_zero_whatever_was_there_before(size):
    for _ in range(3):
        array = cuda.device_array(size, np.float64)
        assert not array.copy_to_host().any()
        array.copy_to_device(np.full(size, np.nan))
        del array


@pytest.mark.parametrize("make", [cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_so_is_memory_of_every_kind(make):
    for _ in range(3):
        array = make(100, np.float64)
        assert not np.asarray(array).any()
        array[:] = np.nan
        del array


def test_numba_cudas_own_memory_is_zero_too():
    context = cuda.current_context()
    for _ in range(3):
        memory = context.memalloc(800)
        found = np.ones(100)
        cuda.cudadrv.driver.device_to_host(found, memory, 800)
        assert not found.any()
        cuda.cudadrv.driver.host_to_device(memory, np.full(100, np.nan), 800)
        memory.free()


def test_a_kernel_may_add_into_memory_that_its_program_did_not_clear():
    values = np.ones(1000)
    for _ in range(3):
        total = cuda.device_array(10, np.float64)
        sums[8, 128](total, values)
        assert total.copy_to_host().tolist() == [100.0] * 10
        del total
