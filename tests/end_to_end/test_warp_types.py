"""Shuffles, votes and matches of every integer type and bool, with lanes and masks of every width, on either target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

LANES = np.arange(32)
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
EVERYONE = 0xFFFFFFFF


@gridjit.jit
def shuffle(out, x, lanes):
    t = cuda.threadIdx.x
    out[0, t] = cuda.shfl_sync(EVERYONE, x[t], lanes[t])
    out[1, t] = cuda.shfl_up_sync(EVERYONE, x[t], lanes[2])
    out[2, t] = cuda.shfl_down_sync(EVERYONE, x[t], lanes[2])
    out[3, t] = cuda.shfl_xor_sync(EVERYONE, x[t], lanes[2])


@gridjit.jit
def match(out, all_match, x, masks):
    t = cuda.threadIdx.x
    out[0, t] = cuda.match_any_sync(EVERYONE, x[t])
    out[1, t], all_match[t] = cuda.match_all_sync(EVERYONE, x[t])
    if t < 4:
        out[2, t] = cuda.ballot_sync(masks[0], x[t])


def values(dtype: str) -> np.ndarray[Any, Any]:
    """Return a value for each lane; pairs differ only in their lowest bit."""
    kind = np.dtype(dtype)
    return LANES % 3 == 0 if kind.kind == "b" else kind.type(np.iinfo(kind).max) - LANES.astype(kind)


def lanes_of(dtype: str) -> np.ndarray[Any, Any]:
    return (31 - LANES).astype(dtype)


@pytest.mark.usefixtures("target")
@pytest.mark.some(5)
@pytest.mark.each_value_once
@pytest.mark.parametrize("lane", ["int8", "uint16", "uint32", "int64"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shuffle_moves_the_bits_of_every_integer(dtype: str, lane: str) -> None:
    x, lanes = values(dtype), lanes_of(lane)
    lanes[2] = 1
    out = np.zeros((4, 32), dtype)
    shuffle[1, 32](out, x, lanes)
    sources = [lanes.astype(np.int64), np.maximum(LANES - 1, 0), np.minimum(LANES + 1, 31), LANES ^ 1]
    assert np.array_equal(out, x[sources])


@pytest.mark.usefixtures("target")
@pytest.mark.some(5)
@pytest.mark.each_value_once
@pytest.mark.parametrize("mask", ["uint8", "int16", "uint32", "int64"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_match_tells_values_apart_by_all_their_bits(dtype: str, mask: str) -> None:
    x = values(dtype)
    out, all_match = np.zeros((3, 32), np.uint32), np.zeros(32, bool)
    match[1, 32](out, all_match, x, np.array([15], mask))
    assert out[0].tolist() == [sum(1 << other for other in LANES.tolist() if x[other] == one) for one in x]
    assert not out[1].any()
    assert not all_match.any()
    assert out[2, :4].tolist() == [sum(1 << lane for lane in range(4) if x[lane])] * 4


@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64"])
def test_every_integer_compiles_for_a_gpu(dtype: str) -> None:
    made = gridjit.jit(shuffle.py_func).compile(f"void({dtype}[:,::1], {dtype}[::1], int8[::1])", target="sm_90")
    assert made.assembly.count("shfl.sync") == (8 if dtype == "uint64" else 4)
    kernel = gridjit.jit(match.py_func)
    made = kernel.compile(f"void(uint32[:,::1], bool[::1], {dtype}[::1], uint8[::1])", target="sm_90")
    assert f"match.any.sync.b{64 if dtype == 'uint64' else 32}" in made.assembly


def vote(out, masks, x):
    out[0] = cuda.ballot_sync(masks[0], x[0])


@pytest.mark.cuda_toolkit
def test_a_bool_is_refused_as_the_mask_of_a_vote() -> None:
    launch: Any = {"config": (1, 32), "target": "sm_90"}
    gridjit.jit(vote, cache=False).compile("void(int32[::1], uint8[::1], int32[::1])", **launch)
    with pytest.raises(gridjit.CompileError, match="Mask type must be an integer"):
        gridjit.jit(vote, cache=False).compile("void(int32[::1], boolean[::1], int32[::1])", **launch)
