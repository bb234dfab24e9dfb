"""A job that nobody has compiled is compiled once, whoever meets it: threads, processes, and those left by the dead.

Processes are staged: the program says when it is about to launch and when it compiles, and waits there to be told.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import gridjit
from gridjit.cache.disk import DiskStore
from gridjit.cache.lock import LOCK_FOLDER
from tests.programs import PipedProgram

pytestmark = pytest.mark.usefixtures("target")

# Far below the time for which a lock is waited for, and far above what a compile takes.
SOON_S = 60.0

# Launches when it is told to, and says what it compiled.
MEETS = """
import json, sys
import gridjit
import numpy as np
from gridjit import cuda

@gridjit.jit
def doubles(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2

x = cuda.to_device(np.arange(64))
print("ready", flush=True)
sys.stdin.readline()
doubles[2, 32](x)
right = bool((x.copy_to_host() == 2 * np.arange(64)).all())
print(json.dumps({"right": right, "compiles": doubles.stats.compiles}), flush=True)
"""
# The same; and while it compiles, it says so and waits to be told to go on.
STOPS = (
    """
import sys
from gridjit.compiler.frontend import lower

def stopping(*args, **kwargs):
    print("compiling", flush=True)
    sys.stdin.readline()
    return run_pipeline(*args, **kwargs)

run_pipeline, lower._run_pipeline = lower._run_pipeline, stopping
"""
    + MEETS
)

Process = subprocess.Popen[str] | PipedProgram


def start_new(*command: object) -> subprocess.Popen[str]:
    """Start an interpreter."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, *map(str, command)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """What starts a program; processes still there at the end are killed. new: in an interpreter started for it."""
    with contextlib.ExitStack() as started:

        def start(program: str, *, new: bool = False) -> Process:
            # One file and so one module for all.
            path = tmp_path / "program.py"
            if not path.exists() or path.read_text() != program:  # another may be reading it just now
                path.write_text(program)
            process = (start_new if new else PipedProgram)("-W", "error", path)
            started.enter_context(process)
            started.callback(process.kill)
            return process

        yield start


def expect(process: Process, word: str) -> None:
    """Wait until a process says a word."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != f"{word}\n":
        pytest.fail(f"{line!r} instead of {word!r}: {process.communicate()[1]}")


def tell(process: Process) -> None:
    """Let a process go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def compiles(process: Process) -> int:
    """Return how often a process compiled, which must have been right and said nothing."""
    assert process.stdout is not None
    line = process.stdout.readline()
    _, errors = process.communicate(timeout=SOON_S)
    assert (process.returncode, errors) == (0, "")
    report = json.loads(line)
    assert report["right"]
    return int(report["compiles"])


def locks(cache: Path) -> list[str]:
    """The names of the lock files that are there."""
    return sorted(path.name for path in (cache / LOCK_FOLDER).iterdir())


def adds_one(x):
    x[0] += 1


def test_threads_with_kernels_of_their_own_compile_a_cold_job_once() -> None:
    kernels = [gridjit.jit(adds_one) for _ in range(8)]
    xs = [np.zeros(1) for _ in kernels]
    start = threading.Barrier(len(kernels))

    def first_launch(kernel: gridjit.Kernel, x: np.ndarray) -> None:
        start.wait()
        kernel[1, 1](x)

    threads = [threading.Thread(target=first_launch, args=pair) for pair in zip(kernels, xs, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SOON_S)
    assert sorted(kernel.stats.compiles for kernel in kernels) == [0] * 7 + [1]
    assert sum(kernel.stats.disk_hits for kernel in kernels) == 7
    assert [x[0] for x in xs] == [1] * 8


def test_processes_compile_a_cold_job_once_and_leave_no_lock(start: Callable[..., Process], cache_dir: Path) -> None:
    processes = [start(MEETS) for _ in range(8)]
    for process in processes:
        expect(process, "ready")
    for process in processes:
        tell(process)
    assert sorted(map(compiles, processes)) == [0] * 7 + [1]
    assert locks(cache_dir) == []
    assert DiskStore(cache_dir).verify(remove=False).bad == ()


def test_who_comes_while_another_compiles_waits_for_it_and_compiles_nothing(
    start: Callable[..., Process], cache_dir: Path
) -> None:
    first, second = start(STOPS), start(STOPS)
    expect(first, "ready")
    expect(second, "ready")
    tell(first)
    expect(first, "compiling")
    tell(second)
    assert len(locks(cache_dir)) == 1
    tell(first)
    assert [compiles(first), compiles(second)] == [1, 0]


def test_the_lock_of_a_process_killed_while_it_compiles_is_free_at_once(
    start: Callable[..., Process], cache_dir: Path
) -> None:
    killed, waiting, late = start(STOPS), start(STOPS), start(STOPS)
    for process in (killed, waiting, late):
        expect(process, "ready")
    tell(killed)
    expect(killed, "compiling")
    tell(waiting)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    died = time.monotonic()
    expect(waiting, "compiling")
    assert time.monotonic() - died < SOON_S
    tell(waiting)
    tell(late)
    assert [compiles(waiting), compiles(late)] == [1, 0]
    assert locks(cache_dir) == []


def test_a_lock_that_nobody_waited_for_when_its_holder_was_killed_is_taken_over(
    start: Callable[..., Process], cache_dir: Path
) -> None:
    killed = start(STOPS)
    expect(killed, "ready")
    tell(killed)
    expect(killed, "compiling")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len(locks(cache_dir)) == 1
    later = start(MEETS, new=True)
    expect(later, "ready")
    tell(later)
    assert compiles(later) == 1


def test_where_locks_cannot_be_had_all_compile_and_all_are_right(
    start: Callable[..., Process], cache_dir: Path
) -> None:
    cache_dir.mkdir(mode=0o700)
    (cache_dir / LOCK_FOLDER).write_text("a file where the folder should be")
    processes = [start(STOPS) for _ in range(2)]
    for process in processes:
        expect(process, "ready")
        tell(process)
    for process in processes:
        expect(process, "compiling")
    for process in processes:
        tell(process)
    assert [compiles(process) for process in processes] == [1, 1]
    assert DiskStore(cache_dir).verify(remove=False).bad == ()
    late = start(STOPS)
    expect(late, "ready")
    tell(late)
    assert compiles(late) == 0
