"""vectorize, guvectorize and reduce launch gridjit's kernels, on either target."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridjit import cuda
from tests.programs import run_python


@pytest.fixture
def add(target: str) -> Any:
    """The sum of two numbers, as a ufunc."""

    @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def add(a, b):
        return a + b

    return add


def test_a_ufunc_broadcasts_and_chooses_its_signature(add: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for first, second in ((x, x), (x, x[0]), (x, x[:, :1]), (x, 2.0), (x.astype(np.float64), x.astype(np.float64))):
        found = add(first, second)
        assert found.dtype == first.dtype
        assert np.array_equal(found, first + second)
    with pytest.raises(TypeError, match="no signature has these types"):
        add(x.astype(np.int64), x.astype(np.int64))


def test_a_lambda_becomes_a_ufunc_as_a_function_does(target: str) -> None:
    twice = cuda.vectorize(["float32(float32)"])(lambda value: 2 * value)
    assert twice(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_a_ufunc_of_arrays_on_the_device_leaves_its_result_there(add: Any) -> None:
    x = cuda.to_device(np.arange(10.0))
    for part in (x[1:2], x[9:]):  # broadcast from where the view begins
        found = add(x, part)
        assert isinstance(found, cuda.DeviceArray)
        assert (found.copy_to_host() == np.arange(10.0) + part.copy_to_host()).all()
    out = cuda.device_array(10)
    add(x, x, out=out, stream=cuda.stream())
    assert out.copy_to_host().tolist() == (2 * np.arange(10.0)).tolist()


@pytest.mark.some(2)
@pytest.mark.parametrize("count", [1, 2, 7, 64, 101])
def test_a_binary_ufunc_reduces(add: Any, count: int) -> None:
    assert add.reduce(np.arange(count, dtype=np.float32)) == np.arange(count).sum()


def test_a_ufunc_whose_signature_does_not_say_what_it_returns_infers_it(target: str) -> None:
    @cuda.vectorize(["(int32, float64)"])
    def times(a, b):
        return a * b

    found = times(np.arange(4, dtype=np.int32), np.full(4, 0.5))
    assert found.dtype == np.float64 and found.tolist() == [0, 0.5, 1, 1.5]


def test_a_generalized_ufunc_loops_over_what_its_signature_leaves_out(target: str) -> None:
    @cuda.guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)")
    def multiply(a, b, out):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                total = np.float32(0)
                for k in range(b.shape[0]):
                    total += a[i, k] * b[k, j]
                out[i, j] = total

    rng = np.random.default_rng(1)
    a, b = rng.random((5, 2, 4), np.float32), rng.random((5, 4, 3), np.float32)
    assert np.allclose(multiply(a, b), a @ b)
    assert np.allclose(multiply(a, b[0]), a @ b[0])
    there = multiply(cuda.to_device(a), cuda.to_device(b))
    assert np.allclose(there.copy_to_host(), a @ b)


def test_reduce_takes_any_number_of_items(target: str) -> None:
    total, largest = cuda.reduce(lambda a, b: a + b), cuda.Reduce(lambda a, b: max(a, b))
    for count in (1, 31, 127, 128, 129, 16384, 16385, 100001):
        x = np.arange(count, dtype=np.int64) - count // 2
        assert (total(x), largest(cuda.to_device(x), init=x[0])) == (x.sum(), x.max()), count


def test_reduce_begins_with_init_stops_at_size_and_may_leave_its_result_on_the_device(target: str) -> None:
    total = cuda.reduce(lambda a, b: a + b)
    x = cuda.to_device(np.arange(300.0))
    assert total(x, init=1000) == 1000 + np.arange(300).sum()
    assert total(x, size=3) == 3
    assert total(x[:0], init=7) == 7
    out = cuda.to_device(np.zeros(2))
    assert total(x, res=out, stream=cuda.stream()) is None
    assert out.copy_to_host().tolist() == [np.arange(300).sum(), 0]
    with pytest.raises(TypeError, match="only support 1D array"):
        total(np.ones((2, 2)))


PROGRAM = """
import json, numpy as np, gridjit
gridjit.install()
from numba import cuda, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

@vectorize(["float64(float64, float64)"], target="cuda")
def add(a, b): return a + b

@cuda.reduce
def total(a, b): return a + b

@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)

out = cuda.device_array(8, np.float32)
draw[1, 8](create_xoroshiro128p_states(8, seed=1), out)
drawn = out.copy_to_host()
kernel, = [k for _, k in add.functions.values()]
print(json.dumps([add(np.ones(3), 1.0).tolist(), float(total(np.ones(1000))), bool(((0 <= drawn) & (drawn < 1)).all()),
    [k.stats.compiles for k in (kernel, total._kernel, draw)]]))
"""


def test_installed_ufuncs_reductions_and_random_states_come_from_the_cache_in_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environ = os.environ | {"GRIDJIT_TARGET": "host"}
    for compiles in (1, 0):
        done = run_python(tmp_path / "program.py", env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [[2, 2, 2], 1000, True, [compiles] * 3]


def test_ufuncs_are_pickled_by_value(target: str) -> None:
    @cuda.vectorize(["float64(float64)", "int64(int64)"], target="cuda")
    def doubled(x):
        return x * 2

    @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
    def shifted(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] + 1

    values = np.arange(6.0).reshape(2, 3)
    for made, expected in ((doubled, values * 2), (shifted, values + 1)):
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(made))))
        assert np.asarray(again(values)).tolist() == expected.tolist()


ALONE = """
import numpy as np
from gridjit import cuda

@cuda.vectorize(["(int32, float64)"])
def product(a, b):
    return a * b

print(product(np.arange(3, dtype=np.int32), np.ones(3)))
"""


def test_a_ufunc_that_is_all_that_a_program_makes_infers_what_it_returns(target: str) -> None:
    done = run_python("-c", ALONE, env={**os.environ, "GRIDJIT_TARGET": target})
    assert done.stdout == "[0. 1. 2.]\n", done.stderr
