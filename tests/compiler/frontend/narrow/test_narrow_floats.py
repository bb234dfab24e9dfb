"""Contexts are made without numba-cuda's floats of 16 and 8 bits, and nobody can tell but by the time it takes."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.frontend.narrow.programs import TEXT
from tests.programs import run_python

FOUND = str(Path(__file__).with_name("found.py"))
START = """
import sys
import gridjit
import numpy as np
from gridjit import cuda

def is_there():
    return any(name.endswith(("fp16", "bf16", "fp8")) for name in sys.modules if name.startswith("numba."))

@gridjit.jit(target="host", cache=False)
def plain(x):
    x[0] = abs(x[0]) * 2 + 1

plain.compile("void(float64[::1])")
assert not is_there()

def compiles(function, *arguments):
    kernel = gridjit.jit(target="host", cache=False)(function)
    kernel[1, 1](*arguments)
    print(is_there(), *map(np.ravel, arguments))
"""


@functools.cache
def _found(how: str, what: str) -> Any:
    done = run_python(FOUND, how, what, compiles_first=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("types", ["few-types", pytest.param("types", marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["without", "words"])
def test_operators_and_functions_of_other_types_are_found_as_numba_cuda_finds_them(how: str, types: str) -> None:
    assert _found(how, types) == _found("at-once", types)


@pytest.mark.parametrize("how", ["completed", "in-steps"])
def test_contexts_that_are_completed_try_implementations_in_numba_cudas_order(how: str) -> None:
    completed, at_once = _found(how, "tables"), _found("at-once", "tables")
    for name, table in at_once.items():
        assert completed[name] == table, name
    assert len(at_once["globals"]) > 1000


MEETINGS = {
    "an argument": (
        """
def kernel(x):
    x[0] = x[0] * x[0] + x[1]
compiles(kernel, np.array([3, 0.5], np.float16))
""",
        "True [9.5 0.5]",
    ),
    "a number made in the kernel": (
        """
def kernel(x):
    z = np.float16(x[0])
    x[0] = z * z + z
compiles(kernel, np.array([0.1]))
""",
        "True [0.10998535]",
    ),
    "a number made in a function that is called": (
        """
@cuda.jit(device=True)
def rounded(x):
    return float(np.float16(x))
def kernel(x):
    x[0] = rounded(x[0])
compiles(kernel, np.array([0.1]))
""",
        "True [0.09997559]",
    ),
    "an array in shared memory": (
        """
def kernel(x):
    tile = cuda.shared.array(4, "float16")
    tile[0] = x[0]
    x[0] = tile[0]
compiles(kernel, np.array([0.1]))
""",
        "True [0.09997559]",
    ),
    "a constant of the program": (
        """
half = np.float16(0.1)
def kernel(x):
    x[0] = half
compiles(kernel, np.array([0.5]))
""",
        "True [0.09997559]",
    ),
    "a function of numba-cuda's": (
        """
import numba.cuda
def kernel(x):
    x[0] = numba.cuda.fp16.hsqrt(x[0])
compiles(kernel, np.array([4], np.float16))
""",
        "True [2.]",
    ),
    "a record's field": (
        """
def kernel(x):
    x[0].a = x[0].a + x[0].a
compiles(kernel, np.array([(0.1, 2)], [("a", np.float16), ("b", np.int8)]))
""",
        "True [(0.2, 2)]",
    ),
    "none, but imported": (
        """
import numba.cuda.bf16
def kernel(x):
    x[0] = x[0] + 1
compiles(kernel, np.array([0.5]))
""",
        "True [1.5]",
    ),
    "none, but an extension's function": (
        """
from numba.cuda.extending import overload
def own(x): ...
@overload(own, target="cuda")
def implementation(x):
    return lambda x: x + 1
def kernel(x):
    x[0] = own(x[0])
compiles(kernel, np.array([0.5]))
""",
        "True [1.5]",
    ),
    "none": (
        """
def kernel(x):
    x[0] = x[0] / 2 + len(x)
compiles(kernel, np.array([0.5]))
""",
        "False [1.25]",
    ),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("met", MEETINGS)
def test_a_kernel_has_them_as_soon_as_it_has_to_do_with_them(met: str) -> None:
    program, told = MEETINGS[met]
    done = run_python("-c", START + program)
    assert (done.stdout.strip(), done.stderr) == (told, "")


SAME_OPERATION = """
def kernel(x, y):
    x[0] = x[0] + y[0]

kernel = gridjit.jit(target="host", cache=False)(kernel)
for dtype in (np.float64, np.float16, np.float64, np.float16):
    x = np.full(1, 2049, dtype)
    kernel[1, 1](x, np.full(1, 1, dtype))
    print(float(x[0]))
"""


def test_a_kernel_that_was_compiled_without_them_adds_in_16_bits_afterwards() -> None:
    done = run_python("-c", START + SAME_OPERATION)
    assert done.stdout.split() == ["2050.0", "2048.0"] * 2


ERROR = """
@gridjit.jit(target="host", cache=False)
def wrong(x):
    x[0] = x[0] + "a"

try:
    wrong.compile("void(float64[::1])")
except gridjit.CompileError as error:
    print(str(error).splitlines()[0], is_there())
"""


def test_an_error_is_the_one_that_numba_cuda_has_with_them() -> None:
    first = run_python("-c", START + ERROR).stdout
    later = run_python("-c", START + "import numba.cuda.fp16\n" + ERROR).stdout
    assert first == later
    assert "float64" in first


NUMBAS_OWN = """
from numba.cuda.descriptor import cuda_target
from numba.cuda import types
import operator

typing = cuda_target.typing_context
typing.refresh()  # as each compile of numba-cuda's own does
assert is_there()
half = types.float16
print(typing.resolve_function_type(operator.add, (half, half), {}), "load_additional_registries" in vars(typing))
"""


def test_numba_cudas_own_compiles_find_them_in_their_order() -> None:
    done = run_python("-c", START + NUMBAS_OWN)
    assert done.stdout == "(float16, float16) -> float16 False\n"


IN_ANOTHER = """
import signal
from gridjit.compiler.frontend.narrow import modules

@gridjit.jit(target="host", cache=False)
def inner(x):
    x[0] = x[0] + x[0]

def handle(*_):
    inner[1, 1](halves)

halves = np.full(1, 1.5, np.float16)
signal.signal(signal.SIGUSR1, handle)
stop, sent = modules.is_of_narrow_floats, []

def stop_and_launch(found):
    if not sent:
        sent.append(True)
        signal.raise_signal(signal.SIGUSR1)
    return stop(found)

modules.is_of_narrow_floats = stop_and_launch

def kernel(x):
    x[0] = x[0] + 1
compiles(kernel, np.array([0.5]))

def kernel(x):
    x[0] = x[0] * x[0]
compiles(kernel, halves)
"""


def test_a_compile_inside_another_has_them_and_so_have_those_after_it() -> None:
    done = run_python("-c", START + IN_ANOTHER)
    assert (done.stdout.splitlines(), done.stderr) == (["True [1.5]", "True [9.]"], "")


BEFORE = """
import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
import numba.cuda.fp8
"""


def test_functions_that_are_kept_are_the_same_with_them_and_without() -> None:
    without, with_them = (run_python("-c", start + TEXT, compiles_first=True) for start in ("import gridjit", BEFORE))
    assert without.stdout == with_them.stdout
    assert (without.stderr, with_them.stderr) == ("", "")
    assert len(without.stdout) > 64
