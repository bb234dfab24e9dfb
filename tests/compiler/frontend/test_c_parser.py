"""Compiling imports numba's support of cffi without the parser of C, which is there as soon as something is parsed."""

from __future__ import annotations

import sys

import pytest

from tests.programs import run_new_python, run_python

PROGRAM = """
import sys
import gridjit

@gridjit.jit(target="host", cache=False)
def kernel(x):
    x[0] = abs(x[0]) + 1

kernel.compile("void(float64[::1])")
from numba.cuda.typing import cffi_utils
print("cffi" in sys.modules, "pycparser" in sys.modules)
print(cffi_utils.ffi.typeof("int(*)(double)"))
import cffi, pycparser
print(pycparser.__name__, pycparser.CParser().parse("int i;").ext[0].name)
try:
    cffi.FFI().cdef("int f(")
except cffi.CDefError as error:
    print("refused")
"""

BETWEEN = """
import sys
from gridjit.compiler.frontend.narrow.contexts import parser_of_c_left_for_later
with parser_of_c_left_for_later():
    assert type(sys.modules["pycparser"]).__name__ == "_Later"
    from pycparser import c_ast  # a program's thread, say
    from pycparser.c_parser import CParser
print(c_ast.__name__, CParser().parse("int i;").ext[0].name, type(sys.modules["pycparser"]).__name__)
"""


@pytest.fixture(autouse=True)
def _cffi() -> None:
    pytest.importorskip("cffi.cparser")


def test_a_kernel_compiles_without_importing_a_parser_of_c_and_cffi_parses_all_the_same() -> None:
    done = run_new_python("-c", PROGRAM)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True False", "<ctype 'int(*)(double)'>", "pycparser i", "refused"]


def test_who_imports_the_parser_of_c_meanwhile_gets_all_of_it() -> None:
    done = run_new_python("-c", BETWEEN)
    assert (done.stdout, done.stderr) == ("pycparser.c_ast i module\n", "")


def test_a_parser_of_c_that_is_missing_is_missed_as_ever() -> None:
    missing = "import sys; sys.modules['pycparser'] = None\n"
    done = run_python("-c", f"{missing}{PROGRAM.split('from numba')[0]}print('compiled')")
    assert (done.stdout, done.stderr) == ("compiled\n", "")


def test_a_parser_of_c_that_the_program_imported_stays_what_it_is() -> None:
    pycparser = pytest.importorskip("pycparser")
    from gridjit.compiler.frontend.narrow.contexts import parser_of_c_left_for_later

    with parser_of_c_left_for_later():
        assert sys.modules["pycparser"] is pycparser
    assert sys.modules["pycparser"] is pycparser
