"""What one thread of a row does by itself costs the others nothing: their loop has no stores under masks for it."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import pipeline
from gridjit.compiler.targets.host.blocks.entry import entry_text
from gridjit.compiler.targets.host.emit.rows import SplitRow
from gridjit.compiler.targets.host.emit.work_item_loops import ThreadLoops
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.passes.peeling import FIRST, LAST, Stop, peeled
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def first(x, out):
    tile = cuda.shared.array(65, np.float32)
    t = cuda.threadIdx.x
    tile[t + 1] = x[t]
    if t == 0:
        tile[0] = x[0]
    cuda.syncthreads()
    out[t] = tile[t] + tile[t + 1]


def last(x, out):
    tile = cuda.shared.array(65, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    if t == cuda.blockDim.x - 1:
        tile[64] = x[0]
    cuda.syncthreads()
    out[t] = tile[t] + tile[t + 1]


def both_first(x, out):
    tile = cuda.shared.array(66, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        tile[0] = x[i]
    if t == cuda.blockDim.x - 1:
        tile[cuda.blockDim.x + 1] = x[i + 2]
    tile[t + 1] = x[i + 1]
    cuda.syncthreads()
    out[i] = tile[t] + tile[t + 1] + tile[t + 2]


@pytest.mark.parametrize("kernel", [first, last, both_first])
def test_a_row_whose_first_and_last_threads_fill_a_tiles_border_is_run_as_a_whole(lowered, monkeypatch, kernel):
    loops = []
    monkeypatch.setattr(pipeline, "entry_text", lambda plan: loops.append(entry_text(plan)) or loops[-1])
    generate(lowered(kernel, "float32[1]", "float32[1]"), host_target(), Options())
    assert "call i32 @gridjit.late.0(" in loops[0]
    # In one loop, of which no thread is rare.
    assert loops[0].count("call i32 @gridjit.region.0(") == 1


@pytest.mark.parametrize("kernel", [first, last])
def test_what_one_thread_stores_is_not_masked(lowered, monkeypatch, wide, kernel):
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))
    generate(lowered(kernel, "float32[1]", "float32[1]"), wide, Options())
    assert "call void @llvm.masked" not in texts[0]


@pytest.mark.parametrize(("stops", "written"), [((FIRST,), 3), ((LAST,), 3), ((FIRST, LAST), 3), ((Stop(place=7),), 4)])
def test_only_places_within_a_row_take_a_loop_over_its_parts(stops, written):
    loops = ThreadLoops()
    body = SplitRow(stops=stops, usual=["  call void @usual()"], rare=["  call void @rare()"])
    loops.loop("only", body, "entry", "over")
    assert len(loops.vectorized) == written


SIZE = "%s = zext nneg i32 %n to i64"


def stops(*lines, axis="x"):
    given = ("%t = add i32 %gj.tid.x, 0", "%n = add i32 %gj.ntid.x, 0", "%w = zext nneg i32 %t to i64")
    body = Body(parameters=(), blocks=(Block(label="%entry", lines=(*given, *lines, "ret i32 0")),), rest="")
    return peeled(body, axis).stops


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["%c = icmp eq i32 %t, 31"], (Stop(place=31),)),
        (["%c = icmp ne i64 %w, 0"], (Stop(place=0),)),
        (["%a = add nuw nsw i64 %w, 3", "%c = icmp eq i64 %a, 5"], (Stop(place=2),)),
        ([SIZE, "%a = add nsw i64 %s, -1", "%c = icmp eq i64 %w, %a"], (Stop(place=-1, from_end=True),)),
        ([SIZE, "%a = sub nsw i64 %s, %w", "%c = icmp eq i64 %a, 2"], (Stop(place=-2, from_end=True),)),
        (["%a = add i32 %n, -3", "%c = icmp eq i32 %t, %a"], (Stop(place=-3, from_end=True),)),
        (
            ["%c = icmp eq i32 %t, 0", "%d = icmp ne i32 %t, 0", "%e = icmp eq i32 %t, 7"],
            (Stop(place=0), Stop(place=7)),
        ),
    ],
)
def test_places_are_found_in_comparisons(lines, found):
    assert stops(*lines) == found


@pytest.mark.parametrize(
    "lines",
    [
        ["%c = icmp eq i32 %t, 5000"],
        ["%c = icmp eq i64 %w, -1"],
        ["%c = icmp ult i32 %t, 3"],
        ["%a = mul nuw nsw i64 %w, 2", "%c = icmp eq i64 %a, 4"],
        ["%c = icmp eq i32 %gj.tid.y, 0"],
        ["%s = zext nneg i32 %gj.ctaid.x to i64", "%c = icmp eq i64 %w, %s"],
        [SIZE, "%c = icmp eq i64 %w, %s"],
        [f"%c{place} = icmp eq i32 %t, {place}" for place in range(5)],
    ],
)
def test_other_conditions_are_asked_by_every_thread(lines):
    assert stops(*lines) == ()
