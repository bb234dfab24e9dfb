"""Draws of numba.cuda.random at the ends of their ranges, on either target; all others have numba-cuda's bits."""

from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

numba_cuda()
from numba.cuda import random  # noqa: E402

WORDS = np.array([0, 1, 2**11, 2**63, 2**64 - 2**41, 2**64 - 2**38, 2**64 - 1], np.uint64)


@gridjit.jit
def draw(states, single, double, normal, normal_double):
    i = cuda.grid(1)
    if i < single.size:
        single[i] = random.xoroshiro128p_uniform_float32(states, i)
        double[i] = random.xoroshiro128p_uniform_float64(states, i + single.size)
        normal[i] = random.xoroshiro128p_normal_float32(states, i + 2 * single.size)
        normal_double[i] = random.xoroshiro128p_normal_float64(states, i + 3 * single.size)


def drawn(words: np.ndarray) -> list[np.ndarray]:
    """Return what is drawn from states whose next draw is each of the words."""
    states = np.zeros(4 * words.size, random.xoroshiro128p_dtype)
    states["s0"] = np.tile(words, 4)
    results = [np.zeros(words.size, kind) for kind in (np.float32, np.float64, np.float32, np.float64)]
    draw[1, words.size](cuda.to_device(states), *results)
    return results


@pytest.mark.usefixtures("target")
def test_uniform_draws_are_below_one_and_normal_draws_are_finite() -> None:
    single, double, normal, normal_double = drawn(WORDS)
    assert single.max() == np.float32(1 - 2.0**-24)
    assert double.max() < 1
    assert np.isfinite(normal).all()
    assert np.isfinite(normal_double).all()


@pytest.mark.usefixtures("target")
def test_other_draws_have_numba_cudas_bits() -> None:
    words = np.random.default_rng(1).integers(2**40, 2**64 - 2**40, 512, dtype=np.uint64)
    single, double, _, _ = drawn(words)
    assert np.array_equal(double, (words >> np.uint64(11)) * 2.0**-53)
    assert np.array_equal(single, double.astype(np.float32))


@pytest.mark.usefixtures("target")
def test_kernels_that_draw_are_in_the_cache() -> None:
    drawn(WORDS)
    assert "not stored" not in draw.explain()
