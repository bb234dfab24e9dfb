"""gridjit.install(): programs and packages that import numba.cuda themselves run on gridjit, unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs import python_path, run_new_python, run_python

PACKAGE = """
import numpy as np
from numba import cuda
from numba.cuda import jit, to_device as upload


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = twice(x[i])


def run():
    device = cuda.get_current_device()
    x = upload(np.ones(100))
    threads = device.MAX_THREADS_PER_BLOCK // 8
    stream = cuda.stream()
    double[-(-x.size // threads), threads, stream](x)
    stream.synchronize()
    assert cuda.current_context().get_memory_info().free > 0 and cuda.is_available()
    return x.copy_to_host()
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """What runs a program on the host, beside a package that imports numba.cuda; returns what it prints."""
    (tmp_path / "theirs.py").write_text(PACKAGE)

    def run(*lines: str, new: bool = False) -> str:
        (tmp_path / "program.py").write_text("\n".join(lines))
        environ = os.environ | {"GRIDJIT_TARGET": "host", "PYTHONPATH": python_path(tmp_path)}
        done = (run_new_python if new else run_python)(tmp_path / "program.py", env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


OF_GRIDJIT = "type(theirs.double).__module__.startswith('gridjit')"


def test_a_package_that_is_imported_later_runs_on_gridjit(program: Callable[..., str]) -> None:
    said = program(
        "import sys, gridjit",
        "gridjit.install()",
        "assert 'numba' not in sys.modules",
        "import theirs",
        f"print({OF_GRIDJIT}, theirs.run().sum(), type(theirs.twice).__name__)",
        new=True,
    )
    assert said == "True 200.0 DeviceFunction\n"


def test_what_a_module_took_before_is_replaced_there(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit",
        "from numba import cuda",
        "from numba.cuda import jit as compiled, device_array",
        "gridjit.install()",
        "import theirs",
        "@compiled",
        "def one(x): x[cuda.grid(1)] = 1",
        "x = device_array(4); one[1, 4](x)",
        f"print(type(one).__name__, type(x).__name__, x.copy_to_host().sum(), {OF_GRIDJIT}, theirs.run().sum())",
    )
    assert said == "Kernel DeviceArray 4.0 True 200.0\n"


def test_a_kernel_with_a_declared_signature_is_compiled_once(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit; gridjit.install()",
        "from numba import cuda",
        "@cuda.jit('int32(int32)', device=True)",
        "def next_of(i): return i + 1",
        "@cuda.jit('void(float64[:])')",
        "def one(x): x[cuda.grid(1)] = next_of(0)",
        "x = cuda.device_array(4); one[1, 4](x)",
        "print(x.copy_to_host().sum(), one.stats.compiles)",
    )
    assert said == "4.0 1\n"


def test_a_package_sees_the_launch_that_a_kernel_is_compiled_for(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit; gridjit.install()",
        "import numpy as np",
        "from numba import cuda",
        "from numba.cuda import launchconfig",
        "from numba.cuda.extending import overload",
        "def block(): pass",
        "@overload(block, target='cuda')",
        "def block_for_gpus():",
        "    n = launchconfig.ensure_current_launch_config().blockdim[0]",
        "    return lambda: n",
        "@cuda.jit",
        "def fill(x): x[cuda.grid(1)] = block()",
        "x = np.zeros(4, np.int32)",
        "with launchconfig.capture_compile_config(fill) as capture: fill[1, 4](x)",
        "fill[2, 2](x)",
        "print(x, capture['config'].blockdim, fill.stats.compiles, launchconfig.current_launch_config())",
    )
    assert said == "[2 2 2 2] (4, 1, 1) 2 None\n"


@pytest.mark.parametrize("then", ["", "import gc; gc.freeze()"], ids=["", "frozen"])
def test_a_kernel_that_was_made_before_is_named_in_a_warning(program: Callable[..., str], then: str) -> None:
    said = program(
        "import theirs, warnings, gridjit",
        then,
        "with warnings.catch_warnings(record=True) as found:",
        "    warnings.simplefilter('always')",
        "    gridjit.install()",
        "print([(w.category.__name__, str(w.message), w.filename == __file__, w.lineno) for w in found])",
    )
    assert "True, 5)]" in said
    assert "InstallWarning" in said and "theirs.double:12" in said and "twice" not in said


def test_installing_again_changes_nothing_and_uninstalling_gives_all_names_back(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit",
        "from numba import cuda",
        "from numba.cuda import jit",
        "from numba.cuda.cudadrv.driver import driver",
        "from numba.cuda.cudadrv.error import CudaSupportError",
        "def state(): return {**vars(cuda)}, {**vars(cuda.api)}, {**vars(cuda.launchconfig)}, jit",
        "def sees_a_device():",
        "    try: return driver.is_available",
        "    except CudaSupportError: return False  # there is a driver, but no device for it",
        "from gridjit.runtime.installed.names import original; original()",
        "before = state()",
        "gridjit.install(); first = state()",
        "gridjit.install(); second = state()",
        "assert driver.get_device_count() == 1",
        "gridjit.uninstall(); after = state()",
        "gridjit.uninstall()",
        "print(first == second, first != before, after == before, sees_a_device())",
    )
    assert said == "True True True False\n"


UFUNCS = """
import gridjit, numba, numpy as np

numbers = np.arange(6.0).reshape(2, 3)
for _ in range(2):
    with gridjit.install():
        @numba.guvectorize(["(float64[:], float64[:])"], "(n)->()", target="cuda")
        def first(x, out):
            out[0] = x[0]

        @numba.vectorize(["float64(float64)"], target="cuda")
        def twice(x):
            return 2 * x

        print(first(numbers), twice(numbers[0]), type(twice).__module__)
from numba.cuda import vectorizers
print(vectorizers.CUDAVectorize.__module__, numba.np.ufunc.Vectorize.target_registry["cuda"].__module__)
"""


def test_numbas_own_ufuncs_for_the_gpu_may_be_the_first_to_import_numba_cuda(program: Callable[..., str]) -> None:
    made = "[0. 3.] [0. 2. 4.] gridjit.runtime.installed.ufuncs\n"
    assert program(UFUNCS, new=True) == 2 * made + "numba.cuda.vectorizers numba.cuda.vectorizers\n"


def test_a_with_block_gives_the_names_back_unless_they_were_installed_before_it(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit",
        "from numba import cuda",
        "own = cuda.jit",
        "with gridjit.install():",
        "    with gridjit.install():",
        "        pass",
        "    inside = cuda.jit",
        "print(inside is gridjit.jit, cuda.jit is own)",
    )
    assert said == "True True\n"


def test_numbas_own_contexts_and_gridjits_arrays_share_a_device(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit, os",
        "os.environ['GRIDJIT_HOST_DEVICES'] = '2'",
        "gridjit.install()",
        "from numba import cuda",
        "cuda.select_device(1)",
        "before = cuda.current_context().get_memory_info().free",
        "x = cuda.device_array(1000, 'u1')",
        "print(before - cuda.current_context().get_memory_info().free, len(cuda.gpus), cuda.gpus.current.id)",
        "with cuda.gpus[0]:",
        "    print(gridjit.cuda.get_current_device().id)",
        "cuda.close()",
    )
    assert said == "1000 2 1\n0\n"


def test_a_declared_kernel_is_compiled_once_and_launched_as_it_was_declared(program: Callable[..., str]) -> None:
    said = program(
        "import gridjit, numpy as np",
        "gridjit.install()",
        "from numba import cuda",
        "@cuda.jit(device=True)",
        "def twice(x): return 2 * x",
        "@cuda.jit('void(float64[:])')",
        "def double(x): x[cuda.grid(1)] = twice(x[cuda.grid(1)])",
        "x = np.ones(4); double[1, 4](x); double[2, 2](x)",
        "print(x.sum(), double.stats.compiles, [str(s.footprint) for s in double.specializations])",
    )
    assert said == "16.0 1 ['nothing']\n"
