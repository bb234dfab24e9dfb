"""jit(specialize="auto") folds the block where loops go away by it, for two blocks at most, and else nothing."""

# mypy: ignore-errors
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.fold import loops
from gridjit.compiler.targets.ptx import nvptx
from gridjit.compiler.values.options import Options
from tests.toolkit import needs_toolkit

pytestmark = [
    *needs_toolkit(bitcode=True),
    pytest.mark.skipif(bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older"),
]
SIGNATURE = "void(float32[::1], float32[::1])"


def tree(x, out):
    tile = cuda.shared.array(1024, np.float32)
    thread = cuda.threadIdx.x
    tile[thread] = x[cuda.grid(1)]
    step = cuda.blockDim.x // 2
    while step:
        cuda.syncthreads()
        if thread < step:
            tile[thread] += tile[thread + step]
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


def scales(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


def sums(x, out):
    total = np.float32(0)
    for i in range(x.size):
        total += x[i]
    out[cuda.grid(1)] = total


def without_a_block(x, out):
    out[cuda.threadIdx.x] = x[cuda.threadIdx.x]


def compiled(kernel: Any, block: int | None) -> Any:
    return kernel.compile(SIGNATURE, config=block and (2, block), target="sm_90")


def test_the_block_is_folded_where_the_loops_over_it_go_away() -> None:
    kernel = gridjit.jit(specialize="auto")(tree)
    made = compiled(kernel, 128)
    assert [(fact.field, fact.value) for fact in made.footprint.facts] == [("blockdim", (128, 1, 1))]
    assert loops(made.assembly) == 0 < loops(compiled(gridjit.jit(tree), 128).assembly)
    assert made.assembly == compiled(gridjit.jit(specialize="blockdim")(tree), 128).assembly
    assert re.search(r"specialize='auto': the block is folded: 0 of \d loops remain", kernel.explain())


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (scales, "the code has no loop"),
        (sums, "loops would remain"),
        (without_a_block, "the code does not depend on the block"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_where_no_loop_goes_one_code_serves_all_blocks(function: Any, why: str) -> None:
    kernel = gridjit.jit(specialize="auto")(function)
    assert compiled(kernel, 128).assembly == compiled(gridjit.jit(function), 64).assembly
    compiled(kernel, 256)
    assert kernel.stats.compiles == 1
    assert why in kernel.explain()


def test_two_blocks_have_code_of_their_own_and_all_others_share_one() -> None:
    kernel = gridjit.jit(specialize="auto")(tree)
    for block in (32, 64, 96, 128, 256):
        compiled(kernel, block)
    assert [len(found.footprint.facts) for found in kernel.specializations] == [1, 1, 0]
    assert "as many blocks as may be have code of their own" in kernel.explain()


def test_code_made_ahead_of_launches_leaves_the_choice_to_them() -> None:
    kernel = gridjit.jit(specialize="auto")(tree)
    assert loops(compiled(kernel, None).assembly) > 0
    assert loops(compiled(kernel, 128).assembly) == 0


def test_another_process_finds_what_was_chosen(restart: Any) -> None:
    for compiles in (2, 0):
        restart()
        kernel, plain = (gridjit.jit(specialize="auto")(one) for one in (tree, sums))
        assert (loops(compiled(kernel, 64).assembly), loops(compiled(plain, 64).assembly) > 0) == (0, True)
        assert kernel.stats.compiles + plain.stats.compiles == compiles


def test_the_choice_may_be_made_while_generic_code_serves() -> None:
    kernel = gridjit.jit(specialize="auto", tiered=True)(tree)
    assert loops(compiled(kernel, 128).assembly) == 0
    assert loops(compiled(kernel, None).assembly) > 0


def test_auto_is_named_alone() -> None:
    with pytest.raises(gridjit.ConfigError, match="or 'auto' alone"):
        gridjit.jit(specialize=("auto", "griddim"))(tree)


def test_on_the_host_nothing_is_folded() -> None:
    kernel = gridjit.jit(specialize="auto", target="host")(scales)
    x = np.ones(8, np.float32)
    kernel[1, 8](x, x)
    assert x.tolist() == [2] * 8
    assert "specialize='auto': nothing is folded on the host" in kernel.explain()
