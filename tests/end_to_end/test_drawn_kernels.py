"""Drawn kernels leave in their arrays, bit for bit, the items that the oracle leaves, in each launch."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.conftest import fresh_session
from tests.end_to_end.drawn_kernels import PARAMETERS, drawn, generator
from tests.end_to_end.oracle_threads import run_threads

# Environments of the modes that kernels are compiled in besides the usual one.
PLAIN = {"GRIDJIT_HOST_PLAIN": "1"}
MANY = 100


@pytest.fixture
def compare(monkeypatch):
    """Return compare(seed, environment, debug), which runs a seed's program with gridjit and in the oracle."""

    def run(seed, environment=None, debug=False):
        for name, value in {"GRIDJIT_TARGET": "host", **(environment or {})}.items():
            monkeypatch.setenv(name, value)
        fresh_session()
        program = drawn(seed, debug)
        kernel = compiled(program, debug)
        for launch in program.launches:
            ours, expected = program.arguments(), program.arguments()
            run_threads(generator(program), launch, expected, seed)
            kernel[launch.grid, launch.block, 0, launch.sharedmem](*ours)
            assert not different(ours, expected), f"seed {seed}, {launch}:\n{program.source()}"

    return run


def compiled(program, debug):
    names = {"cuda": cuda, "np": np, "math": math}
    exec(program.source(), names)
    return gridjit.jit(names["kernel"], cache=False, debug=debug, opt=not debug)


def different(ours, expected):
    """Return the names of the arrays that differ; zeros of either sign are equal."""
    pairs = zip(PARAMETERS.split(", ")[:-2], ours, expected, strict=False)
    return [name for name, one, other in pairs if (one + 0).tobytes() != (other + 0).tobytes()]


# Small programs: with barriers in loops and branches, grid barriers, shuffles, votes, matches, early returns.
@pytest.mark.parametrize("seed", [4, 6, 31, 34, 94, 108, 217])
def test_a_drawn_kernel_does_what_the_oracle_does(compare, seed):
    compare(seed)


@pytest.mark.parametrize("seed", [28, 96])
def test_checks_find_nothing_in_a_drawn_kernel(compare, seed):
    compare(seed, debug=True)


@pytest.mark.parametrize("seed", range(8))
def test_the_oracle_does_the_same_in_any_order_of_threads(seed):
    program = drawn(seed)
    for launch in program.launches:
        one, other = program.arguments(), program.arguments()
        run_threads(generator(program), launch, one, 1)
        run_threads(generator(program), launch, other, 2)
        assert not different(one, other), f"seed {seed}, {launch}:\n{program.source()}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(1000, 5000, MANY))
def test_many_drawn_kernels_do_what_the_oracle_does(compare, first):
    for seed in range(first, first + MANY):
        compare(seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(5000, 5500, MANY))
def test_checks_find_nothing_in_many_drawn_kernels(compare, first):
    for seed in range(first, first + MANY):
        compare(seed, debug=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(6000, 6500, MANY))
def test_drawn_kernels_do_the_same_without_optimizations(compare, first):
    for seed in range(first, first + MANY):
        compare(seed, PLAIN)
