"""scripts/bench-kernels.py: how loops are counted and results compared, and that it checks kernels without a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_times import KERNELS
from kernel_times.inner_loops import Loop, inner_loop
from kernel_times.kernel import FMA, LOAD, Kernel

from tests.programs import run_python
from tests.toolkit import needs_toolkit

PROGRAM = Path(__file__).parents[2] / "scripts" / "bench-kernels.py"
PTX = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	.reg .pred 	%p<2>;
	ld.param.u64 	%rd1, [kernel_param_0];
$L__BB0_1:
	mov.u32 	%r1, 0;
$L__BB0_2:
	ld.global.f32 	%f1, [%rd1];
	fma.rn.f32 	%f2, %f1, %f1, %f2;
	fma.rn.f32 	%f3, %f1, %f1, %f3;
	setp.lt.s32 	%p1, %r1, 5;
	@%p1 bra 	$L__BB0_2;
	bra.uni 	$L__BB0_1;
	ret;
}
.func other() {
	ret;
}
"""
SASS = """
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDG.E R2, [R4] ;
        /*0020*/                   FFMA R3, R2, R2, R3 ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
.L_x_1:
        /*0050*/                   BRA `(.L_x_1);
        /*0060*/                   NOP;
"""


@pytest.mark.parametrize(
    ("text", "work", "loop"),
    [
        (PTX, FMA, Loop(5, 2)),
        (PTX, LOAD, Loop(5, 1)),
        (PTX, "bar.sync", Loop(9, 0)),
        (PTX, "", Loop(9, 0)),
        (SASS, FMA, Loop(3, 1)),
        (SASS, "", Loop(6, 0)),
    ],
)
def test_the_innermost_loop_with_the_work_is_counted_or_else_the_body(text: str, work: str, loop: Loop) -> None:
    assert inner_loop(text, work) == loop


def kernel(**changes: object) -> Kernel:
    nothing = {"function": None, "cuda": "", "arguments": None, "expected": None, "sizes": (1, 1)}
    return Kernel(**(nothing | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "found", "equal"),
    [
        ({}, [1.0, 2.0, np.inf], True),
        ({}, [1.0, 2.001, np.inf], False),
        ({"tolerance": 1e-3}, [1.0, 2.001, np.inf], True),
        ({"tolerance": 1e-3}, [1.0, 2.0, np.nan], False),
        ({"apart": 0.4}, [1.0, 3.0, np.inf], True),
    ],
)
def test_results_are_equal_within_a_tolerance_but_for_a_share(changes: object, found: object, equal: bool) -> None:
    difference = kernel(**changes).difference([np.array(found)], [np.array([1.0, 2.0, np.inf])])  # type: ignore[arg-type]
    assert bool(difference) != equal


def test_results_of_zeros_alone_are_those_of_a_kernel_that_did_nothing() -> None:
    assert kernel().difference([np.zeros(3)], [np.zeros(3)])


def test_names_choose_one_kernel_each() -> None:
    names = [kernel.name for kernel in KERNELS]
    assert len(set(names)) == len(names)


def with_toolkit(test: Any) -> Any:
    for mark in needs_toolkit(bitcode=True):
        test = mark(test)
    return test


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python(PROGRAM, *arguments)


def test_an_unknown_kernel_is_refused_with_the_known_ones() -> None:
    done = program("--kernels", "saxpy,sexpy")
    assert done.returncode == 2 and "not sexpy" in done.stderr and "n_body" in done.stderr


WRONG = """
import dataclasses, runpy, sys
program = sys.argv[1]
sys.path.insert(0, program.rpartition("/")[0])
import kernel_times
kernel_times.KERNELS = [dataclasses.replace(kernel_times.KERNELS[0], expected=lambda a, x, y, _: x)]
sys.argv[1:] = ["--check"]
runpy.run_path(program, run_name="__main__")
"""


@with_toolkit
def test_a_wrong_result_is_told_with_the_kernel() -> None:
    done = run_python("-c", WRONG, PROGRAM)
    assert done.returncode == 1
    assert "saxpy" in done.stdout and "wrong results: 5000 of 5000 items differ" in done.stdout


@with_toolkit
def test_kernels_are_compiled_and_compared_without_a_gpu() -> None:
    done = program("--check", "--kernels", "saxpy,block_sum", "--modes", "default,launch")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["saxpy", "block_sum"]
    assert all("CUDA C" in line and "llvm launch" in line for line in lines)
