"""The key is complete and no finer than that: what alters the code is a miss, what does not is a hit.

A small program is compiled once. Each test changes one thing about it and launches it as a new process would find it,
or in one: with everything the same it must be found, which a compiler that is forbidden to run proves.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.key import toolchain as toolchain_module
from gridjit.compiler.key.numba_settings import SETTINGS
from gridjit.compiler.values.errors import CompileDisabledError
from gridjit.compiler.values.options import Options, options_of
from gridjit.compiler.values.target import Target
from tests.programs import python_path, run_new_python, run_python

FORBIDDEN = "GRIDJIT_ASSERT_NO_COMPILE"
Run = Callable[..., subprocess.CompletedProcess[str]]

FAR = """
import gridjit

STEP = 1

@gridjit.jit(device=True)
def far(value):
    return value + STEP
"""
MIDDLE = """
import gridjit
import mutated_far

@gridjit.jit(device=True)
def middle(value):
    return mutated_far.far(value) * 2
"""
NEAR = """
import gridjit
from mutated_middle import middle

@gridjit.jit(device=True)
def near(value):
    return middle(value) + 3
"""
CONFIG = "LIMIT = 50\nUNUSED = 1\n"
KERNEL = """
import enum

import gridjit
import mutated_config
import numpy as np
from gridjit import cuda
from mutated_near import near

SCALE = 3
PAIR = (2, 5)
MODE = "long"
TABLE = np.array([1, 2, 4], np.int32)
KIND = np.dtype(np.uint8)
UNUSED = 1

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9

@gridjit.jit(device=True)
def stepped(value, step=10):
    return value + step

def make(offset):
    @gridjit.jit
    def kernel(x, out):
        small = cuda.local.array(1, KIND)
        small[0] = x[0] + 300
        out[0] = 7
        out[1] = SCALE
        out[2] = PAIR[1]
        out[3] = len(MODE)
        out[4] = TABLE[2]
        out[5] = small[0]
        out[6] = Level.HIGH
        out[7] = mutated_config.LIMIT
        out[8] = offset
        out[9] = stepped(x[0])
        out[10] = near(x[0])
    return kernel

