"""Which regions all threads of a block end at one place, and where ways meet, read off small functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host import pipeline
from gridjit.compiler.targets.host.analysis.barriers import split
from gridjit.compiler.targets.host.analysis.convergence import has_convergent_exit
from gridjit.compiler.targets.host.analysis.postdominators import postdominators
from gridjit.compiler.targets.host.analysis.uniformity import uniform_values
from gridjit.compiler.targets.host.ir.body import Parameter, read_body

PARAMETERS = (Parameter(type="i32", name="%n"), Parameter(type="ptr", name="%p"))
WAIT = "  call void @gridjit.nvvm.barrier0()"
# Some threads work before all decide by %more whether to go round again.
LOOP = f"""entry:
  br label %head
head:
  %k = phi i32 [ %n, %entry ], [ %half, %meet ]
  %mine = icmp ult i32 %gj.tid.x, %k
  br i1 %mine, label %work, label %meet
work:
  store i32 %k, ptr %p
  br label %meet
meet:
{WAIT}
  %half = lshr i32 %k, 1
  %more = icmp ne i32 {{what}}, 0
  br i1 %more, label %head, label %end
end:
{WAIT}
  ret i32 {{code}}"""


def regions(lines: str) -> list[bool]:
    body = read_body(f"define i32 @k(i32 %n, ptr %p) {{\n{lines}\n}}\n", "k", PARAMETERS)
    parts = split(body)
    same, meet = uniform_values(body), postdominators(parts.blocks)
    return [has_convergent_exit(parts.blocks, start, same, meet) for start in parts.starts]


def test_threads_that_part_and_meet_again_before_a_common_choice_end_a_region_at_one_place() -> None:
    assert regions(LOOP.format(what="%half", code=0)) == [True, True, True]


def test_threads_that_choose_by_themselves_where_to_go_on_may_end_a_region_at_several_places() -> None:
    assert regions(LOOP.format(what="%gj.tid.x", code=0)) == [True, False, True]


def test_threads_that_may_raise_are_looked_at_one_by_one() -> None:
    assert regions(LOOP.format(what="%half", code="%n")) == [True, True, False]


def test_threads_that_end_early_end_elsewhere_than_those_that_wait() -> None:
    early = f"entry:\n  %out = icmp ugt i32 %gj.tid.x, %n\n  br i1 %out, label %end, label %on\non:\n{WAIT}\n"
    assert regions(f"{early}  br label %end\nend:\n  ret i32 0") == [False, True]


def test_ways_meet_at_the_nearest_block_that_all_go_through_and_never_where_none_leads_to_the_end() -> None:
    body = read_body(
        """define i32 @k(i32 %n, ptr %p) {
a:
  br i1 %n, label %b, label %c
b:
  br i1 %n, label %d, label %e
c:
  br label %e
d:
  br label %e
e:
  br i1 %n, label %f, label %g
f:
  br label %f
g:
  ret i32 0
}
""",
        "k",
        PARAMETERS,
    )
    found = postdominators({block.label: block for block in body.blocks})
    assert found == {"%a": "%e", "%b": "%e", "%c": "%e", "%d": "%e", "%e": "%g", "%f": None, "%g": None}


def test_a_kernel_whose_threads_end_in_turn_in_a_loop_with_barriers_computes_what_it_says() -> None:
    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        total = cuda.shared.array(1, np.int32)
        i = cuda.threadIdx.x
        if i == 0:
            total[0] = 0
        cuda.syncthreads()
        for turn in range(5):
            cuda.atomic.add(total, 0, 1)
            cuda.syncthreads()
            x[i] = total[0]
            if i == turn:
                return
            cuda.syncthreads()

    x = np.zeros(8, np.int32)
    kernel[1, 8](x)
    assert x.tolist() == [8, 15, 21, 26, 30, 30, 30, 30]


def in_step(x):
    tile = cuda.shared.array(8, np.int32)
    i = cuda.threadIdx.x
    for turn in range(x.size):
        tile[i] = x[turn] + i
        cuda.syncthreads()
        x[turn] = tile[7 - i]
        cuda.syncthreads()


def some_end_early(x):
    if cuda.threadIdx.x >= x.size:
        return
    cuda.syncthreads()
    x[cuda.threadIdx.x] = 1


@pytest.mark.parametrize(("function", "splits"), [(in_step, False), (some_end_early, True)])
def test_regions_are_made_for_a_part_of_a_block_only_where_its_threads_may_part(function, splits, monkeypatch) -> None:
    texts: list[str] = []

    def assembled(*parts: Any) -> str:
        texts.append(assemble(*parts))
        return texts[-1]

    assemble = pipeline._assemble
    monkeypatch.setattr(pipeline, "_assemble", assembled)
    gridjit.jit(function, cache=False).compile("void(int32[::1])", target="host")
    assert ("@gridjit.apart(" in texts[-1]) is splits
