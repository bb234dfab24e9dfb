"""Inline PTX that reads a thread's registers runs on the host; other PTX is refused by its text."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from llvmlite import ir

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()
from numba.cuda import types  # noqa: E402
from numba.cuda.extending import intrinsic  # noqa: E402

LANES = np.arange(96) % 32
BITS = 1 << LANES.astype(np.int64)
# With the value for each thread of the second of three blocks of 96 threads in two rows.
REGISTERS = {
    "laneid": LANES,
    "warpid": np.arange(96) // 32,
    "lanemask_eq": BITS,
    "lanemask_lt": BITS - 1,
    "lanemask_le": 2 * BITS - 1,
    "lanemask_ge": 2**32 - BITS,
    "lanemask_gt": 2**32 - 2 * BITS,
    "tid.x": np.arange(96) % 48,
    "tid.y": np.arange(96) // 48,
    "ntid.x": np.full(96, 48),
    "ctaid.x": np.full(96, 1),
    "nctaid.x": np.full(96, 3),
}


def reads(text):
    @intrinsic
    def value(typingctx):
        def code(context, builder, signature, arguments):
            return builder.call(ir.InlineAsm(ir.FunctionType(ir.IntType(32), []), text, "=r"), [])

        return types.uint32(), code

    return value


@pytest.mark.parametrize("name", REGISTERS)
def test_a_register_is_that_of_the_thread(name):
    register = reads(f"mov.u32 $0, %{name};")

    @gridjit.jit(target="host")
    def kernel(out):
        i = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
        out[cuda.blockIdx.x, i] = register()

    out = np.zeros((3, 96), np.uint32)
    kernel[3, (48, 2)](out)
    assert out[1].tolist() == REGISTERS[name].tolist()


def test_a_register_that_the_host_lacks_is_refused_by_name():
    register = reads("mov.u32 $0, %smid;")

    @gridjit.jit(target="host")
    def kernel(out):
        out[0] = register()

    with pytest.raises(gridjit.UnsupportedError, match=r"uses mov\.u32 \$0, %smid;, which the host"):
        kernel[1, 1](np.zeros(1, np.uint32))