kernel = make(100)
"""
PROGRAM = {
    "mutated.py": KERNEL,
    "mutated_config.py": CONFIG,
    "mutated_near.py": NEAR,
    "mutated_middle.py": MIDDLE,
    "mutated_far.py": FAR,
}
RESULT = (7, 3, 5, 4, 4, 44, 9, 50, 100, 10, 5)
RUN = """
import json
import mutated
import numpy as np
from gridjit import cuda
out = cuda.to_device(np.zeros(11, np.int64))
mutated.kernel[1, 1](cuda.to_device(np.zeros(1, np.int64)), out)
print(json.dumps({"out": out.copy_to_host().tolist(), "compiles": mutated.kernel.stats.compiles}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one launch of the program did: what it wrote, how often it compiled, and why."""

    out: tuple[int, ...]
    compiles: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A text replaced in one file of the program: where it shows in the result, and how the compile is explained."""

    file: str = "mutated.py"
    old: str
    new: str
    at: int
    value: int
    why: str


MISSES = {
    "kernel body": Edit(old="out[1] = SCALE", new="out[1] = SCALE - 1", at=1, value=2, why="kernel code"),
    "constant": Edit(old="out[0] = 7", new="out[0] = 8", at=0, value=8, why="kernel code"),
    "closure": Edit(old="make(100)", new="make(101)", at=8, value=101, why="closure offset of"),
    "default": Edit(old="step=10", new="step=11", at=9, value=11, why="default step of mutated.stepped 10 -> 11"),
    "global int": Edit(old="SCALE = 3", new="SCALE = 4", at=1, value=4, why="global mutated.SCALE 3 -> 4"),
    "global float": Edit(old="SCALE = 3", new="SCALE = 3.0", at=1, value=3, why="global mutated.SCALE 3 -> 3.0"),
    "global bool": Edit(old="SCALE = 3", new="SCALE = True", at=1, value=1, why="global mutated.SCALE 3 -> True"),
    "global tuple": Edit(old="(2, 5)", new="(2, 6)", at=2, value=6, why="global mutated.PAIR"),
    "global string": Edit(old='"long"', new='"short"', at=3, value=5, why="global mutated.MODE 'long' -> 'short'"),
    "global array": Edit(old="[1, 2, 4]", new="[1, 2, 5]", at=4, value=5, why="global mutated.TABLE"),
    "global array's dtype": Edit(old="4], np.int32", new="4], np.int16", at=4, value=4, why="global mutated.TABLE"),
    "global dtype": Edit(old="np.uint8", new="np.int16", at=5, value=300, why="global mutated.KIND"),
    "enum": Edit(old="HIGH = 9", new="HIGH = 8", at=6, value=8, why="members of class mutated.Level"),
    "module attribute": Edit(
        file="mutated_config.py", old="50", new="51", at=7, value=51, why="global mutated_config.LIMIT 50 -> 51"
    ),
    "callee in the file": Edit(
        old="value + step", new="value - step", at=9, value=-10, why="callee mutated.stepped code"
    ),
    "callee at depth 1": Edit(
        file="mutated_near.py", old="+ 3", new="+ 4", at=10, value=6, why="callee mutated_near.near code"
    ),
    "callee at depth 2": Edit(
        file="mutated_middle.py", old="* 2", new="* 3", at=10, value=6, why="callee mutated_middle.middle code"
    ),
    "callee at depth 3": Edit(
        file="mutated_far.py", old="value + STEP", new="value - STEP", at=10, value=1, why="callee mutated_far.far code"
    ),
    "global of a callee at depth 3": Edit(
        file="mutated_far.py", old="STEP = 1", new="STEP = 2", at=10, value=7, why="global mutated_far.STEP 1 -> 2"
    ),
    "options of a callee": Edit(
        old="jit(device=True)", new="jit(device=True, forceinline=True)", at=9, value=10, why="global mutated.stepped"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The program's folder, and how to run it as a new process would."""

    folder: Path
    restart: Callable[[], None]

    def edit(self, edit: Edit) -> None:
        path = self.folder / edit.file
        text = path.read_text()
        assert text.count(edit.old) == 1
        path.write_text(text.replace(edit.old, edit.new))

    def load(self) -> Any:
        """Return the program's kernel, imported anew into a new session."""
        forget_program()
        importlib.invalidate_caches()
        self.restart()
        return importlib.import_module("mutated").kernel

    def launch(self) -> Outcome:
        """Launch it in this process."""
        kernel, out = self.load(), np.zeros(len(RESULT), np.int64)
        kernel[1, 1](np.zeros(1, np.int64), out)
        return Outcome(out=tuple(out.tolist()), compiles=kernel.stats.compiles, why=kernel.explain())

    def launch_in_a_process(self, run: Run = run_new_python, /, **environment: str) -> Outcome:
        """Launch it in another: run starts an interpreter, or forks a process."""
        environment = {**os.environ, "PYTHONPATH": python_path(self.folder), **environment}
        done = run("-W", "error", "-c", RUN, cwd=self.folder, env=environment)
        assert done.returncode == 0, done.stderr
        assert "CacheWarning" not in done.stderr
        report = json.loads(done.stdout)
        return Outcome(out=tuple(report["out"]), compiles=report["compiles"], why="")


def forget_program() -> None:
    """Let the next import read the files again."""
    for name in PROGRAM:
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.fixture(scope="module")
def compiled(device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which another process left the program's kernel."""
    folder = tmp_path_factory.mktemp("compiled")
    program = folder / "program"
    write(program)
    app = App(folder=program, restart=lambda: None)
    environment = {"GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": device_kind}
    assert app.launch_in_a_process(run_python, **environment) == Outcome(out=RESULT, compiles=1, why="")
    return folder / "cache"


@pytest.fixture
def app(
    target: str,
    compiled: Path,
    cache_dir: Path,
    tmp_path: Path,
    restart: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[App]:
    """The program, unchanged, with a cache that has its kernel."""
    shutil.copytree(compiled, cache_dir)
    folder = tmp_path / "program"
    write(folder)
    # Two edits within one tick of the clock would share their bytecode file.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(folder))
    yield App(folder=folder, restart=restart)
    forget_program()


def write(folder: Path) -> None:
    """Write the program as it is before any edit."""
    folder.mkdir()
    for name, text in PROGRAM.items():
        (folder / name).write_text(text)


def refusal(launch: Callable[[], object], monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> str:
    """Return what a launch says that would have to compile, in a process where that is forbidden."""
    monkeypatch.setenv(FORBIDDEN, "1")
    restart()
    with pytest.raises(CompileDisabledError) as caught:
        launch()
    monkeypatch.delenv(FORBIDDEN)
    restart()
    return str(caught.value)


# -- the source --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", MISSES.values(), ids=MISSES)
def test_an_edit_that_alters_the_code_is_one_compile_which_says_what_changed(app: App, edit: Edit) -> None:
    app.edit(edit)
    outcome = app.launch()
    expected = list(RESULT)
    expected[edit.at] = edit.value
    assert (outcome.out, outcome.compiles) == (tuple(expected), 1)
    assert edit.why in outcome.why


SAME = {
    "nothing": ("mutated.py", "", ""),
    "comment": ("mutated.py", "SCALE = 3\n", "SCALE = 3  # three\n"),
    "comment in the kernel": (
        "mutated.py",
        "        out[0] = 7\n",
        "        # The first.\n        out[0] = 7  # seven\n",
    ),
    "line numbers": ("mutated.py", "def make", "\n\n\n\ndef make"),
    "white space": ("mutated.py", "value + step", "value+step"),
    "docstring": ("mutated.py", "    return value + step", '    """Return a later value."""\n    return value + step'),
    "first docstring": (
        "mutated.py",
        "    def kernel(x, out):",
        '    def kernel(x, out):\n        """What it does."""',
    ),
    "annotation": ("mutated.py", "def stepped(value,", "def stepped(value: int,"),
    "global that is not used": ("mutated.py", "UNUSED = 1", "UNUSED = 2"),
    "module attribute that is not used": ("mutated_config.py", "UNUSED = 1", "UNUSED = 2"),
    "another function": ("mutated.py", "def make", "def other():\n    return SCALE\n\ndef make"),
    "order of definitions": (
        "mutated.py",
        'SCALE = 3\nPAIR = (2, 5)\nMODE = "long"',
        'MODE = "long"\nPAIR = (2, 5)\nSCALE = 3',
    ),
    "order of members": ("mutated.py", "    LOW = 1\n    HIGH = 9", "    HIGH = 9\n    LOW = 1"),
    "comment in a callee's file": ("mutated_far.py", "STEP = 1\n", "# one\n\nSTEP = 1\n"),
    "equal array": ("mutated.py", "np.array([1, 2, 4], np.int32)", "np.array([9, 1, 2, 4], np.int32)[1:].copy()"),
    "equal dtype": ("mutated.py", "np.dtype(np.uint8)", 'np.dtype("B")'),
}


@pytest.mark.parametrize(("file", "old", "new"), SAME.values(), ids=SAME)
def test_an_edit_that_leaves_the_code_alone_is_a_hit(
    app: App, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str
) -> None:
    path = app.folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    monkeypatch.setenv(FORBIDDEN, "1")
    outcome = app.launch()
    assert (outcome.out, outcome.compiles) == (RESULT, 0)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "PYTHONDONTWRITEBYTECODE": "1"},
        {"GRIDJIT_HOST_THREADS": "1", "GRIDJIT_NATIVE_LAUNCH": "0", "NUMBA_NUM_THREADS": "1", "LANG": "C", "HOME": "/"},
    ],
    ids=lambda environment: " ".join(environment) or "another process",
)
def test_another_process_is_a_hit(app: App, environment: dict[str, str]) -> None:
    assert app.launch_in_a_process(**{FORBIDDEN: "1"}, **environment) == Outcome(out=RESULT, compiles=0, why="")


def test_a_moved_program_with_other_file_times_is_a_hit(app: App, tmp_path: Path) -> None:
    moved = replace(app, folder=app.folder.rename(tmp_path / "moved"))
    for path in moved.folder.iterdir():
        os.utime(path, (0, 0))
    assert moved.launch_in_a_process(run_python, **{FORBIDDEN: "1"}) == Outcome(out=RESULT, compiles=0, why="")


def test_line_numbers_count_where_they_are_put_into_the_code(app: App) -> None:
    path = app.folder / "mutated.py"
    path.write_text(path.read_text().replace("@gridjit.jit\n", "@gridjit.jit(lineinfo=True)\n"))
    assert app.launch().compiles == 1
    assert app.launch().compiles == 0
    path.write_text(path.read_text().replace("def make", "\ndef make"))
    outcome = app.launch()
    assert outcome.compiles == 1
    assert "lines" in outcome.why


# -- options -----------------------------------------------------------------------------------------------------------

OPTIONS: dict[str, Any] = {
    "debug": True,
    "opt": False,
    "fastmath": True,
    "lineinfo": True,
    "max_registers": 32,
    "launch_bounds": 128,
    "lto": True,
    "inline": "always",
    "forceinline": True,
    "shared_memory_carveout": 50,
    "specialize": "blockdim",
    "tiered": True,
    "link": "linked.ptx",
}


def test_the_table_has_every_option_of_a_kernel() -> None:
    assert {*OPTIONS, "device", "checks", "codegen"} == {field.name for field in fields(Options)}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_a_miss_and_its_default_a_hit(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    function = app.load().py_func
    (tmp_path / "linked.ptx").write_text("")
    monkeypatch.chdir(tmp_path)
    changed = gridjit.Kernel(function, options_of({option: OPTIONS[option]}))  # jit takes some only with others
    assert f"option.{option} " in refusal(lambda: run(changed), monkeypatch, app.restart)
    default: Any = next(field.default for field in fields(Options) if field.name == option)
    monkeypatch.setenv(FORBIDDEN, "1")
    app.restart()
    assert run(gridjit.jit(**{option: default})(function)) == RESULT


def run(kernel: gridjit.Kernel) -> tuple[int, ...]:
    """Launch the program's kernel, and return what it wrote."""
    out = np.zeros(len(RESULT), np.int64)
    kernel[1, 1](np.zeros(1, np.int64), out)
    return tuple(out.tolist())


def stores(x, out):
    out[0] = x.size


@pytest.mark.cuda_toolkit
def test_the_content_of_a_linked_file_and_its_headers_counts_not_its_time(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], tmp_path: Path
) -> None:
    linked, header = tmp_path / "linked.cu", tmp_path / "header.h"
    monkeypatch.chdir(tmp_path)

    def compiles() -> int:
        restart()
        kernel = gridjit.jit(link="linked.cu")(stores)
        kernel.compile("void(int64[::1], int64[::1])", target="sm_80")
        return kernel.stats.compiles

    header.write_text("#define ONE 1\n")
    linked.write_text('#include "header.h"\nextern "C" __device__ int one() { return ONE; }\n')
    assert [compiles(), compiles()] == [1, 0]
    os.utime(linked, (0, 0))
    assert compiles() == 0
    header.write_text("#define ONE 2\n")
    assert [compiles(), compiles()] == [1, 0]
    linked.write_text(linked.read_text().replace("ONE;", "ONE + 1;"))
    assert [compiles(), compiles()] == [1, 0]


@pytest.mark.cuda_toolkit
def test_another_architecture_is_a_compile_of_its_own(restart: Callable[[], None]) -> None:
    def compiles(arch: str) -> int:
        restart()
        kernel = gridjit.jit(stores)
        assert kernel.compile("void(int64[::1], int64[::1])", target=arch).target == Target(kind="ptx", arch=arch)
        return kernel.stats.compiles

    assert [compiles(arch) for arch in ("sm_80", "sm_90", "sm_80", "sm_90")] == [1, 1, 0, 0]


@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("distribution", ["nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc", "cuda-bindings"])
def test_another_version_of_the_cuda_toolkit_is_a_miss(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], tmp_path: Path, distribution: str
) -> None:
    kernel = gridjit.jit(stores)
    kernel.compile("void(int64[::1], int64[::1])", target="sm_80")
    (tmp_path / "site" / f"{distribution.replace('-', '_')}-99.9.dist-info").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "site"))
        toolchain_module.toolchain.cache_clear()
        again = gridjit.jit(stores)
        told = refusal(lambda: again.compile("void(int64[::1], int64[::1])", target="sm_80"), patch, restart)
        assert " -> 99.9" in told
    toolchain_module.toolchain.cache_clear()


def test_a_mark_is_a_miss(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = app.load()
    kernel.mark_launch_config_sensitive("sharedmem")
    assert "marked sensitive to" in refusal(lambda: run(kernel), monkeypatch, app.restart)


# -- environment, toolchain and target ---------------------------------------------------------------------------------

VARIABLES = {
    "NUMBA_OPT": "0",
    "NUMBA_BOUNDSCHECK": "1",
    "NUMBA_CUDA_DEBUGINFO": "1",
    "NUMBA_DEBUG_NRT": "1",
    "NUMBA_ALWAYS_WARN_UNINIT_VAR": "1",
    "NUMBA_DEBUG_JIT": "1",
    "NUMBA_ENABLE_CUDASIM": "1",
    "NUMBA_FORCE_CUDA_CC": "8.0",
    "NUMBA_CUDA_INCLUDE_PATH": "/include",
    "NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS": "/include",
    "NUMBA_CUDA_ENABLE_NRT": "1",
    "NUMBA_CUDA_NRT_STATS": "1",
}
# Launches a new kernel under each variable, and prints what it was told; numba is never imported.
RUN_UNDER_EACH = """
import json, os, sys
import gridjit, mutated
import numpy as np

def launch(kernel):
    try:
        kernel[1, 1](np.zeros(1, np.int64), np.zeros(11, np.int64))
    except gridjit.GridjitError as error:
        return str(error)
    return "hit"

told = {}
for name, value in json.loads(sys.argv[1]).items():
    # Made before: some are what an option is when it is not given.
    kernel, other = (gridjit.jit(mutated.kernel.py_func) for _ in range(2))
    os.environ[name] = value
    told[name] = launch(kernel)
    del os.environ[name]
    assert launch(other) == "hit"
assert "numba" not in sys.modules
print(json.dumps(told))
"""


def test_each_variable_that_alters_code_is_a_miss_which_names_it(app: App) -> None:
    assert VARIABLES.keys() == {setting.variable for setting in SETTINGS}
    done = subprocess.run(
        [sys.executable, "-c", RUN_UNDER_EACH, json.dumps(VARIABLES)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=app.folder,
        env={**os.environ, FORBIDDEN: "1"},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [name for name in VARIABLES if f"not in the cache ({name} " not in told[name]] == []


def test_code_made_under_a_variable_is_found_under_it_only(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    for compiles in (1, 0):
        outcome = app.launch_in_a_process(NUMBA_BOUNDSCHECK="1")
        assert (outcome.out, outcome.compiles) == (RESULT, compiles)
    assert app.launch_in_a_process(**{FORBIDDEN: "1"}).compiles == 0


@pytest.mark.parametrize("distribution", ["gridjit", "numba-cuda", "numba", "llvmlite", "numpy"])
def test_another_version_of_a_tool_is_a_miss(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, distribution: str
) -> None:
    kernel = app.load()
    (tmp_path / "site" / f"{distribution.replace('-', '_')}-99.9.dist-info").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "site"))
        toolchain_module.toolchain.cache_clear()
        assert f"{distribution} " in (told := refusal(lambda: run(kernel), patch, app.restart))
        assert " -> 99.9" in told
    toolchain_module.toolchain.cache_clear()
    monkeypatch.setenv(FORBIDDEN, "1")
    app.restart()
    assert run(kernel) == RESULT


@pytest.mark.parametrize(
    ("place", "name", "value", "told"),
    [
        (importlib.util, "MAGIC_NUMBER", b"\1\2\3\4", "python "),
        (toolchain_module, "ARTIFACT_SCHEMA", 999, "artifact schema "),
    ],
    ids=["Python", "artifact schema"],
)
def test_another_python_or_artifact_schema_is_a_miss(
    app: App, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, value: object, told: str
) -> None:
    kernel = app.load()
    with monkeypatch.context() as patch:
        patch.setattr(place, name, value)
        toolchain_module.toolchain.cache_clear()
        assert told in refusal(lambda: run(kernel), patch, app.restart)
    toolchain_module.toolchain.cache_clear()


def other_processor(target: Target) -> Target:
    """A processor of another name."""
    return replace(target, arch="another")


def other_features(target: Target) -> Target:
    """A processor with one feature less."""
    return replace(target, features=target.features.replace("+", "-", 1))


@pytest.mark.parametrize(("change", "told"), [(other_processor, "target"), (other_features, "target")])
def test_another_processor_is_a_miss(
    target: str, app: App, monkeypatch: pytest.MonkeyPatch, change: Callable[[Target], Target], told: str
) -> None:
    if target == "cuda":
        pytest.skip("test_another_architecture_is_a_compile_of_its_own has it")
    from gridjit.runtime.devices.host import device

    kernel = app.load()
    other = change(device.host_target())  # type: ignore[attr-defined]
    monkeypatch.setattr(device, "host_target", lambda: other)
    assert told in refusal(lambda: run(kernel), monkeypatch, app.restart)
