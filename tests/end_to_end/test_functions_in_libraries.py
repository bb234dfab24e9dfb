"""Functions of a program that an installed library compiles or runs count, however the library came by them.

The library keeps what it is given in tables of its own; programs replace functions of it. Each program runs in a
process; then in others: as it was (found), with something else changed (found), with the function changed (compiled,
and right), and as it was (found again).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunProgram = Callable[[Path], dict[str, Any]]

LIBRARY = """
from gridjit import cuda
import settings_of_tables as settings

OPERATIONS, NAMED, UNUSED = [], {}, []

class Registry:
    def __init__(self):
        self.chosen = {}

REGISTRY = Registry()

def pick():
    return 3

class Plan:
    def tile(self):
        return 3

def listed(x): pass
def named(x): pass
def chosen(x): pass
def picked(x): pass
def planned(x): pass
def worked_out(x): pass

@cuda.extending.overload(listed)
def implement_listed(x):
    f = OPERATIONS[0]
    return lambda x: f(x)

@cuda.extending.overload(named)
def implement_named(x):
    f = NAMED["scale"]
    return lambda x: f(x)

@cuda.extending.overload(chosen)
def implement_chosen(x):
    f = REGISTRY.chosen["scale"]
    return lambda x: f(x)

@cuda.extending.overload(picked)
def implement_picked(x):
    n = pick()
    return lambda x: n

@cuda.extending.overload(planned)
def implement_planned(x):
    n = Plan().tile()
    return lambda x: n

@cuda.extending.overload(worked_out)
def implement_worked_out(x):
    n = getattr(settings, "TI" + x.name[:1].upper().replace("I", "LE"))
    return lambda x: n
"""
MAIN = """
import functools, json, operator, sys
sys.path.insert(0, "site-packages")
import numpy as np
import gridjit
import library_of_tables as library
OTHER = 1
PROGRAM
@gridjit.jit
def kernel(out):
    out[0] = library.CALLED(1)
out = np.zeros(1, np.int64)
kernel[1, 1](out)
stored = [reason for found in kernel.specializations for reason in found.artifact.private]
print(json.dumps({"out": int(out[0]), "compiles": kernel.stats.compiles, "private": stored}))
"""
DEVICE = "@gridjit.jit(device=True)\ndef scale(x):\n    return 3 * x\n"
GLOBAL = "FACTOR = 3\n@gridjit.jit(device=True)\ndef scale(x):\n    return FACTOR * x\n"
DEFAULT = "@gridjit.jit(device=True)\ndef scale(x, by=3):\n    return by * x\n"
CLOSURE = (
    "def make(factor):\n    @gridjit.jit(device=True)\n    def scale(x):\n        return factor * x\n    return scale\n"
    "scale = make(3)\n"
)
TWO = DEVICE + "@gridjit.jit(device=True)\ndef other(x):\n    return 5 * x\n"

# A program's code, what the kernel calls, and the edit that makes 3 another number.
PROGRAMS = {
    "a function in a list": (DEVICE + "library.OPERATIONS.append(scale)", "listed", ("return 3", "return 5")),
    "a function in a dictionary": (DEVICE + "library.NAMED['scale'] = scale", "named", ("return 3", "return 5")),
    "a function in an object": (
        DEVICE + "library.REGISTRY.chosen['scale'] = scale",
        "chosen",
        ("return 3", "return 5"),
    ),
    "a global of it": (GLOBAL + "library.OPERATIONS.append(scale)", "listed", ("FACTOR = 3", "FACTOR = 5")),
    "a default of it": (DEFAULT + "library.OPERATIONS.append(scale)", "listed", ("by=3", "by=5")),
    "a closure of it": (CLOSURE + "library.OPERATIONS.append(scale)", "listed", ("make(3)", "make(5)")),
    "another function instead": (TWO + "library.OPERATIONS.append(scale)", "listed", ("append(scale", "append(other")),
    "another order": (TWO + "library.OPERATIONS += [scale, other]", "listed", ("[scale, other]", "[other, scale]")),
    "a function in place of the library's": ("#REPLACED", "picked", ("#REPLACED", "library.pick = lambda: 5")),
    "a partial in place of it": ("#REPLACED", "picked", ("#REPLACED", "library.pick = functools.partial(int, 5)")),
    "another partial": ("library.pick = functools.partial(int, 3)", "picked", ("int, 3", "int, 5")),
    "an edit of what is in place of it": ("library.pick = lambda: 3", "picked", ("lambda: 3", "lambda: 5")),
    "a setting by a name that is worked out": (
        "library.settings.TILE = 3",
        "worked_out",
        ("TILE = 3", "TILE = 5"),
    ),
    "a method in place of the library's": ("#REPLACED", "planned", ("#REPLACED", "library.Plan.tile = lambda self: 5")),
}


def write(folder: Path, program: str, called: str) -> None:
    installed = folder / "site-packages"
    info = installed / "tables-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    if not (installed / "library_of_tables.py").exists():
        (installed / "library_of_tables.py").write_text(LIBRARY)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tables\nVersion: 1.0\n")
        (installed / "settings_of_tables.py").write_text("TILE = 1\n_NOTES = 0\n")
        (info / "RECORD").write_text(
            "library_of_tables.py,,\nsettings_of_tables.py,,\ntables-1.0.dist-info/METADATA,,\n"
        )
    (folder / "main.py").write_text(MAIN.replace("PROGRAM", program).replace("CALLED", called))


@pytest.mark.some(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_that_a_library_came_by_counts_as_it_is(name: str, tmp_path: Path, run_program: RunProgram) -> None:
    program, called, (old, new) = PROGRAMS[name]
    write(tmp_path, program, called)
    first = run_program(tmp_path)
    assert first == {"out": 3, "compiles": 1, "private": []}
    assert run_program(tmp_path)["compiles"] == 0
    write(tmp_path, f"OTHER = 2\nlibrary.UNUSED.append(print)\n{program}", called)
    assert run_program(tmp_path)["compiles"] == 0
    assert old in program
    write(tmp_path, program.replace(old, new), called)
    changed = run_program(tmp_path)
    assert (changed["out"], changed["compiles"]) == (5, 1), changed
    write(tmp_path, program, called)
    again = run_program(tmp_path)
    assert (again["out"], again["compiles"]) == (3, 0)


def test_a_function_that_no_table_leads_to_keeps_the_kernel_in_its_process(
    tmp_path: Path, run_program: RunProgram
) -> None:
    hidden = "import itertools\nlibrary.OPERATIONS = GivenOnce(scale)\n"
    given = "class GivenOnce:\n    def __init__(self, f):\n        self.held = iter([f] * 9)\n"
    given += "    def __getitem__(self, n):\n        return next(self.held)\n"
    write(tmp_path, DEVICE + given + hidden, "listed")
    first = run_program(tmp_path)
    assert first["out"] == 3
    (reason,) = first["private"]
    assert reason == "__main__.scale was compiled, and neither the kernel nor a table of an extension leads to it"
