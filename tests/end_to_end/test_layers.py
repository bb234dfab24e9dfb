"""Kernels over layers of cache folders: no layer hides what another has, and what is used is copied up."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.programs import run_python

# Launches a kernel that depends on its block with each of the blocks given, and prints how many compiles that took.
LAUNCH = """
import json, sys
import gridjit
import numpy as np

@gridjit.jit(target="host")
def blocks(x):
    x[0] = gridjit.static.blockDim.x

for block in map(int, sys.argv[1:]):
    x = np.zeros(1, np.int64)
    blocks[1, block](x)
    assert x[0] == block
print(json.dumps(blocks.stats.compiles))
"""


def compiles(tmp_path: Path, folder: str, *blocks: int, base: str = "") -> int:
    """Launch with these blocks in a process of its own, over base folders joined by ":", and return its compiles."""
    script = tmp_path / "program.py"
    script.write_text(LAUNCH)
    bases = os.pathsep.join(str(tmp_path / name) for name in base.split(":") if name)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path / folder), "GRIDJIT_CACHE_BASE": bases}
    done = run_python("-W", "error", script, *blocks, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return int(json.loads(done.stdout))


@pytest.fixture
def baked(tmp_path: Path) -> Path:
    """Fill three folders, each with the code for another block, and return where they are."""
    for folder, block in [("mine", 32), ("near", 64), ("far", 128)]:
        assert compiles(tmp_path, folder, block) == 1
    return tmp_path


def test_code_is_found_in_every_layer_that_knows_the_job(baked: Path) -> None:
    assert compiles(baked, "mine", 32, 64, 128, base="near:far") == 0
    assert compiles(baked, "mine", 128, 256, base="near:far") == 1


def test_what_was_used_outlives_its_layer_and_what_was_not_goes_with_it(baked: Path) -> None:
    assert compiles(baked, "mine", 128, base="near:far") == 0
    shutil.rmtree(baked / "far")
    shutil.rmtree(baked / "near")
    assert compiles(baked, "mine", 32, 128) == 0
    assert compiles(baked, "mine", 64) == 1


def test_nothing_is_written_to_a_base_below_another(baked: Path) -> None:
    def listing() -> list[tuple[Path, int]]:
        folders = (baked / "near", baked / "far")
        return sorted((p, p.stat().st_mtime_ns) for folder in folders for p in folder.rglob("*"))

    before = listing()
    assert compiles(baked, "mine", 32, 64, 128, 256, base="near:far") == 1
    assert listing() == before
