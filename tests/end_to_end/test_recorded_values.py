"""What a kernel's code took from Python decides whether its artifact is right, however the code got at it.

Each program reaches a value in a way that its own bytecode does not show. It runs in a process; then in others: as it
was (found), with the value changed (compiled, and right), with something changed that its code never took (found).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RunProgram = Callable[[Path], dict[str, Any]]

HEAD = """
import gridjit
from gridjit import cuda
"""
TAIL = """
import json
import numpy as np
def run(kernel):
    out = np.full(4, -1, np.int64)
    kernel[1, 1](out)
    stored = [reason for found in kernel.specializations for reason in found.artifact.private]
    print(json.dumps({"out": int(out[0]), "compiles": kernel.stats.compiles, "private": stored}))
run(kernel)
"""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of one or more files that writes `result`.

    changed, unrelated: edits, each (file, old, new). The first makes the result `then`; the second is of something that
    the kernel's code does not take.
    """

    files: Mapping[str, str]
    result: int
    changed: tuple[str, str, str]
    then: int
    unrelated: tuple[str, str, str]


SETTINGS = {"settings.py": "TILE = 3\nOTHER = 1\n"}
PICKED = ("PICKED = first", "PICKED = second")
TILE = ("settings.py", "TILE = 3", "TILE = 4")
OTHER = ("settings.py", "OTHER = 1", "OTHER = 2")


def of_settings(main: str) -> Program:
    """Return a program whose main file reaches settings.TILE."""
    return Program(
        files={**SETTINGS, "main.py": HEAD + "import settings\n" + main + TAIL},
        result=3,
        changed=TILE,
        then=4,
        unrelated=OTHER,
    )


def of_main(main: str, old: str, new: str, *, result: int = 3, then: int = 4) -> Program:
    """Return a program of one file; OTHER is a global that nothing takes."""
    return Program(
        files={"main.py": f"{HEAD}OTHER = 1\n{main}{TAIL}"},
        result=result,
        changed=("main.py", old, new),
        then=then,
        unrelated=("main.py", "OTHER = 1", "OTHER = 2"),
    )


PICK = """
@gridjit.jit(device=True)
def pick(module):
    return module.TILE
"""
PLUGINS = """
import importlib.util
def load(folder):
    spec = importlib.util.spec_from_file_location("plugin", f"{folder}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
first, second = load("first"), load("second")
@gridjit.jit
def kernel(out):
    out[0] = first.scaled(1) * 10 + second.scaled(1)
"""
PLUGIN = """
import gridjit
FACTOR = {}
OTHER = 1
@gridjit.jit(device=True)
def scaled(x):
    return x * FACTOR
"""
NAMELESS = """
space = {"gridjit": gridjit, "TILE": 3, "OTHER": 1}
exec('''
@gridjit.jit(device=True)
def inner():
    return TILE
class Holder:
    pass
Holder.function = inner
''', space)
inner = space["inner"]
@gridjit.jit
def kernel(out):
    out[0] = inner()
"""

# Two namespaces that go by one name, or by a library's.
SPACES = """
import types
def space(name, factor):
    made = types.ModuleType(name)
    made.gridjit, made.FACTOR = gridjit, factor
    exec('''
@gridjit.jit(device=True)
def scaled():
    return FACTOR
@gridjit.jit(device=True)
def negated():
    return -FACTOR
''', vars(made))
    return made
first, second = space("plugin", 3), space("plugin", 4)
PICKED = first
"""
STUBS = """
overload = cuda.extending.overload
def make(value):
    def stub():
        raise NotImplementedError
    @overload(stub)
    def implement():
        return lambda: value
    return stub
first, second = make(3), make(4)
PICKED = first
"""

# numba-cuda asks for a device when it compiles a declared function, which it does at once.
DECLARED = """
import types
import numba.cuda
numba.cuda.dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(9, 0))
"""

