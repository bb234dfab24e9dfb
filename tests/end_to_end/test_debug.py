"""debug=True: what goes wrong in a kernel is an exception in Python that names the block and the thread."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("target")


def shifts(x, by):
    i = cuda.grid(1)
    x[i + by] = i


def shifts_in_shared(x, by):
    tile = cuda.shared.array(32, np.int64)
    tile[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = tile[cuda.threadIdx.x + by]


def shifts_in_dynamic_shared(x, by):
    tile = cuda.shared.array(0, np.int64)
    tile[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = tile[cuda.threadIdx.x + by]


def shifts_in_local(x, by):
    own = cuda.local.array(32, np.int64)
    own[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = own[cuda.threadIdx.x + by]


@gridjit.jit(device=True)
def put(x, i, value):
    x[i] = value


def shifts_in_a_function(x, by):
    i = cuda.grid(1)
    put(x, i + by, i)


def refuses(x, by):
    i = cuda.grid(1)
    if i == by:
        raise ValueError("not this one")
    x[i] = 1


def debugged(function: Any) -> gridjit.Kernel:
    kernel: gridjit.Kernel = gridjit.jit(function, debug=True, opt=False)
    return kernel


SHIFTS = [shifts, shifts_in_shared, shifts_in_dynamic_shared, shifts_in_local, shifts_in_a_function]


@pytest.mark.each_value_once
@pytest.mark.parametrize("function", SHIFTS)
@pytest.mark.parametrize(("by", "thread"), [(1, "31"), (20, r"\d+"), (-100, r"\d+")])
def test_an_index_out_of_bounds_raises_and_nothing_is_written_there(function: Any, by: int, thread: str) -> None:
    whole = cuda.to_device(np.full(192, -1))
    place = rf"{function.__qualname__}, tid=\[{thread}, 0, 0\] ctaid=\[[01], 0, 0\]"
    with pytest.raises(IndexError, match=f"{place}.*index is out of bounds"):
        debugged(function)[2, 32, 0, 32 * 8](whole[64:128], by)
    after = whole.copy_to_host()
    assert set(after[:64]) == set(after[128:]) == {-1}


@pytest.mark.some(1)
@pytest.mark.parametrize("function", SHIFTS)
def test_a_kernel_that_stays_within_its_arrays_runs_after_one_that_did_not(function: Any) -> None:
    kernel, x = debugged(function), cuda.to_device(np.full(64, -1))
    with pytest.raises(IndexError):
        kernel[2, 32, 0, 32 * 8](x, 40)
    kernel[2, 32, 0, 32 * 8](x, 0)
    assert x.copy_to_host().min() >= 0


def test_an_exception_names_kernel_block_thread_and_line() -> None:
    kernel, x = debugged(refuses), np.zeros(128, np.int64)
    line = refuses.__code__.co_firstlineno + 3
    place = rf"In function 'refuses', file test_debug\.py, line {line}, .*refuses, tid=\[3, 0, 0\] ctaid=\[1, 0, 0\]"
    with pytest.raises(ValueError, match=f"{place}: not this one"):
        kernel[1, 32](x, 35)
        kernel[2, 32](x, 35)


def doubled_if_positive(x, out):
    i = cuda.grid(1)
    if x[i] > 0:
        doubled = x[i] * 2
    out[i] = doubled


def last_of_a_loop(x, out):
    i = cuda.grid(1)
    for j in range(x[i]):
        last = j
    out[i] = last


def in_an_array_of_a_branch(x, out):
    i = cuda.grid(1)
    if x[i] > 0:
        own = cuda.local.array(4, np.int64)
        own[0] = 1
    out[i] = own[0]


def added_to(x, out):
    i = cuda.grid(1)
    if x[i] > 0:
        total = 0
    total += x[i]
    out[i] = total


@gridjit.jit(device=True)
def last_of(n):
    while n > 0:
        last = n
        n -= 1
    return last


def in_a_function(x, out):
    i = cuda.grid(1)
    out[i] = last_of(x[i])


def always_assigned(x, out):
    i = cuda.grid(1)
    for j in range(3):
        if j == 0:
            total, seen = x[i], j
        else:
            total = total + j
    if x[i] > 0:
        sign, only_here = 1, 2
    else:
        sign = -1
    while True:
        kept = total
        if total > 10:
            break
        total += 5
    if x[i] > 0:
        sign += only_here
    out[i] = kept * sign + seen


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("function", "name", "line"),
    [
        (doubled_if_positive, "doubled", 4),
        (last_of_a_loop, "last", 4),
        (in_an_array_of_a_branch, "own", 5),
        (added_to, "total", 4),
        (in_a_function, "last", 5),
    ],
)
def test_a_read_of_a_variable_that_nothing_assigned_raises_as_in_python(function: Any, name: str, line: int) -> None:
    where = last_of.py_func if function is in_a_function else function
    line += where.__code__.co_firstlineno
    out = np.zeros(4, np.int64)
    debugged(function)[1, 4](np.array([1, 2, 3, 1]), out)
    place = rf"line {line}, .*{function.__qualname__}, tid=\[2, 0, 0\]"
    with pytest.raises(UnboundLocalError, match=f"{place}.*variable '{name}' is read where it has no value"):
        debugged(function)[1, 4](np.array([1, 2, 0, 1]), out)


def test_a_variable_that_each_path_to_its_reads_assigns_is_none_of_them() -> None:
    out, x = np.zeros(3, np.int64), np.array([1, -1, 40])
    debugged(always_assigned)[1, 3](x, out)
    assert out.tolist() == [3 * 14, -12, 3 * 43]


def divides(x, zero):
    i = cuda.grid(1)
    x[i] = 100 // (x[i] - zero)


def takes_a_rest(x, zero):
    i = cuda.grid(1)
    x[i] = 1
    x[i] = 100 % (i - zero)


def divides_floats(x, zero):
    i = cuda.grid(1)
    if i == zero:
        x[i] /= np.float32(i - zero)


def steps(x, zero):
    i = cuda.grid(1)
    x[i] = x[:: i - zero].size


def divides_in_a_function(x, zero):
    i = cuda.grid(1)
    x[i] = divided(100, i - zero)


@gridjit.jit(device=True, debug=True, opt=False)
def divided(a, b):
    return a // b


@pytest.mark.parametrize(
    ("function", "where", "below", "message"),
    [
        (divides, divides, 2, "integer division by zero"),
        (takes_a_rest, takes_a_rest, 3, "integer modulo by zero"),
        (divides_floats, divides_floats, 3, "division by zero"),
        (steps, steps, 2, "slice step cannot be zero"),
        (divides_in_a_function, divided.py_func, 2, "integer division by zero"),
    ],
)
def test_an_operation_that_fails_names_its_line_block_and_thread(
    function: Any, where: Any, below: int, message: str
) -> None:
    line = where.__code__.co_firstlineno + below
    place = rf"In function '{where.__name__}', file test_debug\.py, line {line}, of .*{function.__name__}"
    with pytest.raises(
        (ZeroDivisionError, ValueError), match=rf"{place}, tid=\[5, 0, 0\] ctaid=\[1, 0, 0\]: {message}"
    ):
        debugged(function)[2, 32](np.arange(64), 37)


def test_an_exception_in_numba_cudas_tests_names_its_line_as_any_programs_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("numba.cuda.tests.mine")
    vars(module).update(cuda=cuda)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    theirs = FunctionType(refuses.__code__, vars(module), "refuses")
    line = refuses.__code__.co_firstlineno + 3
    with pytest.raises(ValueError, match=rf"^In function 'refuses', file test_debug\.py, line {line}, "):
        debugged(theirs)[2, 32](np.zeros(64), 35)


def test_an_exception_of_numbas_own_code_does_not_name_numbas_file() -> None:
    with pytest.raises(
        ZeroDivisionError, match=r"^\S+raises_to_a_power, tid=\[5, 0, 0\] ctaid=\[1, 0, 0\]: 0 cannot be"
    ):
        debugged(raises_to_a_power)[2, 32](np.arange(64), 37)


def raises_to_a_power(x, zero):
    i = cuda.grid(1)
    x[i] = (i - zero) ** -1
