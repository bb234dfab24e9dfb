"""A condition that holds for one part of a row costs no masks: each part is a loop of its own."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.options import Options
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.processor import host_target
from gridjit.compiler.targets.host.regions.body import Block, Body
from gridjit.compiler.targets.host.rows.crossings import crossed

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


@pytest.mark.parametrize("kernel", [sides, borders])
def test_what_a_part_of_a_row_stores_is_not_masked(lowered, monkeypatch, kernel):
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))
    generate(lowered(kernel, "float32[1]", "float32[1]"), host_target(), Options())
    assert "x float>" in texts[0]
    assert "call void @llvm.masked" not in texts[0]


_PLACE = ("%t = zext i32 %gj.tid.x to i64", "%b = zext i32 %gj.ctaid.x to i64", "%i = add i64 %t, %b")
_STORE, _LOAD = "store float 0.0, ptr %p", "%v = load float, ptr %p"


def asked(condition, inside, *more):
    blocks = (
        Block(label="%entry", lines=(*_PLACE, *more, condition, "br i1 %c, label %yes, label %no")),
        Block(label="%yes", lines=(inside, "br label %no")),
        Block(label="%no", lines=("ret i32 0",)),
    )
    return len(crossed(Body(parameters=(), blocks=blocks, rest=""), "x").pairs)


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
