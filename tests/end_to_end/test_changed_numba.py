"""A program that changes numba's own code gets kernels made with the change, and the former ones once it is undone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

PROGRAM = """
import json, sys
import numpy as np
{first}
import gridjit

def truth(out, x, n):
    out[0] = bool(x[0])
    out[1] = n[0] // 2

def launched():
    kernel, out = gridjit.jit(truth), np.zeros(2)
    kernel[1, 1](out, np.array([2.0]), np.array([-7]))
    return [*out.tolist(), kernel.stats.compiles]

found = []
{before}
found.append(launched())
{change}
found.append(launched())
found.append(launched())
{undo}
found.append(launched())
print(json.dumps(found))
"""
IMPORTS = """
from numba.cuda.cpython import numbers
from numba.cuda import cgutils
"""
# What is done, how it is undone, and what the kernel makes of 2.0 and -7 with it.
OTHER_CODE = "code.replace(co_consts=tuple(2.0 if one == 0.0 else one for one in code.co_consts))"
CHANGES = {
    "other constants": (
        f"code = numbers.float_as_bool.__code__; numbers.float_as_bool.__code__ = {OTHER_CODE}",
        "numbers.float_as_bool.__code__ = code",
        [0.0, -4.0],
    ),
    "one of numba's functions by another's name": (
        "own = cgutils.is_scalar_zero; cgutils.is_scalar_zero = cgutils.is_not_scalar_zero",
        "cgutils.is_scalar_zero = own",
        [1.0, 2.0],
    ),
    "a function made of another's code": (
        "import types; own = cgutils.is_scalar_zero\n"
        "cgutils.is_scalar_zero = types.FunctionType(cgutils.is_not_scalar_zero.__code__, vars(cgutils))",
        "cgutils.is_scalar_zero = own",
        [1.0, 2.0],
    ),
    "a partial": (
        "import functools; own = cgutils.is_scalar_zero\n"
        "cgutils.is_scalar_zero = functools.partial(cgutils.is_not_scalar_zero)",
        "cgutils.is_scalar_zero = own",
        [1.0, 2.0],
    ),
    "other defaults": (
        "own = cgutils.alloca_once.__defaults__; cgutils.alloca_once.__defaults__ = (None, 'other', False)",
        "cgutils.alloca_once.__defaults__ = own",
        [1.0, -4.0],
    ),
    "a method of another class": (
        "from numba.cuda import target; from numba.cuda.core import base\n"
        "base.BaseContext.get_constant_null, own = base.BaseContext.get_constant, base.BaseContext.get_constant_null",
        "base.BaseContext.get_constant_null = own",
        None,
    ),
}
UNCHANGED = [1.0, -4.0]


def found(folder: Path, run: object, **parts: str) -> list[list[float]]:
    """Return what each launch of the program made, and how many compiles it took."""
    program = folder / "program.py"
    program.write_text(PROGRAM.format(**{"first": "", "before": "", "change": "", "undo": "", **parts}))
    done = run(program, env={**os.environ, "GRIDJIT_TARGET": "host"})  # type: ignore[operator]
    assert done.returncode == 0, done.stderr
    made: list[list[float]] = json.loads(done.stdout)
    return made


@pytest.mark.some(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_numbas_code_makes_kernels_of_its_own_as_long_as_it_is_there(tmp_path: Path, name: str) -> None:
    change, undo, expected = CHANGES[name]
    before, first, second, after = found(tmp_path, run_python, before=IMPORTS, change=change, undo=undo)
    assert before == [*UNCHANGED, 1]
    assert first[2] == 1
    assert second == [*first[:2], 0]
    assert after == [*UNCHANGED, 0]
    assert expected is None or first[:2] == expected


@pytest.mark.parametrize(
    "run", [run_python, pytest.param(run_new_python, marks=pytest.mark.slow)], ids=["forked", "new"]
)
def test_numba_as_it_is_adds_nothing_whoever_imports_it(tmp_path: Path, run: object) -> None:
    imports = "import numba.cuda, numba.cuda.cpython.numbers"
    assert [one[2] for one in found(tmp_path, run)] == [1, 0, 0, 0]
    assert [one[2] for one in found(tmp_path, run, first=imports)] == [0, 0, 0, 0]
    # gridjit.cuda has classes of its own take the place of some.
    late = "import gridjit.cuda"
    assert [one[2] for one in found(tmp_path, run, first=imports, change=late)] == [0, 0, 0, 0]
    assert [one[2] for one in found(tmp_path, run)] == [0, 0, 0, 0]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python notes since 3.12 whether a function was changed")
@pytest.mark.parametrize("name", ["other constants", "other defaults"])
def test_what_was_changed_before_gridjit_was_imported_counts_too(tmp_path: Path, name: str) -> None:
    change, undo, expected = CHANGES[name]
    assert found(tmp_path, run_new_python)[0] == [*UNCHANGED, 1]
    first, *_, after = found(tmp_path, run_new_python, first=f"import numba.cuda\n{IMPORTS}\n{change}", undo=undo)
    assert first == [*(expected or ()), 1]
    assert after == [*UNCHANGED, 0]
