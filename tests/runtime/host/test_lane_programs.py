"""Random programs with warp operations do on the host what a plain model of the lanes says."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.runtime.host.lane_programs import model, programs, source, tables

cuda = numba_cuda()
BLOCKS = ((32, 1, 1), (20, 1, 1), (64, 1, 1), (70, 1, 1), (8, 4, 2), (5, 3, 3), (1, 40, 1))


def compiled(program):
    """Return the kernel of a program."""
    names = {"cuda": cuda, "np": np}
    exec(source(program), names)
    return names["kernel"]


@settings(max_examples=settings().max_examples // 8, suppress_health_check=list(HealthCheck))
@given(
    program=programs,
    blocks=st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 9),
)
def test_programs_with_warp_operations_do_what_the_lanes_would(run, program, blocks, seed):
    kernel, (trips, masks) = compiled(program), tables(program)
    for block in blocks:
        x = np.random.default_rng(seed).integers(0, 2**16, int(np.prod(block)))
        out = np.zeros_like(x)
        run(kernel, 1, block, x, out, np.array(trips), np.array(masks))
        assert out.tolist() == model(program, x.tolist()), source(program)
