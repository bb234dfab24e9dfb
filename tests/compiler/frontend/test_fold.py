"""jit(specialize=...): the named launch fields are constants in the code, in its key, and in its launch bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import CompileError, cuda
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArrayType, Signature
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView


@gridjit.jit(device=True)
def my_item():
    return cuda.grid(1)


def shapes(out):
    i = my_item()
    tile = cuda.shared.array(0, np.int64)
    if i < out.size:
        out[i] = cuda.blockDim.x * 1_000_000 + cuda.gridDim.x * 1000 + tile.size


def launch(kernel: gridjit.Kernel, grid: int, block: int, shared: int) -> set[int]:
    out = np.zeros(grid * block, np.int64)
    kernel[grid, block, 0, shared](out)
    return set(out.tolist())


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("fields", "footprint", "compiles"),
    [
        (("blockdim",), "blockdim = 32", 2),
        (("griddim",), "griddim = 3", 2),
        (("sharedmem",), "sharedmem = 80", 2),
        (("blockdim", "griddim", "sharedmem"), "blockdim = 32, griddim = 3, sharedmem = 80", 4),
        ((), "nothing", 1),
    ],
)
def test_folded_fields_are_the_footprint_and_results_are_the_same(fields: Any, footprint: str, compiles: int) -> None:
    kernel = gridjit.jit(specialize=fields)(shapes)
    for grid, block, shared in ((3, 32, 80), (3, 64, 80), (4, 32, 80), (3, 32, 160)):
        assert launch(kernel, grid, block, shared) == {block * 1_000_000 + grid * 1000 + shared // 8}
    assert str(kernel.specializations[0].footprint) == footprint
    assert kernel.stats.compiles == compiles


@pytest.mark.parametrize("kind", ["host", "ptx"])
def test_no_register_read_is_left_of_a_folded_field(kind: str) -> None:
    signature = Signature(arguments=(ArrayType(dtype="int64", ndim=1),))
    options = Options(specialize=("blockdim", "griddim", "sharedmem"))
    view = ConfigView(LaunchConfig.of(3, (32, 4), 80))
    lowered, _ = lower(shapes, signature, options, Target(kind=kind, arch="sm_90"), (), view)
    text = "\n".join(line for module in lowered.modules for line in module.splitlines() if "call" in line)
    assert "tid.x" in text
    assert "ntid.x" not in text
    assert "nctaid.x" not in text
    assert "dynamic_smem_size" not in text


def test_folding_the_block_gives_launch_bounds_on_a_gpu() -> None:
    signature = Signature(arguments=(ArrayType(dtype="int64", ndim=1),))
    view = ConfigView(LaunchConfig.of(3, (32, 4)))
    target = Target(kind="ptx", arch="sm_90")
    lowered, _ = lower(shapes, signature, Options(specialize=("blockdim",)), target, (), view)
    assert '!"maxntidx", i32 128' in lowered.modules[0]


def test_folding_without_a_launch_says_how_to_give_one() -> None:
    with pytest.raises(CompileError, match=r"specialize=\('blockdim',\).*compile\(\.\.\., config="):
        gridjit.jit(specialize="blockdim")(shapes).compile("void(int64[::1])")
