"""numba-cuda's own tests with gridjit underneath: a file that includes none of ours runs on the host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.programs import python_path, run_new_python, run_python

# Importing all other plugins that happen to be installed would take longer than the tests; xdist is named.
NO_OTHERS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
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
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GRIDJIT_", "PYTEST_"))}
    words = ("-m", "pytest", "-q", "-p", "gridjit.testing.numba_suite", *options, "test_names.py")
    environ |= {"GRIDJIT_TARGET": "host", **(NO_OTHERS if options else {})}
    done = (run_python if options else run_new_python)(*words, cwd=tmp_path, env=environ)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


KERNELS = """
import numpy as np
from numba import cuda


@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2


@cuda.jit
def never(x):
    x[0] = 1
"""
PACKAGE_CONFTEST = """
import pytest
from kernels_of_mine.kernels import double

@pytest.fixture
def kernel():
    return double
"""
PACKAGE_TEST = """
import numpy as np
import pytest

@pytest.mark.parametrize("length", [4, 5, 6, 7])
def test_it_doubles(kernel, length):
    array = np.ones(length)
    kernel[1, length](array)
    assert array.tolist() == [2] * length
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose conftest imports its kernels, and has its tests in it."""
    folder = tmp_path / "kernels_of_mine"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "kernels": KERNELS,
        "conftest": PACKAGE_CONFTEST,
        "test_kernels": PACKAGE_TEST,
    }.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on the host, in a process of its own, with no other plugins than xdist."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GRIDJIT_", "PYTEST_"))}
    environ |= {"GRIDJIT_TARGET": "host", "PYTHONPATH": python_path(folder), **NO_OTHERS}
    return run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options, cwd=folder, env=environ)


PLUGIN = ("-p", "gridjit.testing.numba_suite")


@pytest.mark.some(2)
@pytest.mark.parametrize("where", ["kernels_of_mine", "-n 1 --pyargs kernels_of_mine", "-n 1 ."])
def test_kernels_that_a_conftest_of_the_package_makes_are_gridjits_and_the_run_says_so(
    package: Path, where: str
) -> None:
    done = run(package.parent, *PLUGIN, *where.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert "kernels that went through gridjit: 1 (made and never compiled: 1)\n" in done.stdout
    assert "kernels of numba-cuda's own: 0 (launches: 0)\n" in done.stdout


@pytest.mark.some(1)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_kernels_that_did_not_go_through_gridjit_are_named_with_their_launches(
    package: Path, workers: tuple[str, ...]
) -> None:
    (package / "kernels.py").write_text(
        KERNELS.replace("from numba import cuda", "import numba.cuda.decorators as cuda")
    )
    done = run(package.parent, *PLUGIN, *workers, "kernels_of_mine")
    assert done.returncode == 1
    assert "kernels that went through gridjit: 0 (made and never compiled: 0)\n" in done.stdout
    assert "kernels of numba-cuda's own: 2 (launches: 4)\n" in done.stdout
    assert "  kernels_of_mine.kernels.double:6 (launches: 4)\n" in done.stdout
    assert "no kernel went through gridjit" in done.stdout


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("first", "what"),
    [
        ("from kernels_of_mine.kernels import double\n", "the kernel kernels_of_mine.kernels.double:6"),
        ("from numba.cuda import jit\n", "jit in conftest"),
    ],
)
def test_a_plugin_that_comes_after_the_code_under_test_refuses_the_run(package: Path, first: str, what: str) -> None:
    (package.parent / "conftest.py").write_text(f"{first}pytest_plugins = ['gridjit.testing.numba_suite']\n")
    done = run(package.parent, "kernels_of_mine")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "gridjit.testing.numba_suite came too late" in done.stderr
    assert what in done.stderr
    assert "passed" not in done.stdout


DEBUG_TEST = """
import pytest
import numpy as np
from kernels_of_mine.kernels import double

def test_an_error_that_is_handled():
    with pytest.raises(IndexError):
        double[1, 4](np.ones(3))
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_what_debugging_finds_is_listed_and_fails_the_run(package: Path, workers: tuple[str, ...]) -> None:
    (package / "test_kernels.py").write_text(DEBUG_TEST)
    done = run(package.parent, *PLUGIN, *workers, "--gridjit-debug", "kernels_of_mine")
    assert "1 passed" in done.stdout
    assert "\nIndexError: In function 'double', file kernels.py, line 8, " in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


APART_TEST = """
import functools
import pickle
import subprocess
import sys

from numba import cuda

STARTED = '''
import pickle, sys
print(pickle.loads(bytes.fromhex(sys.argv[1])).__name__)
from numba import cuda
print(type(cuda.jit(lambda x: None)).__module__, type(cuda.In(1)).__module__)
'''


def found():
    return None


@functools.cache
def told():
    command = [sys.executable, "-c", STARTED, pickle.dumps(found).hex()]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_it_has_its_own_name():
    assert __name__ == "apart.kernels_of_mine.test_apart"
    assert told()[0] == "found"


def test_a_process_that_it_starts_runs_on_gridjit():
    assert told()[1] == "gridjit.runtime.kernel gridjit.runtime.args.direction"
"""


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "arguments", [["apart.kernels_of_mine"], ["apart.kernels_of_mine.test_apart"], ["apart.kernels_of_mine", "-n1"]]
)
def test_tests_and_the_processes_they_start_find_each_other_and_run_on_gridjit(
    tmp_path: Path, arguments: list[str]
) -> None:
    folder = tmp_path / "apart" / "kernels_of_mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "test_apart.py").write_text(APART_TEST)
    done = run(tmp_path, *PLUGIN, "--import-mode=importlib", "--pyargs", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


NUMBAS_OWN = """
import gridjit.cuda
from gridjit import installing

installing.install_kernels_only()
from numba import cuda

own = installing.original()
assert cuda.device_array is gridjit.cuda.device_array
assert own.device_array is not cuda.device_array
assert own.device_array_like.__globals__["device_array"] is own.device_array
"""


def test_numba_cudas_own_functions_call_each_other_where_they_are_left() -> None:
    done = run_python("-c", NUMBAS_OWN, env=os.environ | {"GRIDJIT_TARGET": "host"})
    assert done.returncode == 0, done.stderr


COLD_TEST = """
import os

import numpy as np

from numba import cuda


def hits():
    @cuda.jit
    def kernel(x):
        x[0] = 3

    kernel[1, 1](np.zeros(1))
    return sum(kernel.stats.cache_hits.values())


def test_first():
    assert [hits(), hits()] == [0, 1]


test_second = test_first
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("options", [(), ("-n1",)])
def test_each_test_begins_with_an_empty_cache(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_cold.py").write_text(COLD_TEST)
    environment = {name: value for name, value in os.environ.items() if name != "GRIDJIT_CACHE_DIR"}
    words = ("-m", "pytest", "-q", "-p", "xdist", *PLUGIN, *options, str(tmp_path))
    done = run_python(*words, cwd=tmp_path, env=environment | NO_OTHERS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
