"""Arrays that kernels make or see in another shape on the host: aligned as asked, and reshaped without a copy."""

# mypy: ignore-errors
from __future__ import annotations

import ctypes
import itertools
import random

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.library import reshaping
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.devices.host.load import load

numba_cuda()
from llvmlite import ir  # noqa: E402
from numba.core import types  # noqa: E402
from numba.cuda.extending import intrinsic  # noqa: E402


@intrinsic
def address(_, array):
    def code(context, builder, signature, arguments):
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(made.data, ir.IntType(64))

    return types.int64(array), code


@pytest.mark.each_value_once
@pytest.mark.parametrize("align", [16, 128, 256, 1024])
@pytest.mark.parametrize("barrier", [False, True])
def test_shared_and_local_arrays_are_aligned_as_asked(monkeypatch, align, barrier):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")

    @gridjit.jit
    def kernel(places, values):
        t = cuda.grid(1)
        first = cuda.shared.array(3, np.uint8, alignment=align)
        second = cuda.shared.array(5, np.float64, alignment=align)
        third = cuda.local.array(3, np.uint8, alignment=align)
        fourth = cuda.local.array(7, np.float64, alignment=align)
        first[0] = 1
        second[0] = 2
        third[0] = t
        fourth[0] = t
        if barrier:
            cuda.syncthreads()
        places[t, 0] = address(first)
        places[t, 1] = address(second)
        places[t, 2] = address(third)
        places[t, 3] = address(fourth)
        values[t] = first[0] + second[0] + third[0] + fourth[0]

    places, values = np.zeros((8, 4), np.int64), np.zeros(8)
    kernel[2, 4](places, values)
    assert not (places % align).any()
    assert values.tolist() == [3 + 2 * t for t in range(8)]


@pytest.fixture(scope="module")
def attempt():
    """Return what looks for strides of another shape, as kernels call it."""
    target = host_target()
    module = llvm.parse(llvm.header(target) + reshaping.definition())
    llvm.optimize(module, target, 3)
    code = load(llvm.emit(module, target), reshaping.NAME)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    called = ctypes.CFUNCTYPE(
        ctypes.c_int32, number, pointer, pointer, number, pointer, pointer, number, ctypes.c_int32
    )
    function = called(code.address)

    def look(array, shape, order):
        new, strides = np.array(shape, np.int64), np.zeros(len(shape), np.int64)
        old, steps = np.array(array.shape, np.int64), np.array(array.strides, np.int64)
        places = (one.ctypes.data for one in (old, steps, new, strides))
        a, b, c, d = places
        found = function(len(old), a, b, len(new), c, d, array.itemsize, order == "F")
        return strides if found else None

    look.keeps = code
    return look


def shape_of(size, chance):
    axes = []
    for _ in range(chance.randint(0, 4)):
        axes.append(chance.choice([n for n in range(1, size + 1) if size % n == 0]))
        size //= axes[-1]
    axes.append(size)
    chance.shuffle(axes)
    return tuple(axes)


def test_an_array_has_another_shape_without_a_copy_where_numpy_says_so(attempt):
    chance = random.Random(5)
    for _, order in itertools.product(range(500), "CF"):
        size = chance.choice([1, 6, 12, 24, 36])
        shape, other = shape_of(size, chance), shape_of(size, chance)
        array = np.zeros([2 * n for n in shape], np.float32)
        array = array[tuple(slice(0, 2 * n, 2) if chance.random() < 0.3 else slice(0, n) for n in shape)]
        array = array.transpose(chance.sample(range(len(shape)), len(shape)))
        try:
            wanted = array.reshape(other, order=order, copy=False).strides
        except ValueError:
            wanted = None
        found = attempt(array, other, order)
        assert (found is None) == (wanted is None)
        assert wanted is None or all(a == b for a, b, n in zip(found, wanted, other, strict=True) if n > 1)


def test_arrays_of_another_size_or_of_nothing(attempt):
    assert attempt(np.zeros(6), (7,), "C") is None
    assert attempt(np.zeros((0, 3)), (3, 0, 2), "C") is not None


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("before", "after"),
    [((24,), (8, 1, 3)), ((24,), (4, 6)), ((4, 6), (2, 3, 4)), ((1, 8, 1, 3), (2, 12)), ((2, 3, 2, 2), (6, 4))],
)
def test_an_array_has_numpys_items_and_strides_in_each_new_shape(before, after, monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    axes = len(after)

    @gridjit.jit
    def kernel(x, shape, out, strides):
        y = x.reshape(shape)
        for axis in range(axes):
            strides[axis] = y.strides[axis]
        for i, item in enumerate(y.flat):
            out[i] = item

    x = np.arange(24).reshape(before)
    out, strides = np.zeros(24, np.int64), np.zeros(axes, np.int64)
    kernel[1, 1](x, after, out, strides)
    assert out.tolist() == [*range(24)]
    assert [tuple(strides)[axis] for axis in range(axes) if after[axis] > 1] == [
        x.reshape(after).strides[axis] for axis in range(axes) if after[axis] > 1
    ]


def test_kernels_reshape(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")

    @gridjit.jit
    def kernel(x, out):
        y = x.reshape((2, 6))
        out[0] = y[1, 2]

    out = np.zeros(1)
    kernel[1, 1](np.arange(12.0).reshape(3, 4), out)
    assert out[0] == 8