PROGRAMS = {
    "a module passed to a device function": of_settings(
        PICK + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(settings)\n"
    ),
    "a module passed through two device functions": of_settings(
        PICK
        + "@gridjit.jit(device=True)\ndef middle(m):\n    return pick(m)\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = middle(settings)\n"
    ),
    "a module passed to an inlined function": of_settings(
        PICK.replace("device=True", "device=True, inline='always'")
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(settings)\n"
    ),
    "a module as a default": of_settings(
        PICK.replace("(module)", "(module=settings)") + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick()\n"
    ),
    "a module in a closure": of_settings(
        PICK
        + "def make(module):\n    @gridjit.jit\n    def kernel(out):\n        out[0] = pick(module)\n"
        + "    return kernel\nkernel = make(settings)\n"
    ),
    "a module of a package passed on": Program(
        files={
            "pack/__init__.py": "from . import settings\n",
            "pack/settings.py": SETTINGS["settings.py"],
            "main.py": HEAD
            + "import pack\n"
            + PICK
            + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(pack.settings)\n"
            + TAIL,
        },
        result=3,
        changed=("pack/settings.py", "TILE = 3", "TILE = 4"),
        then=4,
        unrelated=("pack/settings.py", "OTHER = 1", "OTHER = 2"),
    ),
    "a module made by hand with a library's name": of_main(
        "import types\nmade = types.ModuleType('math')\nmade.TILE = 3\nmade.OTHER = OTHER\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = made.TILE\n",
        "TILE = 3",
        "TILE = 4",
    ),
    "a device function passed to another": of_settings(
        "@gridjit.jit(device=True)\ndef tile():\n    return settings.TILE\n"
        + "@gridjit.jit(device=True)\ndef apply(f):\n    return f()\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = apply(tile)\n"
    ),
    "modules of one name in two folders": Program(
        files={"first.py": PLUGIN.format(1), "second.py": PLUGIN.format(2), "main.py": HEAD + PLUGINS + TAIL},
        result=12,
        changed=("second.py", "FACTOR = 2", "FACTOR = 5"),
        then=15,
        unrelated=("second.py", "OTHER = 1", "OTHER = 2"),
    ),
    "a namespace without a name": of_main(NAMELESS, '"TILE": 3', '"TILE": 4'),
    "what a program puts into a library's module": of_main(
        "import math\nmath.TILE = 3\n@gridjit.jit\ndef kernel(out):\n    out[0] = math.TILE\n", "TILE = 3", "TILE = 4"
    ),
    "what a program puts into a library's module, passed on": of_main(
        "import math\nmath.TILE = 3\n" + PICK + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(math)\n",
        "TILE = 3",
        "TILE = 4",
    ),
    "a device function put into numba.cuda": of_main(
        "TILE = 3\n@gridjit.jit(device=True)\ndef mine():\n    return TILE\nimport numba.cuda\nnumba.cuda.mine = mine\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = numba.cuda.mine()\n",
        "TILE = 3",
        "TILE = 4",
    ),
    "a default that was changed after the decorator": of_main(
        "@gridjit.jit(device=True)\ndef inner(value=1):\n    return value\ninner.py_func.__defaults__ = (3,)\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = inner()\n",
        "(3,)",
        "(4,)",
    ),
    "a default of numba.cuda's that was changed after the decorator": of_main(
        "import numba.cuda\n@numba.cuda.jit(device=True)\ndef inner(value=1):\n    return value\n"
        + "inner.py_func.__defaults__ = (3,)\n@gridjit.jit\ndef kernel(out):\n    out[0] = inner()\n",
        "(3,)",
        "(4,)",
    ),
    "a global of a declared function of numba.cuda's": of_main(
        DECLARED
        + "TILE = 1\n@numba.cuda.jit('int64()', device=True)\ndef inner():\n    return TILE\n"
        + "TILE = 3\n@gridjit.jit\ndef kernel(out):\n    out[0] = inner()\n",
        "TILE = 3",
        "TILE = 4",
    ),
    "a declared signature of numba.cuda's": of_main(
        DECLARED
        + "@numba.cuda.jit('int8(int8)', device=True)\ndef inner(value):\n    return value\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = inner(259)\n",
        "int8(int8)",
        "int16(int16)",
        result=3,
        then=259,
    ),
    "the strides of an extent of 1": of_main(
        "import numpy as np\nTABLE = np.zeros(8, np.int8)[::1][:6].reshape(2, 3)[:1]\nTABLE.flags.writeable = False\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = TABLE.strides[0]\n",
        "reshape(2, 3)",
        "reshape(1, 6)[:, :3]",
        then=6,
    ),
    "a function in place of a library's": of_main(
        "import math\nmath.floor = math.floor\n@gridjit.jit\ndef kernel(out):\n    out[0] = math.floor(3.5)\n",
        "= math.floor\n",
        "= math.ceil\n",
    ),
    "the namespace of a function, of two of one name": of_main(
        SPACES
        + "one, other, picked = first.scaled, second.scaled, PICKED.negated\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = one() + other() - picked()\n",
        *PICKED,
        result=10,
        then=11,
    ),
    "which of two functions a name stands for": of_main(
        SPACES
        + "one, other, picked = first.scaled, second.scaled, PICKED.scaled\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = one() + other() + picked()\n",
        *PICKED,
        result=10,
        then=11,
    ),
    "a module of two of one name, passed on": of_main(
        SPACES
        + "PICK = PICKED\n@gridjit.jit(device=True)\ndef pick(module):\n    return module.FACTOR\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(first) + pick(second) + pick(PICK)\n",
        *PICKED,
        result=10,
        then=11,
    ),
    "a function of two namespaces of one name, in a module passed on": of_main(
        SPACES
        + "held = types.ModuleType('held')\nheld.one, held.other, held.picked = "
        + "first.scaled, second.scaled, PICKED.negated\n"
        + "@gridjit.jit(device=True)\ndef pick(m):\n    return m.one() + m.other() - m.picked()\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(held)\n",
        *PICKED,
        result=10,
        then=11,
    ),
    "a namespace that goes by a library's name": of_main(
        SPACES + "inner = space('numpy', 3).scaled\n@gridjit.jit\ndef kernel(out):\n    out[0] = inner()\n",
        "'numpy', 3",
        "'numpy', 4",
    ),
    "which of two functions of one name is implemented": of_main(
        STUBS + "@gridjit.jit\ndef kernel(out):\n    out[0] = PICKED()\n", *PICKED
    ),
    "which of two functions of one name is implemented, in a module passed on": of_main(
        STUBS
        + "import types\nheld = types.ModuleType('held')\nheld.picked = PICKED\n"
        + "@gridjit.jit(device=True)\ndef pick(m):\n    return m.picked()\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(held)\n",
        *PICKED,
    ),
    "the name of a function that an overload asks for": of_main(
        "overload = cuda.extending.overload\ndef stub():\n    raise NotImplementedError\n"
        + "stub.__name__ = 'three'\n@overload(stub)\ndef implement():\n"
        + "    return (lambda: 3) if stub.__name__ == 'three' else (lambda: 4)\n"
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = stub()\n",
        "__name__ = 'three'",
        "__name__ = 'four'",
    ),
    "an enum made by a call": of_main(
        "import enum\nMode = enum.Enum('Mode', {'TILE': 3})\n"
        + PICK
        + "@gridjit.jit\ndef kernel(out):\n    out[0] = pick(Mode).value\n",
        "'TILE': 3",
        "'TILE': 4",
    ),
}


