"""A module of kernels to give to commands, and a cache that holds them."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_python

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

LAUNCHES = """
import numpy as np
import opstats

opstats.scale[1, 32](np.ones(4, np.float32), 2.0)
for block in (32, 64):
    opstats.sized[1, block](np.ones(4, np.float32))
opstats.declared[1, 1](np.ones(4, np.float32))
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module named opstats with kernels; importable here and, as the folder is the current one, by commands."""
    (tmp_path / "opstats.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module("opstats")
    sys.modules.pop("opstats", None)


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which a process left scale, sized for blocks of 32 and 64, and declared."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "opstats.py").write_text(SOURCE)
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GRIDJIT_")}
    settings |= {"GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": "host"}
    done = run_python("-W", "error", "-c", LAUNCHES, env=settings, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "cache"


@pytest.fixture
def filled(kernels: Any, stored: Path, cache_dir: Path, restart: Callable[[], None]) -> Any:
    """The module, with a copy of that cache."""
    shutil.copytree(stored, cache_dir, dirs_exist_ok=True)
    restart()
    return kernels
