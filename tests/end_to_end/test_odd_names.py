"""Names that are not UTF-8, which Python has as lone surrogates, and very long ones, in compiled and stored kernels."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

SOURCE = """
import gridjit

TEXTS = ("caf\\udce9", 2)

@gridjit.jit(device=True)
def callee(x):
    return x + TEXTS[1]

def work(x):
    x[0] = callee(x[0])
"""
ODD = os.fsdecode(b"caf\xe9")


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Any]:
    """A module whose file's name is not UTF-8, and a text in it."""
    module, file = ModuleType("odd_module"), tmp_path / f"{ODD}.py"
    file.write_text(SOURCE)
    module.__file__ = os.fspath(file)
    sys.modules["odd_module"] = module
    exec(compile(SOURCE, module.__file__, "exec"), vars(module))
    yield module
    del sys.modules["odd_module"]


@pytest.mark.some(1)
@pytest.mark.parametrize("options", [{}, {"lineinfo": True}, {"debug": True, "opt": False}], ids=str)
def test_a_kernel_of_a_file_whose_name_is_not_utf8_is_stored_and_found(
    odd: Any, restart: Callable[[], None], options: dict[str, Any]
) -> None:
    counts = []
    for _ in range(2):
        kernel, x = gridjit.jit(**options)(odd.work), np.full(1, 7, np.int64)
        kernel[1, 1](x)
        assert x[0] == 9
        assert kernel.explain().isascii()
        counts.append((kernel.stats.compiles, kernel.stats.disk_hits))
        restart()
    assert counts == [(1, 0), (0, 1)]


LONG = """
@gridjit.jit(device=True)
def NAME(NAMEa, NAMEb):
    return NAMEa[NAMEb] + 1

def kernel(NAMEa, NAMEb, out):
    NAMEs = cuda.shared.array(8, np.float64)
    NAMEi = cuda.grid(1)
    NAMEx = NAMEa[NAMEi]["NAME"] * 2
    for NAMEn in range(2):
        NAMEx += NAMEb[NAMEn]
    NAMEs[NAMEi] = NAMEx
    cuda.syncthreads()
    out[NAMEi] = NAME(NAMEs, NAMEi)
"""


@pytest.mark.parametrize("options", [{}, {"lineinfo": True}, {"debug": True, "opt": False}], ids=str)
def test_names_may_be_longer_than_llvm_keeps_them(tmp_path: Path, options: dict[str, Any]) -> None:
    name, file = "n" * 1100, tmp_path / "long.py"
    file.write_text(LONG.replace("NAME", name))
    names: dict[str, Any] = {"gridjit": gridjit, "cuda": cuda, "np": np}
    exec(compile(file.read_text(), file, "exec"), names)
    x = np.zeros(8, np.dtype([(name, np.float64)]))
    x[name], out = np.arange(8), np.zeros(8)
    gridjit.jit(target="host", **options)(names["kernel"])[1, 8](x, (3.0, 4.0), out)
    assert (out == np.arange(8) * 2 + 8).all()
