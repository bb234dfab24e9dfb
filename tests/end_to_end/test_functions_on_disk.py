"""What one process made of device functions serves others, through the cache; what is there may be anything."""

from __future__ import annotations

import functools
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.entry import open_entry, seal
from gridjit.compiler.frontend.kept.stored_record import from_bytes, to_bytes
from tests.programs import run_python

PROGRAM = """
import json, sys
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(device=True)
def first(value):
    return value * 3 + 1

@gridjit.jit(device=True)
def second(value):
    return first(value) ** 2

@gridjit.jit(target="host")
def kernel(x):
    i = cuda.grid(1)
    x[i] = second(x[i]) + first(2)

@gridjit.jit(target="host")
def other(x):
    i = cuda.grid(1)
    x[i] = -second(x[i])

if __name__ == "__main__":
    x = np.ones(1)
    found = globals()[sys.argv[1]]
    found[1, 1](x)
    (one,) = found.specializations
    print(json.dumps([x[0], one.origin, one.reused, found.explain(), found.stats.compiles]))
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[Any]]:
    """Return what runs a kernel of the program, or of another text, in a process of its own."""

    def run(kernel: str = "kernel", text: str = PROGRAM, runs: Callable[..., Any] = run_python) -> list[Any]:
        (tmp_path / "program.py").write_text(text)
        done = runs(tmp_path / "program.py", kernel)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        told: list[Any] = json.loads(done.stdout)
        return told

    return run


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which a process left the kernel."""
    folder = tmp_path_factory.mktemp("begun")
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(folder / "cache")}
    done = run_python("program.py", "kernel", cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return folder / "cache"


@pytest.fixture
def left(begun: Path, cache_dir: Path) -> Path:
    """The test's cache, with what that process left."""
    return Path(shutil.copytree(begun, cache_dir))


def functions(told: list[Any]) -> list[str]:
    return sorted(name.partition("(")[0].rpartition(".")[2] for name in told[2] if name.endswith(" from disk"))


def unit_files(cache_dir: Path) -> list[Path]:
    return sorted(cache_dir.glob("??/*.unit"))


def test_an_edited_function_is_compiled_and_the_others_come_from_disk(run: Callable[..., list[Any]]) -> None:
    assert run()[:3] == [23.0, "compiled", []]
    told = run(text=PROGRAM.replace("value * 3 + 1", "value * 3 + 2"))
    assert (told[0], told[1], functions(told)) == (33.0, "compiled", ["second"])
    assert "reused: __main__.second(float64) from disk" in told[3]


@pytest.mark.usefixtures("left")
def test_another_kernel_in_another_process_takes_all_functions_from_disk(run: Callable[..., list[Any]]) -> None:
    told = run("other")
    assert (told[0], told[1], functions(told)) == (-16.0, "compiled", ["first", "second"])


def test_a_process_that_finds_its_kernel_reads_no_function(run: Callable[..., list[Any]], left: Path) -> None:
    for path in unit_files(left):
        path.unlink()
    assert run()[:2] == [23.0, "disk"]


# The program imported numba-cuda's module of halves, whose functions refuse calls by plain Python once it is used.
WITH_HALVES = PROGRAM.replace("import json", "import gridjit, numba.cuda.fp16\nimport json").replace(
    'if __name__ == "__main__":',
    """
@gridjit.jit(device=True)
def called(value):
    return value + 1

@gridjit.jit(target="host", cache=False)
def begin(x):
    x[0] = called(x[0])

if __name__ == "__main__":
    begin[1, 1](np.ones(1))
    cuda.fp16""",
)


def test_numba_cudas_halves_that_a_program_imported_leave_the_functions_of_other_processes(
    run: Callable[..., list[Any]],
) -> None:
    first = functools.partial(run_python, compiles_first=True)  # others begin with a module that was used
    assert run(text=WITH_HALVES, runs=first)[:3] == [23.0, "compiled", []]
    told = run(text=WITH_HALVES.replace("value * 3 + 1", "value * 3 + 2"), runs=first)
    assert (told[0], told[1], functions(told)) == (33.0, "compiled", ["second"])


def test_two_processes_at_once_leave_functions_that_a_third_can_use(
    run: Callable[..., list[Any]], cache_dir: Path
) -> None:
    barrier, found = threading.Barrier(2), list[Any]()

    def one(kernel: str) -> None:
        barrier.wait()
        found.append(run(kernel)[0])

    threads = [threading.Thread(target=one, args=(kernel,)) for kernel in ("kernel", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [-16.0, 23.0]
    assert DiskStore(cache_dir).verify().bad == ()
    told = run(text=PROGRAM.replace("+ first(2)", "- first(2)"))
    assert (told[0], len(functions(told))) == (9.0, 3)


def damaged(data: bytes, place: int) -> bytes:
    """Return an entry with its bytes changed: cut off, emptied, or one of them another."""
    if place < 2:
        return data[: len(data) * place // 2]
    return bytes([*data[: (at := len(data) * (place - 1) // 8)], data[at] ^ 1, *data[at + 1 :]])


@pytest.mark.some(3)
@pytest.mark.parametrize("place", range(8))
def test_a_damaged_function_is_compiled(run: Callable[..., list[Any]], left: Path, place: int) -> None:
    files = unit_files(left)
    assert files
    for path in files:
        path.write_bytes(damaged(path.read_bytes(), place))
    assert (told := run("other"))[:2] == [-16.0, "compiled"]
    assert functions(told) == []


def altered(payload: bytes, what: str) -> bytes:
    """Return an entry of units that somebody changed who knows how they are written."""
    (unit, *_) = from_bytes(payload)
    text, events = unit.text, unit.events
    match what:
        case "other code":
            text = text.replace("define", "defined")
        case "unknown variables":
            text = text.replace("ret i32 0", 'store double %"nowhere", double* %".ret"\n  ret i32 0')
        case "another function":
            text = text.replace(unit.descriptor.symbol, "_Zelse")
        case "unknown questions":
            events = (("run", "os", "system"), *events)
        case "questions of another shape":
            events = tuple((*event, 1) for event in events)
        case "exceptions of anything":
            events = (*events, ("raised", "os", "system", [["str", "exit"]], ""))
        case "nesting":
            return payload[: len(unit.text)] + b"[" * 5000 + payload[-16:]
    return to_bytes((type(unit)(descriptor=unit.descriptor, events=events, text=text),))


ALTERED = (
    *("other code", "unknown variables", "another function", "unknown questions", "questions of another shape"),
    *("exceptions of anything", "nesting"),
)


@pytest.mark.some(3)
@pytest.mark.parametrize("what", ALTERED)
def test_what_somebody_wrote_in_place_of_a_function_is_a_compile(
    run: Callable[..., list[Any]], left: Path, what: str
) -> None:
    for path in unit_files(left):
        payload = open_entry(path.stem, path.read_bytes())
        assert payload is not None
        path.write_bytes(seal(path.stem, altered(payload, what)))
    told = run("other")
    assert (told[0], told[1], told[4]) == (-16.0, "compiled", 1)
    assert functions(told) == []
