"""After each pass, a kernel is well formed; else the verifier names the pass, the instruction and the broken rule."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import cuda

from gridjit.compiler.targets.host import pipeline
from gridjit.compiler.targets.host.generate import assembly
from gridjit.compiler.targets.host.ir.body import Body, Parameter, blocks_of
from gridjit.compiler.targets.host.ir.verify import MalformedError, verify
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import PLAIN, Options
from tests.programs import run_python

ROOT = Path(__file__).parents[3]
GOOD = """entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %a, i64 %i
  store i8 0, ptr %p, align 1
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
"""
GIVEN = (Parameter(type="ptr", name="%a"),)


def body(text: str) -> Body:
    return Body(parameters=(Parameter(type="i64", name="%n"),), blocks=tuple(blocks_of(text)), rest="")


def test_a_well_formed_kernel_is_accepted() -> None:
    verify(body(GOOD), "this test", GIVEN)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("  ret i32 0", "  %x = add i64 %n, 1", "no terminator"),
        ("  store i8 0, ptr %p, align 1", "  ret i32 1", "amid the block"),
        ("  %p = getelementptr i8, ptr %a, i64 %i", "  %i = add i64 %n, 1", "two definitions"),
        ("end:", "loop:", "one label"),
        ("br i1 %more, label %loop, label %end", "br label %nowhere", "no block is called %nowhere"),
        ("[ 0, %entry ], ", "", "predecessors are %entry, %loop"),
        ("[ 0, %entry ]", "[ 0, %end ]", "predecessors are %entry, %loop"),
        ("br i1 %more, label %loop, label %end", "br label %entry", "leads to the entry"),
        ("icmp slt i64 %next, %n", "icmp slt i64 %next, %m", "%m has no definition"),
        ("ret i32 0", "ret i64 %next", "does not dominate this use of %next"),
        ("store i8 0, ptr %p", "store i8 %more, ptr %p", "does not dominate this use of %more"),
        ("icmp slt i64 %next", "icmp slt i32 %next", "%next is i64, not i32"),
        ("store i8 0, ptr %p", "store i8 0, ptr %i", "%i is i64, not ptr"),
        ("  %next = add i64 %i, 1", "  %next = add i64 %i,1", "ir/parse.py does not know it"),
        ("  %next =", "  %j = phi i64 [ 0, %entry ], [ 0, %loop ]\n  %next =", "a phi stands"),
    ],
)
def test_a_rule_that_is_broken_is_named_with_the_pass(old: str, new: str, rule: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(MalformedError, match=r"after this test: .*") as caught:
        verify(body(GOOD.replace(old, new)), "this test", GIVEN)
    assert rule in str(caught.value)


def test_code_that_no_path_leads_to_may_read_anything() -> None:
    verify(body(f"{GOOD}lost:\n  %x = add i64 %next, 1\n  br label %lost\n"), "this test", GIVEN)


def scaled(values: Any, count: Any) -> None:
    i = cuda.grid(1)
    if i < count:
        values[i] = values[i] * 2
    cuda.syncthreads()
    if i + 1 < count:
        values[i] = values[i] + count


def seen(lowered: Any, options: Options) -> list[str]:
    """Return the passes that a kernel goes through."""
    names: list[str] = []
    observer: Callable[[str, Body], None] = lambda name, _: names.append(name)  # noqa: E731
    pipeline.OBSERVERS.append(observer)
    try:
        assembly(lowered, host_target(), options)
    finally:
        pipeline.OBSERVERS.remove(observer)
    return list(dict.fromkeys(names))


def test_the_list_of_the_passes_is_true(lowered: Any) -> None:
    kernel = lowered(scaled, "float32[1]", "int64")
    whole, plain = seen(kernel, Options()), seen(kernel, Options(codegen=PLAIN))
    assert whole == [name for name in pipeline.PASSES if name in whole]
    assert {*pipeline.PASSES} - {*whole} == {"line table", "sanitizer"}
    assert {*plain} == pipeline.REQUIRED - {"line table", "sanitizer"}


def test_each_pass_names_files_that_are_there() -> None:
    folder = ROOT / "compiler" / "targets" / "host"
    for sentence in pipeline.PASSES.values():
        names = sentence.partition("(")[2].rstrip(")").split(", ")
        home = folder / names[0].partition("/")[0]
        assert all((home / name.rpartition("/")[2]).exists() for name in names)


def test_documentation_lists_the_passes() -> None:
    page = (ROOT / "docs" / "host-target.md").read_text()
    rows = [f"| {name} | {sentence.partition(' (')[0]} |" for name, sentence in pipeline.PASSES.items()]
    assert "\n".join(rows) in page


PROGRAM = """
import numpy as np
from numba import cuda
import gridjit

@gridjit.jit
def reversed_sums(values, sums, count):
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile = cuda.shared.array(64, np.float32)
    total = np.float32(0)
    for k in range(i, count, cuda.gridsize(1)):
        total += values[k]
    tile[t] = total
    cuda.syncthreads()
    if i < count:
        sums[i] = tile[cuda.blockDim.x - 1 - t]

values = np.arange(300, dtype=np.float32)
sums = np.zeros(128, np.float32)
reversed_sums[2, 64](values, sums, 300)
print(sums.sum(), *sums[:3], reversed_sums.specializations[0].origin)
"""


def run(folder: Path, **settings: str) -> tuple[str, str]:
    environment = {**os.environ, "GRIDJIT_TARGET": "host", "GRIDJIT_CACHE_DIR": str(folder), **settings}
    (folder / "program.py").write_text(PROGRAM)
    done = run_python(folder / "program.py", env=environment)
    return done.stdout, done.stderr


def test_without_optimizations_a_kernel_has_code_of_its_own_and_the_same_results(tmp_path: Path) -> None:
    whole, _ = run(tmp_path)
    plain, _ = run(tmp_path, GRIDJIT_HOST_PLAIN="1")
    assert whole == plain and "compiled" in plain  # not the other's
    again, _ = run(tmp_path, GRIDJIT_HOST_PLAIN="1")
    assert again == plain.replace("compiled", "disk")


def test_passes_are_printed_on_demand(tmp_path: Path) -> None:
    _, said = run(tmp_path, GRIDJIT_HOST_PASSES="print")
    assert all(f"; {name}: " in said for name in {*pipeline.PASSES} - {"line table", "sanitizer"})
    assert "define i32 @" in said and "; no change" in said
