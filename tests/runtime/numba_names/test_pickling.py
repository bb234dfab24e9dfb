"""Pickles of kernels: found by name where they are, made anew from their code where they are not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.runtime.process.current import create_stream
from tests.programs import run_python

FACTOR = 3


@gridjit.jit(target="host")
def found(x):
    x[0] = 1


@gridjit.jit(device=True)
def by_factor(value):
    return value * FACTOR


def made_here(step: int, **options: Any) -> Any:
    @gridjit.jit(device=True)
    def stepped(value):
        return by_factor(value) + step

    @gridjit.jit(target="host", **options)
    def kernel(x):
        x[0] = stepped(x[0])

    return kernel


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_code_that_travels_keeps_the_name_of_its_file() -> None:
    assert again(made_here(6)).py_func.__code__.co_filename == __file__


def test_a_kernel_of_a_module_is_found_by_its_name() -> None:
    assert again(found) is found
    assert len(pickle.dumps(found)) < 200
    assert again(by_factor) is by_factor


@pytest.mark.parametrize("times", [1, 2])
def test_a_kernel_made_in_a_function_is_made_anew_and_finds_its_code_in_the_cache(times: int) -> None:
    kernel = made_here(5)
    x = np.array([1.0])
    kernel[1, 1](x)
    for _ in range(times):
        kernel = again(kernel)
    kernel[1, 1](x)
    assert x.tolist() == [(1 * 3 + 5) * 3 + 5]
    assert kernel.stats.compiles == 0, kernel.explain()


def test_a_kernel_that_its_module_has_under_another_name_is_made_anew() -> None:
    other = gridjit.jit(target="host")(found.py_func)
    assert again(other) is not found
    assert again(other).py_func is not found.py_func


def test_options_declared_signatures_and_marks_go_along() -> None:
    kernel = made_here(1, max_registers=40, cache=False, max_specializations=7, launches=[(8, 64)])
    kernel.declare("void(float64[:])")
    kernel.mark_launch_config_sensitive("blockdim")
    copy = again(kernel)
    assert (copy.options, copy.declared, copy.marks) == (kernel.options, kernel.declared, kernel.marks)
    assert (copy.cached, copy._code.table.limit, copy.specialized) == (False, 7, False)
    assert copy.launches == kernel.launches == (gridjit.LaunchConfig.of(8, 64),)


def test_another_process_that_knows_nothing_of_it_launches_it(tmp_path: Path) -> None:
    source = made_here.__code__.co_filename
    program = f"import pickle, numpy as np; x = np.array([1.0]); pickle.load(open({str(tmp_path / 'k')!r}, 'rb'))(x)"
    program += "; print(x[0], 'tests.runtime.test_pickling' in __import__('sys').modules)"
    local: dict[str, Any] = {"__name__": "nowhere", "gridjit": gridjit}
    exec(compile("@gridjit.jit(target='host')\ndef kernel(x):\n    x[0] += 41", source, "exec"), local)
    (tmp_path / "k").write_bytes(pickle.dumps(local["kernel"][1, 1]))
    done = run_python("-c", program, cwd=tmp_path)
    assert done.stdout == "42.0 False\n", done.stderr


def test_a_configured_kernel_keeps_its_configuration() -> None:
    copy = again(made_here(2)[(5, 2), 8, 0, 64])
    assert (copy.griddim, copy.blockdim, copy.sharedmem, copy.stream) == ((5, 2, 1), (8, 1, 1), 64, 0)
    assert again(found[1, 2]).dispatcher is found


def test_what_belongs_to_this_process_is_refused() -> None:
    configured = found[1, 1]
    configured.pre_launch_callbacks.append(lambda *_: None)
    with pytest.raises(pickle.PicklingError, match="Cannot pickle configured launches with pre-launch callbacks"):
        pickle.dumps(configured)
    with create_stream() as stream, pytest.raises(pickle.PicklingError, match="of this process; pickle the kernel"):
        pickle.dumps(found[1, 1, stream])


def test_pickling_by_name_imports_no_compiler() -> None:
    program = "import pickle, sys; from tests.runtime.numba_names.test_pickling import found"
    program += "; pickle.loads(pickle.dumps(found[1, 1])); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