def write(folder: Path, program: Program, edit: tuple[str, str, str] = ("", "", "")) -> None:
    for name, text in program.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        assert name != edit[0] or edit[1] in text
        path.write_text(text.replace(edit[1], edit[2], 1) if name == edit[0] else text)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_value_counts_however_code_gets_at_it(name: str, tmp_path: Path, run_program: RunProgram) -> None:
    program = PROGRAMS[name]
    write(tmp_path, program)
    assert run_program(tmp_path) == {"out": program.result, "compiles": 1, "private": []}
    assert run_program(tmp_path) == {"out": program.result, "compiles": 0, "private": []}
    write(tmp_path, program, program.changed)
    assert run_program(tmp_path) == {"out": program.then, "compiles": 1, "private": []}
    assert run_program(tmp_path)["compiles"] == 0
    write(tmp_path, program, program.unrelated)
    assert run_program(tmp_path) == {"out": program.result, "compiles": 0, "private": []}


DURING = """
import gridjit
from gridjit import cuda
import settings
def hook():
    pass
@cuda.extending.overload(hook)
def overload_hook():
    settings.LATE = settings.TILE
    settings.TILE = 9
    return lambda: None
@gridjit.jit
def kernel(out):
    early = settings.TILE
    hook()
    out[0] = early
"""


def test_a_value_that_changes_while_the_kernel_compiles_is_never_stored_for_another(
    tmp_path: Path, run_program: RunProgram
) -> None:
    (tmp_path / "settings.py").write_text("TILE = 3\n")
    (tmp_path / "main.py").write_text(DURING + TAIL)
    first = run_program(tmp_path)
    assert first["private"]
    (tmp_path / "settings.py").write_text("TILE = 9\n")
    assert run_program(tmp_path)["out"] == 9


SWAPPED = """
import numpy as np
import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.isolated import taking
TABLE = np.array([START, 0])
copied = taking._copied
def copied_later(array):
    array[0] += 1
    taken = copied(array)
    array[0] -= 1
    return taken
if START == 3:
    taking._copied = copied_later
@gridjit.jit
def kernel(out):
    out[0] = TABLE[out[1] + 1]
"""


def test_an_arrays_content_that_changes_while_it_is_written_into_the_code_is_never_stored(
    tmp_path: Path, run_program: RunProgram
) -> None:
    (tmp_path / "main.py").write_text(SWAPPED.replace("START", "3") + TAIL)
    assert run_program(tmp_path) == {
        "out": 4,
        "compiles": 1,
        "private": ["the content of TABLE changed while the kernel was compiled"],
    }
    (tmp_path / "main.py").write_text(SWAPPED.replace("[START", "[3").replace("START", "5") + TAIL)
    assert run_program(tmp_path) == {"out": 3, "compiles": 1, "private": []}
