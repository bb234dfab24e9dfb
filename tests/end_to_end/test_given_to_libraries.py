"""What a program gives an installed library to register counts: it tells one registration of the library from another.

The library is a module that a distribution's record lists. Each program gives it another value in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunProgram = Callable[[Path], dict[str, Any]]

LIBRARY = """
import threading
from itertools import count
from gridjit import cuda

numbers, guard, notes = count(), threading.Lock(), {}

class Plan:
    def __init__(self, given):
        self.given = given
    def register(self, stub):
        @cuda.extending.overload(stub)
        def of_plan():
            with guard:
                notes[next(numbers)] = stub
            given = self.given
            return EXPRESSION

def register(stub, given):
    def inner():
        return given
    @cuda.extending.overload(stub)
    def implement():
        with guard:
            notes[next(numbers)] = stub
        given = inner()
        return EXPRESSION
"""
MAIN = """
import enum, functools, json, sys
sys.path.insert(0, "site-packages")
import numpy as np
import gridjit
import library_of_given as library
@gridjit.jit(device=True)
def device(x):
    return NUMBER * x
class Level(enum.Enum):
    TOP = NUMBER
def stub():
    pass
REGISTER
@gridjit.jit
def kernel(out):
    out[0] = stub()
out = np.zeros(1)
kernel[1, 1](out)
private = [reason for found in kernel.specializations for reason in found.artifact.private]
print(json.dumps({"out": int(out[0]), "compiles": kernel.stats.compiles, "private": private}))
"""
RECORD = "library_of_given.py,,\nlibrary_of_given-1.0.dist-info/METADATA,,\nlibrary_of_given-1.0.dist-info/RECORD,,\n"

GIVEN = {
    "a device function": ("lambda: given(1)", "library.register(stub, device)"),
    "a function in a partial": (
        "(lambda n: lambda: n)(given())",
        "library.register(stub, functools.partial(int, 'NUMBER'))",
    ),
    "a tuple": ("lambda: given[1]", "library.register(stub, (1, NUMBER))"),
    "a dictionary": ("(lambda n: lambda: n)(given['tile'])", "library.register(stub, {'tile': NUMBER})"),
    "a type": ("(lambda n: lambda: n)(given(NUMBER + 0.5) * 2)", "library.register(stub, [int, float][NUMBER == 5])"),
    "a member of an enum": ("(lambda n: lambda: n)(given.value)", "library.register(stub, Level.TOP)"),
    "an attribute of the library's object": ("lambda: given", "library.Plan(NUMBER).register(stub)"),
}


def write(folder: Path, expression: str, register: str, number: int) -> None:
    metadata = folder / "site-packages" / "library_of_given-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    source = folder / "site-packages" / "library_of_given.py"
    if not source.exists():
        # One number of the library itself stays as it is installed.
        source.write_text(LIBRARY.replace("EXPRESSION", expression.replace("NUMBER", "3")))
        (metadata / "RECORD").write_text(RECORD)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: library-of-given\nVersion: 1.0\n")
    (folder / "main.py").write_text(MAIN.replace("REGISTER", register).replace("NUMBER", str(number)))


@pytest.mark.some(2)
@pytest.mark.parametrize("name", GIVEN)
def test_what_a_library_was_given_to_register_counts(name: str, tmp_path: Path, run_program: RunProgram) -> None:
    outs = []
    for number in (3, 5):
        write(tmp_path, *GIVEN[name], number)
        found = run_program(tmp_path)
        outs.append(found["out"])
        assert (found["compiles"], found["private"]) == (1, [])
        again = run_program(tmp_path)
        assert (again["compiles"], again["out"]) == (0, found["out"])
    assert outs[0] != outs[1]
