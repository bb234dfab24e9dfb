"""scripts/run-npb.py runs programs that were written for numba.cuda as they are, and tells which did not verify."""

# mypy: ignore-errors
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run-npb.py"
# Like NPB-PYTHON's, with what stops them: None on sys.path, int64 for int32, and memory that nobody cleared.
PROGRAM = """
import argparse, os, sys
import numba, numpy
from numba import cuda, njit

sys.path.append(sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "common")))
import sizes

@njit
def double(x):
    return x + x

@cuda.jit("void(float64[:], int32[:])")
def sums(total, values):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, 0, values[i])

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--CLASS", required=True)
    n = sizes.OF[parser.parse_args().CLASS]
    cuda.select_device(0)
    total = cuda.device_array(1, numpy.float64)
    sums[4, 64](total, cuda.to_device(numpy.repeat(double(1), n)))
    right = total.copy_to_host()[0] == 2 * n
    print(" Mop/s total     =             %12.2f" % 12.5)
    print(" Verification    =               SUCCESSFUL" if right else " Verification    =             UNSUCCESSFUL")
"""


@pytest.fixture
def programs(tmp_path):
    """A folder with the programs EP, which verifies, MG, which says that it does not, and IS, which raises."""
    folder = tmp_path / "NPB-CUDA"
    (folder / "common").mkdir(parents=True)
    (folder / "common" / "sizes.py").write_text("OF = {'S': 200}")
    (folder / "EP.py").write_text(PROGRAM)
    (folder / "MG.py").write_text("print(' Verification    =             UNSUCCESSFUL')")
    (folder / "IS.py").write_text("raise RuntimeError('out of keys')")
    return tmp_path


def run(folder, *given):
    environment = os.environ | {"GRIDJIT_NPB": str(folder), "GRIDJIT_TARGET": "host"}
    command = [sys.executable, SCRIPT, *given]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, {line.split()[0]: line.split() for line in done.stdout.splitlines()}, done.stderr


def test_a_program_that_verifies_is_a_success(programs, cache_dir):
    code, rows, errors = run(programs, "EP")
    assert (code, rows["EP"][1:3], errors) == (0, ["yes", "12.50"], "")


def test_one_that_does_not_is_a_failure_which_says_its_last_words(programs, cache_dir):
    code, rows, errors = run(programs, "MG", "IS")
    assert (code, rows["MG"][1], rows["IS"][1]) == (1, "NO", "NO")
    assert "UNSUCCESSFUL" in rows["MG"] and " ".join(rows["IS"]).endswith("RuntimeError: out of keys")
    assert errors.strip() == "failed: MG, IS"
