"""Contexts are made without libdevice's functions, vector types and NumPy's functions of whole arrays.

They are loaded when code names one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.frontend.narrow.programs import TEXT
from tests.programs import run_python

FOUND = str(Path(__file__).with_name("found.py"))
START = """
import re
import sys
import gridjit
import numpy as np
from gridjit import cuda
from numba.cuda import libdevice

def loaded():
    return [name in sys.modules for name in ("numba.cuda.libdevicedecl", "numba.cuda.vector_types", "numba.cuda.fp16")]

@gridjit.jit(target="host", cache=False)
def plain(x):
    x[0] = abs(x[0]) * 2 + 1

plain.compile("void(float64[::1])")
assert not any(loaded())

def compiles(function, *arguments):
    kernel = gridjit.jit(target="host", cache=False)(function)
    kernel[1, 1](*arguments)
    print(*loaded(), *map(np.ravel, arguments))
"""
WORDS_ALONE, ALL, NONE = "True True False", "True True True", "False False False"


def _rows(how: str) -> dict[str, dict[str, Any]]:
    """Return the rows of all tables, by their keys."""
    done = run_python(FOUND, how, "tables", compiles_first=True)
    assert done.stderr == ""
    tables = json.loads(done.stdout)
    return {
        name: table if isinstance(table, dict) else {json.dumps(key): rest for key, *rest in table}
        for name, table in tables.items()
    }


def _others(row: list[Any]) -> list[Any]:
    """Return a row without the templates and the implementations that the words' modules add."""
    if not any(isinstance(one, list) for one in row):
        return [one for one in row if "numba.cuda.np.arraymath" not in one]
    return [_others(one) for one in row if "numba.cuda.vector_types" not in str(one[0])]


def test_what_they_bring_has_keys_of_its_own_but_for_in_and_the_methods_of_arrays() -> None:
    without, words = _rows("without"), _rows("words")
    shared = set()
    for name, rows in without.items():
        changed = {key: row for key, row in rows.items() if words[name][key] != row}
        assert {key: _others(words[name][key]) for key in changed} == changed, name
        shared |= {key.strip('"') for key in changed if name != "getattrs"}  # these are by the name of an attribute
    assert shared == {"builtin_function_or_method _operator.contains", "_TypeMetaclass numba.core.types.npytypes.Array"}
    assert len(words["globals"]) - len(without["globals"]) > 550


