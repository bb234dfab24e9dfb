"""A module of kernels to give to commands, and a cache that holds them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SOURCE = """
import gridjit
from gridjit import cuda

THRESHOLD = 3


@gridjit.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size and x[i] > THRESHOLD:
        x[i] *= factor


@gridjit.jit
def sized(x):
    x[0] = gridjit.static.blockDim.x


@gridjit.jit("void(float32[::1])")
def declared(x):
    x[0] = 1


def plain(x):
    return x
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module named opstats with kernels; importable here and, as the folder is the current one, by commands."""
    (tmp_path / "opstats.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module("opstats")
    sys.modules.pop("opstats", None)


@pytest.fixture
def filled(kernels: Any, restart: Callable[[], None]) -> Any:
    """The module, with a cache that holds scale, sized for blocks of 32 and 64, and declared."""
    kernels.scale[1, 32](np.ones(4, np.float32), 2.0)
    for block in (32, 64):
        kernels.sized[1, block](np.ones(4, np.float32))
    kernels.declared[1, 1](np.ones(4, np.float32))
    restart()
    return kernels
