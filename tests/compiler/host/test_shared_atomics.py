"""Atomic operations on shared memory cost no more than plain ones, and those on global memory stay atomic."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def shared_operations(x, out):
    one, other = cuda.shared.array(64, np.int32), cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    chosen = one if x[t] > 0 else other
    cuda.atomic.add(chosen, x[t], 1)
    cuda.atomic.max(one, x[t], 3)
    cuda.atomic.exch(other, x[t], 3)
    cuda.atomic.cas(one, x[t], 0, 3)
    cuda.syncthreads()
    out[t] = one[t] + other[t]


def global_operations(x, out):
    cuda.atomic.add(out, x[cuda.grid(1)], 1)
    cuda.atomic.cas(out, 0, 1, 2)


def either(x, out):
    tile = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    tile[t] = 0
    array = tile if x[0] else out
    cuda.atomic.add(array, x[t], 1)
    cuda.syncthreads()
    out[t] += tile[t]


@pytest.fixture
def emitted(monkeypatch, wide):
    """Return emitted(lowered): the optimized LLVM IR of a kernel."""
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))

    def of(lowered):
        generate(lowered, wide, Options())
        return texts.pop()

    return of


def test_operations_on_shared_memory_are_plain(lowered, emitted):
    text = emitted(lowered(shared_operations, "int32[1]", "int32[1]"))
    assert "atomicrmw" not in text
    assert "cmpxchg" not in text


def test_operations_on_global_memory_stay_atomic(lowered, emitted):
    text = emitted(lowered(global_operations, "int32[1]", "int32[1]"))
    assert "atomicrmw" in text
    assert "cmpxchg" in text


def test_operations_on_memory_that_may_be_global_stay_atomic(lowered, emitted):
    assert "atomicrmw" in emitted(lowered(either, "int32[1]", "int32[1]"))
