"""Processes that compile for this one: tasks that other processes can import, and what waits for processes to end."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.runtime.pool.pool import ProcessPool
from gridjit.runtime.process.session import session
from tests import pools

# What a task blocks in ends when somebody opens a pipe for writing, so that nothing here is a matter of time.
TASKS = """
import os, signal, sys


def who():
    return os.getpid(), os.getppid()


def threads():
    of_server = open(f"/proc/{os.getppid()}/environ").read().split("\\0")
    theirs = dict(line.split("=", 1) for line in of_server if line)
    return tuple(environment["OPENBLAS_NUM_THREADS"] for environment in (os.environ, theirs))


def where():
    return os.getcwd(), os.environ.get("FLAG"), "only here" in sys.path


def move():
    os.chdir("/")
    os.environ["FLAG"] = "lowered"
    sys.path.append("only here")
    return "moved"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_leaving_a_child(pipe):
    if not os.fork():
        open(pipe).close()
        os._exit(0)
    die()


def hang_up(pipe):
    os.closerange(3, 1000)
    open(pipe).close()


def leave():
    sys.exit("no thanks")


def block(pipe, label=""):
    open(pipe).close()
    return note(pipe, label)


def note(pipe, label):
    with open(pipe + ".done", "a") as file:
        file.write(label)
    return label or "done"


def meet(mine, others):
    for pipe, mode in sorted([(mine, "r"), (others, "w")]):
        open(pipe, mode).close()
    return "met"


def large():
    return "x" * 100_000
"""


@pytest.fixture
def started(forked_servers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pools start their servers as they do elsewhere: each is an interpreter that imports the compiler."""
    pools.start_servers(monkeypatch)


@pytest.fixture(autouse=True)
def forked_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the servers of pools from a process that has imported the compiler."""
    pools.fork_servers(monkeypatch)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of tasks, pooltasks, that is on sys.path; and a pipe in it."""
    (tmp_path / "pooltasks.py").write_text(TASKS)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def new_pool(tasks: Path) -> Iterator[Callable[[int], ProcessPool]]:
    """What makes a pool of so many processes, which ends with the test."""
    made = []

    def make(processes: int) -> ProcessPool:
        made.append(ProcessPool(session().settings, processes))
        return made[-1]

    yield make
    for pool in made:
        pool.end()


def wait_for_end(pid: int) -> None:
    """Wait until a process has ended, whoever's child it is; one that is gone already has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = poll.poll(60_000)
    os.close(descriptor)
    assert ended, f"process {pid} goes on"


@pytest.fixture
def ends() -> Callable[..., None]:
    """What waits until processes have ended, and fails if they do not."""

    def wait(*pids: int) -> None:
        for pid in pids:
            wait_for_end(pid)

    return wait
