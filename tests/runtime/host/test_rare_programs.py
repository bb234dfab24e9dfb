"""Random programs in which some threads of a row do something by themselves do on the host what they do in Python."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.runtime.host.rare_programs import run_in_python, source

GRID, BLOCKS = 3, ((1, 1), (3, 4), (8, 3), (31, 2), (32, 4), (33, 1))


@pytest.mark.some(4)
@pytest.mark.parametrize("seed", range(10))
def test_programs_with_rare_threads_do_what_they_do_in_python(run, seed):
    names = {"cuda": numba_cuda(), "np": np}
    exec(source(seed), names)
    for block in BLOCKS:
        threads = GRID * block[0] * block[1]
        x = np.random.default_rng(seed).integers(0, 80, threads + 9)
        ours, pythons = ([np.zeros(shape, np.int64) for shape in (threads, 4, (GRID, 4, 6))] for _ in range(2))
        run(names["kernel"], GRID, block, x, *ours, 5, threads)
        run_in_python(source(seed), GRID, block, (x, *pythons, 5, threads))
        for our, python in zip(ours, pythons, strict=True):
            assert our.tolist() == python.tolist(), (block, source(seed))
