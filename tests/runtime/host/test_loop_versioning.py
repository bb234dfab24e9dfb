"""Arrays whose strides are known only at launch, and indices that may count from the end: any mixture gives the same.

Rows whose indices are not negative, and whose items lie side by side, are run by other code than the rest.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArrayType, ScalarType, Signature
from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.devices.host.launch import launch
from gridjit.runtime.devices.host.load import load

cuda = numba_cuda()


def shifted(x, y, k, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i + k] + 2 * x[k - i]


def with_narrow_places(x, y, k, n):
    i = np.int32(cuda.grid(1))
    if i < n:
        y[i] = x[i - np.int32(k)] + x[np.int32(i + 1) - n]


def three_behind(x, y, k, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i - 3] + x[i - n + 1] + x[k]


def turn_by_turn(x, y, k, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = x[i - k] + x[k]


def by_every_other(x, y, k, n):
    i = cuda.grid(1)
    if 2 * i < n:
        y[2 * i] = x[2 * i + k] - x[-1 - 2 * i]


def beyond_where_words_end(x, y, k, n):
    """The index wraps around: only its sum is within the array."""
    i = cuda.grid(1)
    if i < n:
        y[i] = x[(i + 0x7FFFFFFFFFFFFFFF) + (k - 0x7FFFFFFFFFFFFFFF)]


def staged(x, y, k, n):
    row = cuda.shared.array(64, np.float64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    first = b * 40
    if t >= 37:
        return
    for i in range(t, 40, cuda.blockDim.x):
        row[i] = x[first + i - k] if first + i < n else 0.0
    cuda.syncthreads()
    for i in range(t, 40, cuda.blockDim.x):
        if first + i < n:
            y[first + i] = row[i] + row[0] + x[k - i]


def model(kernel, x, k, n, blocks, block):
    """Return what a kernel leaves in y, or None if it reads where nothing is."""
    y = np.zeros(n)

    def at(i):
        return x[i] if -n <= i < n else np.nan

    for i in range(n):
        if kernel is staged:
            inside, first = i % 40, i // 40 * 40
            if first // 40 < blocks and inside % block < 37:
                y[i] = at(i - k) + at(first - k) + at(k - inside)
        elif kernel is turn_by_turn:
            y[i] = at(i - k) + at(k)
        elif i >= blocks * block:
            continue
        elif kernel is shifted:
            y[i] = at(i + k) + 2 * at(k - i)
        elif kernel is three_behind:
            y[i] = at(i - 3) + at(i - n + 1) + at(k)
        elif kernel is with_narrow_places:
            y[i] = at(i - k) + at(i + 1 - n)
        elif kernel is beyond_where_words_end:
            y[i] = at(i + k)
        elif 2 * i < n:
            y[2 * i] = at(2 * i + k) - at(-1 - 2 * i)
    return y


def laid_out(values, layout):
    """Return values in an array of some layout, and the memory it lies in."""
    n = len(values)
    if layout == "fields":  # 12 bytes apart
        memory = np.zeros(n, np.dtype([("before", np.float32), ("value", np.float64)]))
        view = memory["value"]
    else:
        memory = np.zeros(3 * n + 3)
        parts = {"side by side": slice(1, n + 1), "apart": slice(0, 3 * n, 3), "backwards": slice(n, 0, -1)}
        view = memory[parts[layout]]
    view[:] = values
    return view, memory


LAYOUTS = ("side by side", "side by side", "apart", "backwards", "fields")
KERNELS = (shifted, with_narrow_places, three_behind, turn_by_turn, by_every_other, beyond_where_words_end, staged)


def compiled(kernel, word):
    array = ArrayType(dtype="float64", ndim=1, layout="A")
    signature = Signature(arguments=(array, array, ScalarType(dtype=word), ScalarType(dtype=word)))
    lowered = lower(kernel, signature, Options(), host_target(), (), ConfigView(None))[0]
    code = generate(lowered, host_target(), Options())
    return load(code.image, code.entry)


@pytest.mark.each_value_once
@pytest.mark.parametrize("word", ["int64", "int32"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_rows_give_the_same_in_any_layout_and_from_any_end(kernel, word, packed):
    code, random = compiled(kernel, word), np.random.default_rng(7)
    for _ in range(150):
        n, block = int(random.integers(1, 140)), int(random.integers(1, 70))
        blocks, k = int(random.integers(1, 5)), int(random.integers(-n, n))
        values = random.random(n)
        wanted = model(kernel, values, k, n, blocks, block)
        if np.isnan(wanted).any():
            continue
        (x, _), (y, memory) = laid_out(values, random.choice(LAYOUTS)), laid_out(np.zeros(n), random.choice(LAYOUTS))
        kind = np.dtype(word).type
        given = packed(x, y, kind(k), kind(n))
        assert launch(code, LaunchConfig.of(blocks, block), given, 0, 1) is None
        np.testing.assert_allclose(y, wanted, err_msg=f"{n} {block} {blocks} {k} {x.strides} {y.strides}")
        y[:] = 0
        assert not (memory.view(np.uint8)).any()  # nothing beside the array was written


def rows(x, y, k, n):
    j, i = cuda.grid(2)
    if i < n and j < n:
        y[j, i] = x[j, i - k] + x[j - 1, i]


@pytest.mark.parametrize("turned", [False, True])
def test_rows_of_parts_of_images_give_the_same(turned, packed):
    array = ArrayType(dtype="float32", ndim=2, layout="A")
    whole = ScalarType(dtype="int64")
    lowered = lower(
        rows, Signature(arguments=(array, array, whole, whole)), Options(), host_target(), (), ConfigView(None)
    )[0]
    code = generate(lowered, host_target(), Options())
    function, random = load(code.image, code.entry), np.random.default_rng(8)
    for n in (1, 7, 40):
        x, y = random.random((n, n + 9), np.float32)[:, 2 : n + 2], np.zeros((n + 3, n + 3), np.float32)[2:-1, 1:-2]
        for k in (0, 1 % n, n - 1):
            ours = x.T if turned else x
            given = packed(ours, y, np.int64(k), np.int64(n))
            assert launch(function, LaunchConfig.of((9, 9), (8, 8)), given, 0, 1) is None
            places = np.arange(n)
            np.testing.assert_array_equal(y, ours[:, places - k] + ours[places - 1])
