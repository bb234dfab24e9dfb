"""A condition that holds for one part of a row costs no masks: each part is a loop of its own."""

# mypy: ignore-errors
from __future__ import annotations

import re

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.passes.index_set_splitting import index_set_split
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def sides(x, out):
    i = cuda.grid(1)
    if i < x.size:
        if i == 0:
            out[i] = x[i + 1]
        elif i == x.size - 1:
            out[i] = x[i - 1]
        else:
            out[i] = x[i + 1] - x[i - 1]


def borders(x, out):
    tile = cuda.shared.array(70, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        tile[t + 3] = x[i]
    if t < 3:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[t] + tile[t + 3]


@pytest.fixture
def optimized(lowered, monkeypatch, wide):
    """Return optimized(kernel, *types): the text of the module that machine code is made of."""
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))

    def of(kernel, *types):
        generate(lowered(kernel, *types), wide, Options())
        return texts.pop()

    return of


@pytest.mark.parametrize("kernel", [sides, borders])
def test_what_a_part_of_a_row_stores_is_not_masked(optimized, kernel):
    text = optimized(kernel, "float32[1]", "float32[1]")
    assert "x float>" in text
    assert "call void @llvm.masked" not in text


def histogram(x, out):
    counts = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    if t < 256:
        counts[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i] & 255, 1)
    cuda.syncthreads()
    if t < 256:
        cuda.atomic.add(out, t, counts[t])


def strided(x, out):
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile = cuda.shared.array(64, np.int32)
    if i < x.size:
        tile[t] = x[i - out[0]]
    cuda.syncthreads()
    if i < x.size:
        out[i - 1] = tile[t] + x[i - 3] * x[i - 5]


@pytest.mark.parametrize(("kernel", "layout"), [(histogram, ""), (strided, "A")])
def test_the_loops_over_a_blocks_threads_are_not_copied_for_what_is_asked_of_a_row(optimized, kernel, layout):
    text = optimized(kernel, *[f"int32[1]{layout}"] * 2)
    runs = re.findall(r"^define [^\n]*\.run\.\d+\.all.*?^}", text, re.MULTILINE | re.DOTALL)
    assert max(run.count("br ") for run in runs) < 40


def bands(x, out):
    j, i = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        out[i, j] = x[i, j]
    elif j > 0:
        out[i, j] = x[i, j - 1]


def triangle(x, out):
    j, i = cuda.grid(2)
    if j < i:
        out[i, j] = x[i, j]
    cuda.syncthreads()
    out[i, j] += x[i, j]


@pytest.mark.parametrize(("kernel", "once"), [(bands, True), (triangle, False)])
def test_parts_that_all_rows_have_are_looked_for_once_in_a_block(optimized, kernel, once):
    text = optimized(kernel, "float32[2]", "float32[2]")
    row = re.search(r"^\S*row\S*:", text, re.MULTILINE)
    assert (text.index(' asm ""') < row.start()) == once


_PLACE = ("%t = zext i32 %gj.tid.x to i64", "%b = zext i32 %gj.ctaid.x to i64", "%i = add i64 %t, %b")
_STORE, _LOAD = "store float 0.0, ptr %p", "%v = load float, ptr %p"


def asked(condition, inside, *more):
    blocks = (
        Block(label="%entry", lines=(*_PLACE, *more, condition, "br i1 %c, label %yes, label %no")),
        Block(label="%yes", lines=(inside, "br label %no")),
        Block(label="%no", lines=("ret i32 0",)),
    )
    return len(index_set_split(Body(parameters=(), blocks=blocks, rest=""), "x").pairs)


@pytest.mark.parametrize(
    ("condition", "inside", "more"),
    [
        ("%c = icmp slt i64 %t, 3", _STORE, ()),
        ("%c = icmp slt i64 %i, %n", _LOAD, ()),
        ("%c = icmp eq i64 %m, %n", _STORE, ("%m = mul i64 %i, 3",)),
        ("%c = and i1 %d, %e", _STORE, ("%d = icmp ugt i64 %t, %n", "%e = icmp ne i32 %gj.tid.y, 0")),
    ],
)
def test_conditions_of_places_are_asked_of_parts(condition, inside, more):
    assert asked(condition, inside, *more) == 1


@pytest.mark.parametrize(
    ("condition", "inside", "more"),
    [
        # Cheaper under a mask than in two loops for every row.
        ("%c = icmp slt i64 %t, 3", _LOAD, ()),
        ("%c = icmp slt i64 %b, %n", _STORE, ()),
        ("%c = icmp slt i64 %m, 9", _STORE, ("%m = mul i64 %i, %i",)),
        ("%c = icmp slt i64 %m, 9", _STORE, ("%m = load i64, ptr %p",)),
        ("%c = icmp slt i64 %m, 9", _STORE, ("%m = mul i64 %t, 1000000",)),
        ("%c = icmp slt i32 %m, 9", _STORE, ("%m = add i32 %gj.tid.x, %n",)),
    ],
)
def test_other_conditions_are_asked_of_each_thread(condition, inside, more):
    assert asked(condition, inside, *more) == 0
