"""Kernels go to other processes: by whatever library starts them, they arrive and find what was compiled."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_new_python, run_python

PROGRAM = """
import os, sys
import numpy as np
import gridjit
from gridjit import cuda

FACTOR = 3.0

@gridjit.jit(device=True)
def tripled(value):
    return value * FACTOR

@gridjit.jit(device=True)
def power(base, exponent):
    return base * power(base, exponent - 1) if exponent > 0 else 1.0

@gridjit.jit
def scale(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = tripled(x[i])

@gridjit.jit
def increase(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

configured = increase[1, 32]
specialized = increase.specialize(np.zeros(4))

def work(number):
    x = np.full(4, number, float)
    scale[1, 32](x)
    configured(x)
    specialized[1, 32](x)
    return os.getpid() != MAIN, x.tolist()

def launch(kernel):
    x = np.full(4, 2.0)
    (kernel if kernel is None or isinstance(kernel, type(configured)) else kernel[1, 32])(x)
    return os.getpid() != MAIN, x.tolist()

MAIN = os.getpid() if __name__ == "__main__" else None
KERNELS = (scale, increase, configured, specialized)

def main():
    START

if __name__ == "__main__":
    main()
"""

STARTS = {
    "joblib": """
    from joblib import Parallel, delayed
    print(*Parallel(n_jobs=2)(delayed(work)(number) for number in range(2)))
    print(*Parallel(n_jobs=2)(delayed(launch)(kernel) for kernel in KERNELS))
""",
    "dask": """
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(*client.gather(client.map(work, range(2))))
        print(*[client.submit(launch, kernel, pure=False).result() for kernel in KERNELS])
""",
    **{
        method: f"""
    import multiprocessing
    with multiprocessing.get_context("{method}").Pool(1) as pool:
        print(*pool.map(work, range(2)))
        print(*pool.map(launch, KERNELS))
"""
        for method in ("spawn", "forkserver", "fork")
    },
    "concurrent.futures": """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(*pool.map(work, range(2)))
        print(*pool.map(launch, KERNELS))
""",
}
# What starts processes as another does, or pickles by the same library.
ALIKE = dict.fromkeys(("dask", "spawn", "forkserver", "concurrent.futures"), pytest.mark.slow)
LIBRARIES = {"joblib": "joblib", "dask": "distributed"}
WORKED = "(True, [2.0, 2.0, 2.0, 2.0]) (True, [5.0, 5.0, 5.0, 5.0])"
LAUNCHED = "(True, [6.0, 6.0, 6.0, 6.0])" + 3 * " (True, [3.0, 3.0, 3.0, 3.0])"


def program(folder: Path, start: str) -> Path:
    (folder / "program.py").write_text(PROGRAM.replace("    START\n", start.lstrip("\n")))
    return folder / "program.py"


@pytest.mark.parametrize("start", [pytest.param(way, marks=ALIKE.get(way, ())) for way in STARTS])
def test_kernels_of_a_script_arrive_in_workers(tmp_path: Path, start: str) -> None:
    if start in LIBRARIES:
        pytest.importorskip(LIBRARIES[start])
    if start != "fork":  # what these start takes long to compile: they find it
        assert run_python(program(tmp_path, "    work(0)\n")).returncode == 0
    done = (run_python if start == "fork" else run_new_python)(program(tmp_path, STARTS[start]), timeout=200)
    assert done.stdout.splitlines() == [WORKED, LAUNCHED], done.stderr


def pickled(folder: Path, expression: str) -> None:
    """Write a pickle of what an expression of the program gives to a file."""
    start = f"\n    import pickle\n    open({str(folder / 'pickle')!r}, 'wb').write(pickle.dumps({expression}))\n"
    done = run_python(program(folder, start))
    assert done.returncode == 0, done.stderr


LOADED = """
import pickle, sys
import numpy as np
DEFINED
kernel = pickle.load(open(sys.argv[1], "rb"))
x = np.full(4, 2.0)
(kernel[1, 32] if hasattr(kernel, "specialize") else kernel)(x)
print(x.tolist())
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("scale", 6.0), ("configured", 3.0), ("specialized", 3.0), ("gridjit.jit(scale.py_func)", 6.0)],
)
def test_a_program_of_another_file_gets_the_kernel_with_its_code(
    tmp_path: Path, expression: str, expected: float
) -> None:
    pickled(tmp_path, expression)
    done = run_python("-c", LOADED.replace("DEFINED", ""), str(tmp_path / "pickle"))
    assert done.stdout == f"{[expected] * 4}\n", done.stderr


def test_another_kernel_of_the_same_name_is_not_taken_for_it(tmp_path: Path) -> None:
    pickled(tmp_path, "increase")
    other = "import gridjit\n@gridjit.jit\ndef increase(x):\n    x[0] = 100\n"
    (tmp_path / "other.py").write_text(LOADED.replace("DEFINED", other))
    done = run_python(tmp_path / "other.py", str(tmp_path / "pickle"))
    assert done.stdout == f"{[3.0] * 4}\n", done.stderr


def test_a_device_function_that_calls_itself_is_pickled(tmp_path: Path) -> None:
    pickled(tmp_path, "power")
    done = run_python("-c", f"import pickle; print(pickle.load(open({str(tmp_path / 'pickle')!r}, 'rb')).py_func)")
    assert "<function power" in done.stdout, done.stderr


def test_many_tasks_with_one_kernel_have_one_kernel(tmp_path: Path) -> None:
    pickled(tmp_path, "scale")
    load = f"pickle.load(open({str(tmp_path / 'pickle')!r}, 'rb'))"
    done = run_python("-c", f"import pickle; print({load} is {load})")
    assert done.stdout == "True\n", done.stderr


def test_what_cannot_be_found_or_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    unpicklable = "scale.py_func.__globals__.update(FACTOR=__import__('threading').Lock()) or scale"
    pickled(tmp_path, unpicklable)
    done = run_python("-c", LOADED.replace("DEFINED", ""), str(tmp_path / "pickle"))
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "AttributeError: This pickle holds gridjit's scale of a program's own file, which is not in "
    )
    assert last.endswith("put it into a module that both processes can import")


def test_a_module_that_lacks_the_kernel_is_an_error_that_names_both(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("import gridjit\n@gridjit.jit\ndef kernel(x):\n    x[0] = 1\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import library  # type: ignore[import-not-found]

        data = pickle.dumps(library.kernel)
        kernel: Any = vars(library).pop("kernel")
        with pytest.raises(AttributeError, match=r"refers to gridjit's library\.kernel, but .* has no such name"):
            pickle.loads(data)
        assert kernel is not None
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("library", None)
