"""Programs that PyInstaller freezes: they compile kernels, and find them in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
PROGRAM = """
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def scale(x):
    x[cuda.grid(1)] *= gridjit.static.blockDim.x

x = np.ones(4)
scale[1, 4](x)
print(x.sum(), scale.stats.compiles)
"""


def test_pyinstaller_is_told_where_the_hook_is() -> None:
    (told,) = PROJECT["entry-points"]["pyinstaller40"].values()
    (folder,) = EntryPoint(name="hook-dirs", value=told, group="pyinstaller40").load()()
    assert (Path(folder) / "hook-gridjit.py").is_file()


@pytest.mark.slow
def test_a_frozen_program_compiles_a_kernel_and_finds_it_the_next_time(tmp_path: Path) -> None:
    pytest.importorskip("PyInstaller", reason="PyInstaller is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    freeze = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level=ERROR", "program.py"]
    subprocess.run(freeze, cwd=tmp_path, env=environment, check=True)
    frozen = [str(tmp_path / "dist" / "program" / "program")]
    said = [
        subprocess.run(frozen, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert said == ["16.0 1\n", "16.0 0\n"]
