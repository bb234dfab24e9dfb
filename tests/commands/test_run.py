"""`gridjit run`: programs behave as with python, run on gridjit, and are told of in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gridjit.commands import main
from gridjit.commands.arguments import program_at
from tests.programs import python_path, run_python

SEEN = """
import atexit, multiprocessing, os, signal, sys
main = sys.modules["__main__"]
print(sys.argv, __name__, vars(main).get("__file__"), type(main.__spec__).__name__, vars(main) is globals())
print(sys.path, sys.customized, "sitecustomize" in sys.modules)
atexit.register(print, "registered first")
atexit.register(print, "registered last")
end = sys.argv[-1]
if end == "raise":
    int("no number")
if end == "interrupt":
    os.kill(os.getpid(), signal.SIGINT)
if end in ("3", "words"):
    sys.exit(3 if end == "3" else "what went wrong")
print(sys.stdin.read())
"""
ENDS = ("", "3", "words", "raise", "interrupt")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the same program as a script, a package, a folder and an archive, and a sitecustomize."""
    for name in ("script.py", "package/__init__.py", "package/__main__.py", "folder/__main__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name.endswith("__init__.py") else SEEN)
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        archive.writestr("__main__.py", SEEN)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text("import sys\nsys.customized = __file__")
    return tmp_path


def ended(folder: Path, *words: str, given: str = "text", **variables: str) -> tuple[int, str, str]:
    """Return a command's status, and what it said on both streams."""
    variables = {"PYTHONPATH": str(folder / "start"), "GRIDJIT_TARGET": "host", **variables}
    command, environ = [sys.executable, *words], {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environ, input=given, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def forked(folder: Path, *words: str, **variables: str) -> tuple[int, str, str]:
    """Return the same of a process that has imported numba before."""
    environ = {**os.environ, "PYTHONPATH": python_path(folder / "start"), "GRIDJIT_TARGET": "host", **variables}
    done = run_python(*words, cwd=folder, env=environ)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.some(7)
@pytest.mark.parametrize(
    "words",
    [
        *(("script.py", "-m", "--debug", end) for end in ENDS),
        ("folder", "raise"),
        ("archive", "3"),
        ("-m", "package", "-c", "x"),
        ("-mpackage", "raise"),
        ("-c", SEEN, "3"),
        ("-", "raise"),
    ],
    ids=lambda words: " ".join(words).replace(SEEN, "code"),
)
def test_a_program_behaves_as_with_python(programs: Path, words: tuple[str, ...]) -> None:
    given = SEEN if words[0] == "-" else "text"
    plain = ended(programs, *words, given=given)
    status, said, errors = ended(programs, "-m", "gridjit", "run", *words, given=given)
    assert str(programs / "start" / "sitecustomize.py") in plain[1]
    assert (status, said, errors.splitlines()[:-1]) == (plain[0], plain[1], plain[2].splitlines())
    assert errors.endswith("gridjit run: no kernel went through gridjit (0 compiled, 0 found), 0 did not\n")


CRASHING = "import ctypes\ndef wild():\n    ctypes.string_at(0)\nwild()\n"


def test_a_program_that_a_segmentation_fault_ends_shows_its_lines_and_ends_by_that_signal(tmp_path: Path) -> None:
    (tmp_path / "wild.py").write_text(CRASHING)
    status, _, errors = ended(tmp_path, "-m", "gridjit", "run", "wild.py", PYTHONPATH=python_path(tmp_path))
    assert status == -signal.SIGSEGV
    assert "Segmentation fault" in errors
    assert [line for line in errors.splitlines() if "wild.py" in line] == [
        f'  File "{tmp_path}/wild.py", line 3 in wild',
        f'  File "{tmp_path}/wild.py", line 4 in <module>',
    ]


KERNELS = """
import multiprocessing, sys
import numpy as np
import forgetful
from numba import cuda

@cuda.jit
def used(x):
    i = cuda.grid(1)
    x[i] = forgetful.added(x[i])

@cuda.jit
def wrong(x):
    x.nothing()

@cuda.jit
def unused(x):
    pass

def work(length):
    x = np.zeros(length, np.float32)
    used[1, length](x)
    return int(x.sum())

if __name__ == "__main__":
    print(work(8))
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [4]))
    try:
        wrong[1, 1](np.zeros(1))
    except Exception as error:
        print(type(error).__name__)
    forgetful.missed[1, 1](np.zeros(1))
"""
FORGETFUL = """
from numba.cuda.decorators import jit
from numba.cuda.extending import overload

def added(x):
    raise NotImplementedError

@overload(added)
def _added(x):
    return lambda x: x + 1

@jit
def missed(x):
    x[0] = 1
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_the_end_says_which_kernels_went_through_gridjit_and_why_others_did_not(tmp_path: Path, how: str) -> None:
    (tmp_path / "program.py").write_text(KERNELS)
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    status, said, errors = ended(tmp_path, "-m", "gridjit", "run", "--json", "told", "program.py", how)
    assert (status, said) == (1, "8\n[4]\nCompileError\n")
    *traceback, error, line = errors.splitlines()
    places = [text for text in traceback if text.startswith("  File")]
    assert places[0] == f'  File "{tmp_path}/program.py", line 33, in <module>'
    assert len(places) == 1 or (len(places) == 2 and sys.version_info < (3, 11))  # where a frame of gridjit's stays
    assert error.startswith(f"gridjit.DeviceError: kernel forgetful.missed ({tmp_path}/forgetful.py:12) was made by ")
    told = json.loads((tmp_path / "told").read_text())
    # A child that is spawned has code of its own, as its module has another name.
    assert (told["compiled"], told["found"]) == (2 if how == "spawn" else 1, 0)
    assert (told["kernels"], told["unused"], told["findings"]) == (["__main__.used:7"], ["__main__.unused:16"], [])
    reasons = {other["kernel"]: other["why"] for other in told["others"]}
    assert set(reasons) == {"__main__.wrong:12", "forgetful.missed:12"}
    assert reasons["__main__.wrong:12"].startswith("CompileError: ") and "x.nothing" not in line.partition("(")[0]
    assert "numba.cuda.decorators.jit" in reasons["forgetful.missed:12"]
    assert line.startswith(f"gridjit run: 1 kernel went through gridjit ({told['compiled']} compiled, 0 found), 2 did")
    assert line.endswith(", 1 never needed code")


def test_names_stay_gridjits_when_the_program_reloads_numba_cuda(tmp_path: Path) -> None:
    lines = (
        "import importlib, gridjit, numba.cuda",
        "importlib.reload(numba.cuda)",
        "print(numba.cuda.jit is gridjit.jit)",
    )
    (tmp_path / "program.py").write_text("\n".join(lines))
    assert ended(tmp_path, "-m", "gridjit", "run", "program.py")[:2] == (0, "True\n")


def test_kernels_have_the_same_code_as_without_the_command(tmp_path: Path) -> None:
    installed = "import gridjit\ngridjit.install()\n" + KERNELS
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    (tmp_path / "program.py").write_text(installed.partition("if __name__")[0] + "print(work(8), used.stats)\n")
    errors = forked(tmp_path, "-m", "gridjit", "run", "program.py")[2]
    assert errors.startswith("gridjit run: 1 kernel went through gridjit (1 compiled, 0 found), 1 did not (f")
    assert "compiles=0, disk_hits=1" in forked(tmp_path, "program.py")[1]
    errors = forked(tmp_path, "-m", "gridjit", "run", "program.py")[2]
    assert errors.startswith("gridjit run: 1 kernel went through gridjit (0 compiled, 1 found), 1 did not (f")


MISTAKES = """
import numpy as np
import {imported}

@cuda.jit(lineinfo=True)
def outside(x):
    x[cuda.grid(1) + 1] = 1

@cuda.jit
def racing(x):
    x[0] = cuda.threadIdx.x

@cuda.jit
def unwritten(x, y):
    x[0] = y[0]

fresh = cuda.device_array(4, np.float64)
x = np.zeros(4)
for kernel, length, *args in [(outside, 4, x), (racing, 4, x), (racing, 2, x), (unwritten, 1, x, fresh)]:
    try:
        kernel[1, length](*args)
    except Exception as error:
        print(type(error).__name__)
"""
FOUND = ["IndexError: In function 'outside', file {0}, line 7,", "RaceError: __main__.racing: ", "UninitializedError: "]


@pytest.mark.parametrize("how", ["gridjit run --debug", "GRIDJIT_DEBUG=1"])
def test_what_debugging_finds_is_listed_at_the_end_with_status_1(tmp_path: Path, how: str) -> None:
    mine = "numba.cuda as cuda" if how.startswith("gridjit") else "gridjit.cuda as cuda"
    (tmp_path / "program.py").write_text(MISTAKES.format(imported=mine))
    words = ("-m", *how.split()) if how.startswith("gridjit") else ()
    run = forked if words else ended  # a setting changes the status of a real process alone
    status, said, errors = run(tmp_path, *words, "program.py", GRIDJIT_DEBUG="" if words else "1")
    assert (status, said.split()) == (1, ["IndexError", "RaceError", "RaceError", "UninitializedError"])
    found = [line for line in errors.splitlines() if line.startswith("gridjit: ")]
    for line, beginning in zip(found, FOUND, strict=True):
        assert line.startswith(f"gridjit: {beginning.format('program.py')}"), line
    assert "(program.py:11, in racing)" in found[1]


def test_a_program_without_mistakes_keeps_its_status_when_it_is_debugged(tmp_path: Path) -> None:
    words = (
        "-m",
        "gridjit",
        "run",
        "--debug",
        "-c",
        "import gridjit.cuda, sys; gridjit.cuda.device_array(4); sys.exit(3)",
    )
    assert ended(tmp_path, *words)[0] == 3


@pytest.mark.slow
def test_processes_that_gridjit_starts_to_compile_are_not_counted(tmp_path: Path) -> None:
    kernels = "import gridjit\n\n@gridjit.jit('void(float32[::1])', background=True)\ndef kernel(x):\n    x[0] = 1\n"
    (tmp_path / "mine.py").write_text(kernels)
    (tmp_path / "program.py").write_text("import mine, numpy\nmine.kernel[1, 1](numpy.zeros(1, numpy.float32))\n")
    errors = ended(tmp_path, "-m", "gridjit", "run", "program.py")[2]
    assert errors.endswith("gridjit run: 1 kernel went through gridjit (0 compiled, 1 found), 0 did not\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("run", 2, "run: give a program: script.py, -m MODULE or -c CODE"),
        ("run --debug -m", 2, "run: give a program: script.py, -m MODULE or -c CODE"),
        ("run nosuch.py", 2, "run nosuch.py: No such file or directory"),
        ("run empty", 1, "run empty: the folder has no __main__.py"),
        ("run --debgu x.py", 2, "gridjit run has no option --debgu; did you mean --debug?"),
        ("run -u x.py", 2, "gridjit run has no option -u; `gridjit run --help` lists its options"),
    ],
)
def test_what_cannot_be_run_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    status: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert (main(words.split()), capsys.readouterr().err) == (status, f"gridjit: {said}\n")


@pytest.mark.parametrize(
    ("words", "own"),
    [
        ("run x --debug", "x --debug"),
        ("run --debug --target host x --json", "x --json"),
        ("run --targ host --json=f -m x", "-m x"),
        ("run --debug -- --odd.py", "-- --odd.py"),
        ("run - -x", "- -x"),
        ("run --target", ""),
        ("warm -m x", ""),
    ],
)
def test_words_after_the_program_are_the_programs(words: str, own: str) -> None:
    assert words.split()[program_at(words.split()) :] == own.split()
