"""What a kernel computes for nothing once its loops were written anew is left out, and nothing else."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import optimizing
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.passes.dead_values import without_dead_values
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def blocks(**lines):
    return tuple(Block(label=f"%{label}", lines=tuple(text)) for label, text in lines.items())


def left(**lines):
    return without_dead_values(Body(parameters=(), blocks=blocks(**lines), rest="")).blocks


_ASKS, _ENDS = "br i1 %c, label %yes, label %no", "ret i32 0"
_STORE = "store i64 %v, ptr %p"


def test_what_only_counts_goes_with_the_branch_that_asked_for_it():
    found = left(
        entry=["%c = icmp slt i64 %arg.0, 1", _ASKS],
        no=["%d = udiv i64 %arg.0, %arg.1", "br label %yes"],
        yes=["%n = phi i64 [ %d, %no ], [ 0, %entry ]", "store i64 1, ptr %p", _ENDS],
    )
    assert found == blocks(entry=["br label %yes"], yes=["store i64 1, ptr %p", _ENDS])


def test_a_ring_that_nothing_else_reads_goes():
    found = left(
        entry=["br label %yes"],
        yes=["%n = phi i64 [ 0, %entry ], [ %m, %yes ]", "%m = add i64 %n, 1", "br i1 %arg.0, label %yes, label %no"],
        no=[_ENDS],
    )
    assert found == blocks(entry=["br label %yes"], yes=["br i1 %arg.0, label %yes, label %no"], no=[_ENDS])


def test_ways_that_are_joined_send_what_they_both_sent():
    found = left(
        entry=["br i1 %arg.0, label %a, label %b"],
        a=["br label %c"],
        b=["br label %c"],
        d=["br label %c"],
        c=["%v = phi i64 [ 7, %a ], [ 7, %b ], [ 8, %d ]", _STORE, _ENDS],
    )
    expected = blocks(
        entry=["br label %c"],
        d=["br label %c"],
        c=["%v = phi i64 [ 8, %d ], [ 7, %entry ]", _STORE, _ENDS],
    )
    assert found == expected


@pytest.mark.parametrize(
    "lines",
    [
        # A phi that tells by which way a thread came.
        {
            "entry": ["%c = icmp slt i64 %arg.0, 1", _ASKS],
            "no": ["br label %yes"],
            "yes": ["%v = phi i64 [ 1, %no ], [ 0, %entry ]", _STORE, _ENDS],
        },
        # A way that does something.
        {"entry": ["br i1 %arg.0, label %yes, label %no"], "no": ["call void @f()", "br label %yes"], "yes": [_ENDS]},
        # A loop, which others lead to.
        {
            "entry": ["br i1 %arg.0, label %yes, label %no"],
            "no": ["br label %yes"],
            "yes": ["br i1 %arg.1, label %no, label %out"],
            "out": [_ENDS],
        },
    ],
)
def test_what_is_used_or_does_something_stays(lines):
    assert left(**lines) == blocks(**lines)


def counting(x, out):
    tile = cuda.shared.array(64, "int32")
    t = cuda.threadIdx.x
    tile[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        tile[t] += x[i]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[63 - t]


def test_turns_that_all_threads_take_together_are_not_counted_by_each(lowered, monkeypatch):
    texts, final = [], optimizing._final
    monkeypatch.setattr(
        optimizing, "_final", lambda text, *how, **named: texts.append(text) or final(text, *how, **named)
    )
    generate(lowered(counting, "int32[1]", "int32[1]"), host_target(), Options())
    regions = [part for part in texts[0].split("define ") if ".region." in part.partition("(")[0]]
    assert regions
    assert not any("div i64" in part or "rem i64" in part for part in regions)
