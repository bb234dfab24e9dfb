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
from collections.abc import Callable, Iterator, Sequence
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
# The same; and while it compiles, it says so and waits to be told to go on: once, as what fails is tried again.
STOPS = (
    """
import sys
from gridjit.compiler.frontend import lower

stops = []

def stopping(*args, **kwargs):
    if not stops:
        stops.append(print("compiling", flush=True))
        sys.stdin.readline()
    return run_pipeline(*args, **kwargs)

run_pipeline, lower._run_pipeline = lower._run_pipeline, stopping
"""
    + MEETS
)
# And it says when it begins to wait for the lock.
WAITS = (
    """
import time
from types import SimpleNamespace
from gridjit.cache import lock

said = []

def sleep(seconds):
    if not said:
        said.append(print("waiting", flush=True))
    time.sleep(seconds)

lock.time = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
"""
    + STOPS
)
# What a rewrite does that matches nothing: its own object cannot be seen, which the key says; or it asks for a line,
# which is seen when it does so; or it fails.
REWRITE = """
from numba.cuda.core.rewrites import Rewrite, register_rewrite

class Unseen:
    line = None

unseen = Unseen()

@register_rewrite("before-inference")
class Reads(Rewrite):
    def match(self, func_ir, block, typemap, calltypes):
        {does}
        return False
"""
KNOWN, FOUND_OUT = "unseen.line", "block.body[0].loc.col"
# A cache that keeps nothing, as on a disk that is full.
KEEPS_NOTHING = """
from gridjit.cache.disk import DiskStore

DiskStore.put_all = lambda self, entries, suffix: None
"""
# One that keeps the code, but nothing that leads to it, as if the disk was full by then.
KEEPS_CODE = """
from gridjit.cache.disk import DiskStore

put_all = DiskStore.put_all
DiskStore.put_all = lambda self, entries, suffix: suffix in (".o", ".cubin") and put_all(self, entries, suffix=suffix)
"""

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
    if line == "compiling\n":
        line = process.stdout.readline()
    _, errors = process.communicate(timeout=SOON_S)
    assert (process.returncode, errors) == (0, "")
    report = json.loads(line)
    assert report["right"]
    return int(report["compiles"])


def together(processes: Sequence[Process], word: str) -> None:
    """Let processes go on until each says a word, at which it stays."""
    for process in processes:
        tell(process)
    for process in processes:
        expect(process, word)


def meet(start: Callable[..., Process], program: str) -> list[Process]:
    """Start four processes: the first compiles, and when it has, all others compile while none of them has."""
    first, *others = (start(program) for _ in range(4))
    for process in (first, *others):
        expect(process, "ready")
    together([first], "compiling")
    together(others, "waiting")
    began = time.monotonic()
    tell(first)
    for process in others:
        expect(process, "compiling")
    assert time.monotonic() - began < SOON_S
    for process in others:
        tell(process)
    return [first, *others]


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


def test_nobody_waits_for_a_kernel_that_is_known_to_be_private(start: Callable[..., Process], cache_dir: Path) -> None:
    processes = [start(REWRITE.format(does=KNOWN) + WAITS) for _ in range(3)]
    for process in processes:
        expect(process, "ready")
    together(processes, "compiling")
    assert not (cache_dir / LOCK_FOLDER).exists()
    for process in processes:
        tell(process)
    assert [compiles(process) for process in processes] == [1, 1, 1]


@pytest.mark.parametrize(
    "program",
    [REWRITE.format(does=FOUND_OUT), KEEPS_NOTHING, KEEPS_CODE],
    ids=["private", "not kept", "not to be found"],
)
def test_all_who_waited_for_a_compile_of_which_nothing_is_stored_compile_at_once(
    start: Callable[..., Process], cache_dir: Path, program: str
) -> None:
    assert [compiles(process) for process in meet(start, program + WAITS)] == [1, 1, 1, 1]
    assert locks(cache_dir) == []


def test_all_who_waited_for_a_compile_that_fails_compile_at_once(start: Callable[..., Process]) -> None:
    for process in meet(start, WAITS.replace("x[i] *= 2", "x[i] *= nothing")):
        assert "does not compile" in process.communicate(timeout=SOON_S)[1]


def test_of_those_who_waited_for_a_process_that_is_killed_one_compiles(start: Callable[..., Process]) -> None:
    killed, *others = (start(WAITS) for _ in range(4))
    for process in (killed, *others):
        expect(process, "ready")
    together([killed], "compiling")
    together(others, "waiting")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    for process in others:
        tell(process)  # whichever compiles
    assert sorted(map(compiles, others)) == [0, 0, 1]
