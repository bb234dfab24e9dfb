"""The host's code loads and stores neighbouring items at once, whichever axis of a kernel they are on."""

# mypy: ignore-errors
from __future__ import annotations

import re

import pytest

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.options import Options
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.processor import has_feature, host_target

cuda = numba_cuda()
needs_vectors = pytest.mark.skipif(not has_feature(host_target(), "avx2"), reason="needs wide vectors")


def row_is_x(x, out):
    i, j = cuda.grid(2)
    if 0 < i < out.shape[0] - 1 and 0 < j < out.shape[1] - 1:
        out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]


def strides(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] += x[i]


def strides_by_hand(x, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    while i < x.size:
        out[i] += x[i]
        i += cuda.blockDim.x * cuda.gridDim.x


@needs_vectors
@pytest.mark.parametrize(("kernel", "ndim"), [(row_is_x, 2), (strides, 1), (strides_by_hand, 1)])
def test_neighbours_are_loaded_and_stored_at_once(lowered, monkeypatch, kernel, ndim):
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))
    generate(lowered(kernel, f"float32[{ndim}]", f"float32[{ndim}]"), host_target(), Options())
    assert re.search(r"= load <(?:8|16) x float>", texts[0])
    assert re.search(r"store <(?:8|16) x float>", texts[0])
    assert "gather" not in texts[0]
    assert "scatter" not in texts[0]
