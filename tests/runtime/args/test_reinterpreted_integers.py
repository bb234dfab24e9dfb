"""Kernels declared for narrow integers take arrays of wider ones, as under numba-cuda, which does not look at items."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")


def gather(index, values, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = values[index[i]]


def add(first, second):
    i, j = cuda.grid(2)
    if i < first.shape[0] and j < first.shape[1]:
        first[i, j] += second[i, j]


WIDE = np.array([3, 0, 2, 1, 3], np.int64)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("declared", "index"),
    [
        *(
            (declared, index)
            for declared in ("int32", "int16")
            for index in (WIDE, np.repeat(WIDE, 2)[::2], WIDE[::-1])
        ),
        *((declared, WIDE.astype("u8")) for declared in ("uint32", "uint8")),
    ],
)
def test_each_item_of_an_array_of_wider_integers_is_read_by_its_low_bits(declared, index):
    kernel = gridjit.jit(f"void({declared}[:], float64[:], float64[:])")(gather)
    values, out = np.array([10.0, 11.0, 12.0, 13.0]), np.zeros(5)
    for _ in range(4):  # from Python, then in machine code
        out[:] = 0
        kernel[1, 32](index, values, out)
        assert out.tolist() == values[index].tolist()


def test_device_arrays_and_their_views_are_read_so_too():
    kernel = gridjit.jit("void(int32[:], float64[:], float64[:])")(gather)
    values, out = np.arange(4.0), np.zeros(4)
    kernel[1, 32](cuda.to_device(WIDE)[1:], values, out)
    assert out.tolist() == [0.0, 2.0, 1.0, 3.0]


def test_what_is_written_are_the_low_bits_of_each_item():
    kernel = gridjit.jit("void(int32[:,:], int32[:,:])")(add)
    first, second = np.arange(12, dtype=np.int64).reshape(3, 4), np.full((3, 4), 2**33 + 5, np.int64)
    kernel[1, (4, 4)](first, second)
    assert first.tolist() == (np.arange(12).reshape(3, 4) + 5).tolist()


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int32[::1]", np.int64),
        ("int64[:]", np.int32),
        ("float32[:]", np.float64),
        ("float32[:]", np.int64),
        ("uint32[:]", np.int64),
    ],
)
def test_arrays_whose_items_would_be_read_as_something_else_are_refused(declared, given):
    kernel = gridjit.jit(f"void({declared}, float64[:], float64[:])")(lambda index, values, out: None)
    with pytest.raises(gridjit.ArgumentError, match="argument 'index' is"):
        kernel[1, 32](np.zeros(5, given), np.zeros(4), np.zeros(5))


def test_debug_kernels_check_such_arrays_by_their_own_bounds():
    kernel = gridjit.jit("void(int32[:], float64[:], float64[:])", debug=True, opt=False)(gather)
    with pytest.raises(IndexError, match="index 5 of axis 0 of array 'index', whose size is 5"):
        kernel[1, 32](WIDE, np.arange(4.0), np.zeros(6))
