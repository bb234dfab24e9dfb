"""What makes a kernel depend on its launch: what its own compile read, wherever that was read, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.kernels import writes_block, writes_block_everywhere

pytestmark = pytest.mark.usefixtures("target")
BLOCKS = (32, 64, 96)
# What the library below replaces by the block size; no kernel here means the number.
BLOCK = 424242


@gridjit.jit(device=True)
def block_size():
    return BLOCK


def asks_itself(out):
    out[cuda.threadIdx.x] = BLOCK


def asks_a_function(out):
    out[cuda.threadIdx.x] = block_size()


def asks_a_function_too(out):
    out[cuda.threadIdx.x] = 2 * block_size()


def asks_nothing(out):
    out[cuda.threadIdx.x] = 7


def written_by(kernel: gridjit.Kernel, block: int, grid: int = 1, dtype: Any = np.int64) -> set[int]:
    out = np.zeros(block, dtype)
    kernel[grid, block](out)
    return set(out.tolist())


@pytest.fixture
def library(foreign_rewrites: None) -> Iterator[list[str]]:
    """A library of the kind that writes the block size into code where it is asked for, and forgets to mark that.

    Yields what it is to read in every kernel, before it looks whether the kernel has anything to do with it.
    """
    from numba.cuda.core import ir
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    read_always: list[str] = []

    @register_rewrite("before-inference")
    class WritesBlock(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            config = ensure_current_launch_config()
            for name in read_always:
                getattr(config, name)
            constants = (ir.Const, ir.Global, ir.FreeVar)
            self.block, self.asking = (
                block,
                [
                    found
                    for found in block.find_insts(ir.Assign)
                    if isinstance(found.value, constants) and found.value.value == BLOCK
                ],
            )
            self.size = config.blockdim[0] if self.asking else 0
            return bool(self.asking)

        def apply(self) -> Any:
            new = self.block.copy()
            new.clear()
            for found in self.block.body:
                asked = found in self.asking
                new.append(ir.Assign(ir.Const(self.size, found.loc), found.target, found.loc) if asked else found)
            return new

    yield read_always


def test_a_library_that_reads_and_does_not_mark_gets_a_compile_for_each_value(library: list[str]) -> None:
    kernel = gridjit.jit(asks_itself)
    for block in (*BLOCKS, *BLOCKS):
        assert written_by(kernel, block) == {block}
    assert kernel.stats.compiles == len(BLOCKS)


def test_a_device_function_is_made_anew_for_each_block_and_kernel_that_calls_it(library: list[str]) -> None:
    kernels = {gridjit.jit(asks_a_function): 1, gridjit.jit(asks_a_function_too): 2}
    for block in (*BLOCKS, *BLOCKS):
        for kernel, times in kernels.items():
            assert written_by(kernel, block) == {times * block}
    assert [kernel.stats.compiles for kernel in kernels] == [len(BLOCKS)] * 2


def test_a_library_costs_kernels_that_do_not_use_it_nothing(library: list[str]) -> None:
    kernel = gridjit.jit(asks_nothing)
    for block in BLOCKS:
        for grid in range(1, 11):
            assert written_by(kernel, block, grid) == {7}
    assert kernel.stats.compiles == 1
    assert "blockdim" not in str(kernel.specializations[0].footprint)


def test_a_library_that_reads_the_block_in_every_kernel_costs_a_compile_a_block_and_none_a_grid(
    library: list[str],
) -> None:
    library.append("blockdim")
    kernel = gridjit.jit(asks_nothing)
    for block in BLOCKS:
        for grid in range(1, 41):
            assert written_by(kernel, block, grid) == {7}
    assert kernel.stats.compiles == len(BLOCKS)


def test_one_signature_that_depends_on_the_block_leaves_the_others_alone(foreign_rewrites: None) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("after-inference")
    class MarksFloats(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            if any(str(found).startswith("array(float32") for found in typemap.values()):
                ensure_current_launch_config().dispatcher.mark_launch_config_sensitive("blockdim")
            return False

    kernel = gridjit.jit(asks_nothing)
    for dtype in (np.float32, np.int64, np.float32, np.int64):
        for block in BLOCKS:
            assert written_by(kernel, block, dtype=dtype) == {7}
    sensitive = {
        signature: [found.launch_config_sensitive for found in kernel.specializations if found.signature == signature]
        for signature in kernel.signatures
    }
    assert sorted(map(len, sensitive.values())) == [1, len(BLOCKS)]
    assert {len(marks): all(marks) for marks in sensitive.values()} == {1: False, len(BLOCKS): True}


@pytest.mark.parametrize("specialized", ["specialize", "signature"])
def test_a_kernel_of_one_signature_that_depends_on_its_launch_waits_for_one(
    restart: Callable[[], None], specialized: str
) -> None:
    for compiles in (len(BLOCKS), 0):
        restart()
        if specialized == "specialize":
            kernel = gridjit.jit(writes_block).specialize(np.zeros(1, np.int64))
        else:
            kernel = gridjit.jit("void(int64[::1])")(writes_block)
        for block in (*BLOCKS, *BLOCKS):
            assert written_by(kernel, block) == {block}
        assert kernel.stats.compiles == compiles


def test_a_library_that_insists_on_a_launch_does_not_keep_a_kernel_from_being_declared(library: list[str]) -> None:
    kernel = gridjit.jit(asks_itself).specialize(np.zeros(1, np.int64))
    assert {block: written_by(kernel, block) for block in BLOCKS} == {block: {block} for block in BLOCKS}


def test_recompiling_a_kernel_that_depends_on_its_launch_keeps_every_specialization(
    restart: Callable[[], None],
) -> None:
    kernel = gridjit.jit(writes_block, cache=False)
    for block in BLOCKS:
        assert written_by(kernel, block) == {block}
    restart()  # or the code would be found in this process's memory
    kernel.recompile()
    assert [str(found.footprint) for found in kernel.specializations] == [f"blockdim.x = {block}" for block in BLOCKS]
    assert kernel.stats.compiles == 2 * len(BLOCKS)
    for block in BLOCKS:
        assert written_by(kernel, block) == {block}
    assert kernel.stats.compiles == 2 * len(BLOCKS)


def test_forall_chooses_a_block_for_a_kernel_that_depends_on_it() -> None:
    out = np.zeros(1000, np.int64)
    kernel = gridjit.jit(writes_block_everywhere)
    kernel.forall(out.size)(out)
    (block,) = set(out.tolist())
    assert f"blockdim.x = {block}" in [str(found.footprint) for found in kernel.specializations]


def test_each_specialization_can_be_looked_into(target: str) -> None:
    kernel = gridjit.jit(writes_block)
    for block in BLOCKS:
        written_by(kernel, block)
    artifacts = [found.artifact for found in kernel.specializations]
    assert len({artifact.image for artifact in artifacts}) == len(BLOCKS)
    shown = kernel.inspect_asm(kernel.signatures[0])
    assert (".visible .entry" in shown) == (target == "cuda")
    assert str(BLOCKS[-1]) in shown
