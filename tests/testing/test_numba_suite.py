"""numba-cuda's own tests with gridjit underneath: a file that includes none of ours runs on the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import numpy as np
from numba import cuda
from numba.cuda.core.errors import TypingError
from numba.cuda.testing import CUDATestCase


class TestNames(CUDATestCase):
    def test_kernels_and_arrays_are_gridjits(self):
        @cuda.jit
        def double(x):
            x[cuda.grid(1)] *= 2

        array = cuda.to_device(np.ones(4))
        double[1, 4](array)
        self.assertTrue(type(double).__module__.startswith("gridjit."))
        self.assertTrue(type(array).__module__.startswith("gridjit."))
        self.assertEqual(array.copy_to_host().tolist(), [2, 2, 2, 2])

    def test_an_error_is_numbas(self):
        @cuda.jit
        def wrong(x):
            x.nothing()

        with self.assertRaises(TypingError):
            wrong[1, 1](np.ones(1))

    def test_device_functions_stay_numbas(self):
        device = cuda.jit(device=True)(lambda x: x)
        self.assertFalse(type(device).__module__.startswith("gridjit."))
"""


@pytest.mark.parametrize("options", [(), ("--dump-failed-filechecks",)])
def test_tests_of_numba_cuda_run_on_the_host(tmp_path: Path, options: tuple[str, ...]) -> None:
    pytest.importorskip("filecheck")
    (tmp_path / "test_names.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "gridjit.testing.numba_suite", *options, "test_names.py"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GRIDJIT_", "PYTEST_"))}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ | {"GRIDJIT_TARGET": "host"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
