"""Where standard error cannot be written, messages are lost and launches go on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

BROKEN = {
    "closed": "sys.stderr.close()",
    "None": "sys.stderr = None",
    "a broken pipe": "reader, writer = os.pipe(); os.close(reader); os.dup2(writer, 2)",
    "a descriptor that is gone": "os.close(2)",
    "what raises": "sys.stderr = Raises()",
    "of few letters": "sys.stderr = open(os.devnull, 'w', encoding='ascii', errors='strict')",
}

SCRIPT = """
import logging, os, sys, warnings
import numpy as np
import gridjit
from gridjit import cuda
from gridjit.cache.errors import CacheWarning, warn

class Raises:
    closed = False
    def write(self, text):
        raise RuntimeError("not today")
    flush = write

@gridjit.jit(max_specializations=1)
def größe(x):
    x[cuda.grid(1)] += 1

def launch(dtype):
    x = np.zeros(8, dtype)
    größe[2, 4](x)
    return x.tolist() == [1] * 8

exec(sys.argv[1])
right = [launch(dtype) for dtype in (np.float32, np.float64, np.int32)]  # too many specializations: a warning
warn("größe \\ud800")
warnings.simplefilter("error", CacheWarning)
warn("größe \\ud800")  # logged
print(right == [True] * 3, größe.stats.compiles)
"""


def run(tmp_path: Path, broken: str, *, new: bool = False) -> str:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {"GRIDJIT_TARGET": "host", "GRIDJIT_LOG": "compiles", "GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    done = (run_new_python if new else run_python)(script, broken, env={**os.environ, **environment})
    return done.stdout


@pytest.mark.some(2)
@pytest.mark.parametrize("broken", BROKEN)
def test_launches_go_on_without_standard_error(tmp_path: Path, broken: str) -> None:
    assert run(tmp_path, BROKEN[broken], new=broken == "a descriptor that is gone") == "True 3\n"


def test_a_cache_that_cannot_be_used_is_not_a_reason_to_fail_where_nobody_hears_of_it(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert run(tmp_path, BROKEN["closed"]) == "True 3\n"


def test_a_warning_that_the_user_made_an_error_is_logged_and_ends_no_launch(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = {"GRIDJIT_TARGET": "host", "GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    made_an_error = "warnings.simplefilter('error', gridjit.SpecializationWarning)"
    done = run_python(script, made_an_error, env={**os.environ, **settings})
    assert (done.stdout, "SpecializationWarning" in done.stderr) == ("True 3\n", True), done.stderr


def test_nothing_that_was_for_standard_error_is_put_on_standard_output(tmp_path: Path) -> None:
    assert "compiled" not in run(tmp_path, BROKEN["None"])
