"""Device functions that call themselves, or each other, without declared types."""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util
import runpy
import warnings
import zipfile

import numpy as np
import pytest

import gridjit
from gridjit import cuda


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


@cuda.jit(device=True)
def three_is_missing(n):
    if n > 5:
        return three_is_missing(n - 1)
    if n == 3:
        return None
    return n


def of_a_constant(out):
    out[0] = factorial(5)


def of_another_type(out):
    out[0] = factorial(np.int32(out.size + 3))


def in_a_circle(out):
    out[0] = is_even(out.size + 9)


def of_both_in_a_circle(out):
    out[0] = is_even(8) + 2 * is_odd(8)


def that_may_return_nothing(out):
    found = three_is_missing(out.size + 2)
    out[0] = 999 if found is None else found


RECURSIVE = [
    (of_a_constant, 120),
    (of_another_type, 24),
    (in_a_circle, 1),
    (of_both_in_a_circle, 1),
    (that_may_return_nothing, 999),
]


@pytest.mark.some(3)
@pytest.mark.parametrize(("function", "expected"), RECURSIVE)
def test_a_recursion_without_declared_types_computes_what_python_does(function, expected, target):
    out = np.zeros(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        gridjit.jit(function)[1, 1](out)
    assert out[0] == expected


@pytest.mark.some(2)
@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("function", [function for function, _ in RECURSIVE])
def test_a_recursion_without_declared_types_compiles_for_a_gpu(function):
    made = gridjit.jit(cache=False)(function).compile("void(float64[::1])", target="sm_90")
    assert made.suffix == ".cubin"


@cuda.jit(device=True)
def sum_of(lo, hi):
    tile = cuda.shared.array(0, np.int64)
    if hi - lo == 1:
        return tile[lo] + cuda.threadIdx.x
    middle = (lo + hi) // 2
    return sum_of(lo, middle) + sum_of(middle, hi)


@cuda.jit(device=True)
def from_left(node, out):
    if node < 8:
        cuda.atomic.add(out, cuda.grid(1), node)
        from_left(2 * node, out)
        from_right(node, out)


@cuda.jit(device=True)
def from_right(node, out):
    if cuda.laneid % 2 == 0:
        from_left(2 * node + 1, out)


def sums(out):
    tile = cuda.shared.array(0, np.int64)
    tile[cuda.threadIdx.x] = out[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = sum_of(0, cuda.threadIdx.x + 1)


def walks(out, start):
    from_left(start, out)


@pytest.mark.parametrize("debug", [False, True])
def test_a_recursion_may_ask_where_its_thread_is_and_read_shared_memory(debug, target):
    # A thread of a GPU has a stack of 1 KB, a quarter of which a call of debug code takes.
    threads = 2 if debug and target == "cuda" else 8
    x, thread = np.arange(2 * threads), np.tile(np.arange(threads), 2)
    out = x.copy()
    gridjit.jit(sums, debug=debug, opt=not debug)[2, threads, 0, 64](out)
    assert out.tolist() == (np.cumsum(x.reshape(2, -1), 1).ravel() + thread * (thread + 1)).tolist()


@pytest.mark.parametrize("debug", [False, True])
def test_recursions_that_call_each_other_may_ask_where_their_thread_is(debug, target):
    start = 4 if debug and target == "cuda" else 1
    out = np.zeros(6, np.int64)
    gridjit.jit(walks, debug=debug, opt=not debug)[2, 3](out, start)
    assert out.tolist() == {1: [28, 7, 28, 28, 7, 28], 4: [4, 4, 4, 4, 4, 4]}[start]


# Modules that nobody can import: what exec runs, notebooks' cells, runpy, files in an archive.
UNKNOWN = """
import numpy as np
from gridjit import cuda

@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)

@cuda.jit("int64(int64)", device=True)
def declared(n):
    if n <= 1:
        return 1
    return n * declared(n - 1)

@cuda.jit(device=True)
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)

@cuda.jit(device=True)
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)

def kernel(out):
    out[0] = factorial(out.size)
    out[1] = declared(out.size)
    out[2] = is_even(out.size)
"""


def _executed(name):
    names = {} if name is None else {"__name__": name}
    exec(UNKNOWN, names)
    return names["kernel"]


def _run_by_runpy(folder):
    (folder / "unknown_program.py").write_text(UNKNOWN)
    return runpy.run_path(str(folder / "unknown_program.py"))["kernel"]


def _out_of_an_archive(folder):
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", UNKNOWN)
    return runpy.run_path(str(folder / "archive.zip"))["kernel"]


def _forgotten(folder):
    (folder / "forgotten_module.py").write_text(UNKNOWN)
    spec = importlib.util.spec_from_file_location("forgotten_module", folder / "forgotten_module.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


MADE = {
    "exec": lambda folder: _executed("nowhere"),
    "exec with an odd name": lambda folder: _executed("no where.at <all>"),
    "exec without a name": lambda folder: _executed(None),
    "runpy": _run_by_runpy,
    "an archive": _out_of_an_archive,
    "a module that is not registered": _forgotten,
}


@pytest.mark.some(3)
@pytest.mark.parametrize("made", MADE)
def test_a_recursion_in_a_module_that_cannot_be_imported_computes_what_python_does(made, tmp_path, target):
    out = np.zeros(6)
    gridjit.jit(MADE[made](tmp_path))[1, 1](out)
    assert out[:3].tolist() == [720, 720, 1]
