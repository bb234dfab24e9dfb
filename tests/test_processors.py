"""A run for a named processor: all that its tests start makes code for that processor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processors import FEATURES, PROCESSOR
from tests.programs import python_path, run_new_python

ROOT = Path(__file__).parents[1]
TELLS = "from gridjit.compiler.targets.host.llvm.libllvm import host_target\nprint(host_target().arch, end=' ')\n"
# As tests/conftest.py does it, and then a test that starts an interpreter.
STARTS = f"""
import subprocess, sys
from tests.processors import use_named_processor
use_named_processor()
{TELLS}
sys.stdout.flush()
subprocess.run([sys.executable, "-c", {TELLS!r}], check=True)
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("name", FEATURES)
def test_processes_and_those_that_they_start_make_code_for_the_processor_that_is_named(name: str) -> None:
    environment = {**os.environ, PROCESSOR: name, "PYTHONPATH": python_path(ROOT)}
    result = run_new_python("-c", STARTS, env=environment)
    assert (result.stdout.split(), result.stderr) == ([name, name], "")
