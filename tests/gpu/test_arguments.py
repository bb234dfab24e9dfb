"""Arguments of the rarer kinds in kernels on a real GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.args.direction import In, InOut

pytestmark = pytest.mark.gpu


def test_a_type_is_what_arrays_are_made_of():
    @gridjit.jit
    def through(out, kind):
        memory = cuda.shared.array(1, kind)
        memory[0] = 2.75
        out[0] = memory[0]

    out = cuda.to_device(np.zeros(1))
    for kind, expected in ((np.int32, 2), (np.float64, 2.75), (np.dtype("i1"), 2), (np.int32, 2), (np.int32, 2)):
        through[1, 1](out, kind)
        assert out.copy_to_host()[0] == expected


@pytest.mark.parametrize("dtype", ["<U12", "S12"])
def test_text_is_written_and_copied(dtype):
    word = np.array(["XYZ"], dtype)

    @gridjit.jit
    def copy(words, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = words[0]

    out = np.zeros(9, dtype)
    copy[1, 8](In(word), InOut(out))
    assert out.tolist() == word.tolist() * 8 + np.zeros(1, dtype).tolist()


def test_bfloat16_is_computed_with():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

    @gridjit.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 2 * x[i] + 4 * y[i]

    x, out = np.arange(5).astype(bfloat16), np.zeros(5, bfloat16)
    add[1, 32](In(x), In(np.arange(5)), InOut(out))
    assert (out == (6 * np.arange(5)).astype(bfloat16)).all()


def test_an_unaligned_array_is_aligned_where_it_is_copied_to():
    @gridjit.jit("void(float64[:])")
    def count(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = i

    memory = np.zeros(80, np.uint8)
    count[1, 32](InOut(memory[4:76].view(np.float64)))
    assert memory[4:76].view(np.float64).tolist() == list(range(9))
    assert not memory[:4].any() and not memory[76:].any()


def test_arrays_that_overlap_stay_as_aligned_as_they_were():
    @gridjit.jit
    def both(bytes_, floats):
        floats[0] += 1
        bytes_[0] = 7

    block = np.zeros(64 + 256, np.uint8)
    memory = block[-block.__array_interface__["data"][0] % 256 :][:64]
    both[1, 1](InOut(memory[3:20]), InOut(memory[8:48].view(np.float64)))
    assert (memory[3], memory[8:16].view(np.float64)[0]) == (7, 1.0)


def test_integers_are_taken_by_their_bits():
    @gridjit.jit("void(int32[:], int32)")
    def put(out, value):
        out[0] = value

    out = cuda.to_device(np.zeros(1, np.uint32))
    for value in (0xFFFFFFFF, -1, 0xFFFFFFFF):
        put[1, 1](out, value)
        assert out.copy_to_host()[0] == 0xFFFFFFFF
