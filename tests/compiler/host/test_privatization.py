"""Arrays are gathered if a kernel only does operations on them whose results it does not see, and only then."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import pipeline
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


@pytest.fixture
def gathered(monkeypatch):
    """Return gathered(lowered, **options): the parameters whose arrays a kernel gathers."""
    found = []
    search = pipeline._privatized
    monkeypatch.setattr(pipeline, "_privatized", lambda *given: found.append(search(*given)) or found[-1])

    def of(lowered, **options):
        generate(lowered, host_target(), Options(**options))
        return [one.address for one in found.pop().arrays]

    return of


def counts(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)


def counts_twice(x, bins, all):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)
        cuda.atomic.max(all, 0, i)
        cuda.atomic.sub(bins, -1, 1)


def numbers(x, bins):
    i = cuda.grid(1)
    x[i] = cuda.atomic.add(bins, 0, 1)


def reads(x, bins):
    i = cuda.grid(1)
    cuda.atomic.add(bins, 0, 1)
    x[i] = bins[0]


def clears(x, bins):
    i = cuda.grid(1)
    if i == 0:
        bins[0] = 0
    cuda.atomic.add(bins, x[i], 1)


def exchanges(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.atomic.exch(bins, 0, 1)


def adds_and_raises(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.atomic.max(bins, 0, 1)


def wraps(x, bins):
    cuda.atomic.inc(bins, 0, x[cuda.grid(1)])


def publishes(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.threadfence()


def one_of_two(x, bins, others):
    i = cuda.grid(1)
    cuda.atomic.add(bins if x[i] else others, 0, 1)


def waits_for_all(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.cg.this_grid().sync()


@pytest.mark.parametrize("first", ["int32[1]", "uint8[1]", "int32[1]A", "int64[1]"])
def test_a_histogram_is_gathered_wherever_its_items_come_from(lowered, gathered, first):
    assert gathered(lowered(counts, first, "int32[1]")) == [11]


def test_several_arrays_are_gathered(lowered, gathered):
    assert gathered(lowered(counts_twice, "int32[1]", "uint32[1]", "int64[1]")) == [11, 18]


@pytest.mark.parametrize(
    "kernel", [numbers, reads, clears, exchanges, adds_and_raises, wraps, publishes, one_of_two, waits_for_all]
)
def test_what_a_thread_could_see_is_not_gathered(lowered, gathered, kernel):
    types = ["uint32[1]"] * kernel.__code__.co_argcount
    assert gathered(lowered(kernel, *types)) == []


@pytest.mark.parametrize("dtype", ["float32[1]", "float64[1]"])
def test_floats_are_not_gathered_as_their_sums_would_depend_on_when_groups_end(lowered, gathered, dtype):
    assert gathered(lowered(counts, "int32[1]", dtype)) == []


def test_arrays_with_strides_that_are_not_known_are_not_gathered(lowered, gathered):
    assert gathered(lowered(counts, "int32[1]", "int32[1]A")) == []


def test_debug_kernels_gather_nothing(lowered, gathered):
    options = {"debug": True, "checks": ("bounds",)}
    assert gathered(lowered(counts, "int32[1]", "int32[1]", **options), **options) == []