def test_each_method_of_arrays_and_each_function_that_others_type_is_known_as_a_word() -> None:
    done = run_python("-c", LEFT_OUT, compiles_first=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")


LEFT_OUT = """
import weakref
import numpy
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
from gridjit.compiler.frontend.isolated import isolation
from gridjit.compiler.frontend.narrow import words
isolation.import_all()
from numba.cuda import types
from numba.cuda.core import imputils
from numba.cuda.descriptor import cuda_target
from numba.cuda.typing import templates

typing, lists = cuda_target.typing_context, (templates.builtin_registry.attributes, templates.builtin_registry.globals)
known = {key() if isinstance(key, weakref.ref) else key for key in typing._globals}
before = [*map(len, lists)]
registries = words.registries_of_words()
attributes, offered = (entries[count:] for entries, count in zip(lists, before))
methods = {one._attr for one in attributes if one.key is types.Array}
keys = {entry[1] for one in registries if one.target is not None for entry in one.target.functions}
typed = {value for value, _ in offered} | {value for one in registries[:2] for value, _ in one.typing.globals}
lowered = keys - typed - {numpy.polynomial.Polynomial}
others = {"array.sum", "array.nonzero"}
gone = {"ptp"} - vars(numpy.ndarray).keys()
print(
    methods | {one.partition(".")[2] for one in others} == words.METHODS - gone,
    lowered - others == {*words._lowered_as_words()} and lowered - others <= known,
)
"""


MEETINGS = {
    "a function of libdevice": (
        """
def kernel(x):
    x[0] = libdevice.fabs(x[0])
compiles(kernel, np.array([-2.5]))
""",
        f"{WORDS_ALONE} [2.5]",
    ),
    "a function of libdevice by its own name": (
        """
from numba.cuda.libdevice import fmax
def kernel(x):
    x[0] = fmax(x[0], x[1])
compiles(kernel, np.array([1.0, 2.0]))
""",
        f"{WORDS_ALONE} [2. 2.]",
    ),
    "a function of libdevice in a closure": (
        """
def made(function):
    def kernel(x):
        x[0] = function(x[0])
    return kernel
compiles(made(libdevice.floor), np.array([1.5]))
""",
        f"{WORDS_ALONE} [1.]",
    ),
    "a function of libdevice in a function that is called": (
        """
@cuda.jit(device=True)
def inner(x):
    return libdevice.ceil(x)
def kernel(x):
    x[0] = inner(x[0])
compiles(kernel, np.array([1.5]))
""",
        f"{WORDS_ALONE} [2.]",
    ),
    "a vector type": (
        """
def kernel(x):
    pair = cuda.float32x2(x[0], x[1])
    x[0] = pair.x + pair.y
compiles(kernel, np.array([1, 2], np.float32))
""",
        f"{WORDS_ALONE} [3. 2.]",
    ),
    "a vector type by another of its names": (
        """
def kernel(x):
    one = cuda.double3(x[0], x[1], 4.0)
    x[0] = one.z * one.y
compiles(kernel, np.array([1.0, 2.0]))
""",
        f"{WORDS_ALONE} [8. 2.]",
    ),
    "a method of an array": (
        """
def kernel(x):
    x[0] = x.mean()
compiles(kernel, np.array([1.0, 3.0]))
""",
        f"{WORDS_ALONE} [2. 3.]",
    ),
    "a method of an array that numba-cuda types without them": (
        """
def kernel(x):
    x[0] = x.sum()
compiles(kernel, np.array([1.0, 3.0]))
""",
        f"{WORDS_ALONE} [4. 3.]",
    ),
    "a function of NumPy's": (
        """
def kernel(x):
    x[0] = np.prod(x)
compiles(kernel, np.array([2.0, 3.0]))
""",
        f"{WORDS_ALONE} [6. 3.]",
    ),
    "a function of NumPy's that numba-cuda types without them": (
        """
def kernel(x):
    x[0] = np.sum(x)
compiles(kernel, np.array([2.0, 3.0]))
""",
        f"{WORDS_ALONE} [5. 3.]",
    ),
    "whether a number is in an array": (
        """
def kernel(x):
    x[0] = 5.0 if 3.0 in x else 4.0
compiles(kernel, np.array([2.0, 3.0]))
""",
        f"{WORDS_ALONE} [5. 3.]",
    ),
    "whether a number is in a tuple": (
        """
def kernel(x):
    x[0] = 5.0 if 3 in (1, 2) else 4.0
compiles(kernel, np.array([2.0, 3.0]))
""",
        f"{NONE} [4. 3.]",
    ),
    "none, but a function of NumPy's for each number of an array": (
        """
def kernel(x):
    x[0] = np.isnan(x[0]) + np.float32(x[1])
compiles(kernel, np.array([-2.0, 3.5]))
""",
        f"{NONE} [3.5 3.5]",
    ),
    "none, but NumPy's functions are imported": (
        """
import numba.cuda.np.arraymath
def kernel(x):
    x[0] = x[0] + 1
compiles(kernel, np.array([0.5]))
""",
        f"{WORDS_ALONE} [1.5]",
    ),
    "both a vector type and a float of 16 bits": (
        """
def kernel(x):
    pair = cuda.float32x2(x[0], x[1])
    x[0] = np.float16(pair.x)
compiles(kernel, np.array([0.1, 2]))
""",
        f"{ALL} [0.09997559 2.        ]",
    ),
    "none, but vector types are imported": (
        """
import numba.cuda.vector_types
def kernel(x):
    x[0] = x[0] + 1
compiles(kernel, np.array([0.5]))
""",
        f"{WORDS_ALONE} [1.5]",
    ),
    "none, but an extension's implementation of a word": (
        """
from numba.cuda.extending import overload
def own(x): ...
@overload(own, target="cuda")
def implementation(x):
    return lambda x: libdevice.fabs(x) + 1
def kernel(x):
    x[0] = own(x[0])
compiles(kernel, np.array([-0.5]))
""",
        f"{ALL} [1.5]",
    ),
    "functions of math, which are libdevice's in the end": (
        """
import math
def kernel(x):
    x[0] = math.floor(x[0]) + math.sqrt(x[0])
compiles(kernel, np.array([4.0]))
""",
        f"{NONE} [6.]",
    ),
}


@pytest.mark.some(9)
@pytest.mark.parametrize("met", MEETINGS)
def test_a_kernel_has_them_as_soon_as_it_names_one(met: str) -> None:
    program, told = MEETINGS[met]
    done = run_python("-c", START + program)
    assert (done.stdout.strip(), done.stderr) == (told, "")


IN_ANOTHER = """
import signal
from gridjit.compiler.frontend import lower

@gridjit.jit(target="host", cache=False)
def inner(x):
    x[0] = libdevice.fabs(x[0]) + cuda.float64x2(1.0, 2.0).y

def handle(*_):
    inner[1, 1](values)

values = np.full(1, -1.5)
signal.signal(signal.SIGUSR1, handle)
install = lower.WHERE
sent = []

def install_and_launch(*given, **named):
    if not sent:
        sent.append(True)
        signal.raise_signal(signal.SIGUSR1)
    return install(*given, **named)

lower.WHERE = install_and_launch

def kernel(x):
    x[0] = x[0] + 1
compiles(kernel, np.array([0.5]))

def kernel(x):
    x[0] = libdevice.fabs(x[0])
compiles(kernel, values)
"""


@pytest.mark.parametrize("where", ["install_static", "tell_who_asks"])
def test_a_compile_inside_another_has_them_and_so_have_those_after_it(where: str) -> None:
    done = run_python("-c", START + IN_ANOTHER.replace("WHERE", where))
    first, second = done.stdout.splitlines()
    assert (first.rpartition(" ")[2], second.rpartition(" ")[2], done.stderr) == ("[1.5]", "[3.5]", "")


ERROR = """
@gridjit.jit(target="host", cache=False)
def wrong(x):
    x[0] = libdevice.fabs(x[0], x[0])

try:
    wrong.compile("void(float64[::1])")
except gridjit.CompileError as error:
    print(*re.sub(r" at 0x\\w+", "", str(error.original)).split())  # numba indents each error of a process further
"""


def test_an_error_is_the_one_that_numba_cuda_has_with_them() -> None:
    first = run_python("-c", START + ERROR).stdout
    later = run_python("-c", START + "import numba.cuda.fp16\n" + ERROR).stdout
    assert first == later
    assert "fabs" in first


NAMED = """
@gridjit.jit(target="host", cache=False)
def named(x):
    x[0] = x.mean() + cuda.float64x2(1.0, 2.0).y

named.compile("void(float64[::1])")
"""
IMPORTED = """
import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
from numba.cuda.np import arraymath
"""
CHANGED = "arraymath.get_accumulator, arraymath.array_mean = arraymath.array_mean, arraymath.get_accumulator\n"


def _told(program: str) -> str:
    done = run_python("-c", program, compiles_first=True)
    assert done.stderr == ""
    return done.stdout


def test_functions_that_are_kept_are_the_same_with_them_and_without() -> None:
    start = "import gridjit\nfrom gridjit import cuda\n"
    assert _told(start + TEXT) == _told(start + TEXT.replace("print", f"{NAMED}print")) != ""


def test_what_a_program_changed_in_modules_that_it_imported_is_told() -> None:
    assert len({_told(IMPORTED + TEXT), _told(IMPORTED + CHANGED + TEXT), _told("import gridjit" + TEXT)}) == 3


def test_nothing_is_told_once_a_program_changed_modules_that_a_compile_imported() -> None:
    start = f"import gridjit\nfrom gridjit import cuda\n{TEXT.partition('print(')[0]}{NAMED}"
    again = "kernel.compile('void(int32[::1])')\nprint(numbas_own_text() is None)\n"
    assert _told(start + again) == "False\n"
    assert _told(f"{start}from numba.cuda.np import arraymath\n{CHANGED}{again}") == "True\n"
