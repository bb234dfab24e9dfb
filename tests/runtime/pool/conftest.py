"""Processes that compile for this one: tasks that other processes can import, and what waits for processes to end."""

from __future__ import annotations

import os
import select
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.runtime.pool import pool as pool_module
from gridjit.runtime.pool.pool import Pool
from gridjit.runtime.session import session
from tests.programs import Program

# What a task blocks in ends when somebody opens a pipe for writing, so that nothing here is a matter of time.
TASKS = """
import os, signal, sys


def who():
    return os.getpid(), os.getppid()


def where():
    return os.getcwd(), os.environ.get("FLAG"), "only here" in sys.path


def move():
    os.chdir("/")
    os.environ["FLAG"] = "lowered"
    sys.path.append("only here")
    return "moved"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


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
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pools start their servers as they do elsewhere: each is an interpreter that imports the compiler."""
    monkeypatch.setattr(pool_module, "_spawned", _STARTED[0])
    monkeypatch.setattr(pool_module, "_ended", _STARTED[1])


_STARTED = pool_module._spawned, pool_module._ended


@pytest.fixture(autouse=True)
def _forked_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the servers of pools from a process that has imported the compiler, unless another program is to serve."""
    executable, program, forked = sys.executable, pool_module._SERVER, dict[int, Program]()

    def spawned(control: socket.socket, processes: int) -> int:
        if (sys.executable, pool_module._SERVER) != (executable, program):
            return _STARTED[0](control, processes)
        with open(os.devnull, "w") as nothing:
            streams = (control.fileno(), nothing.fileno(), nothing.fileno())
            made = Program("-c", program, processes, *sys.path, streams=streams)
        forked[made.pid] = made
        return made.pid

    def ended(pid: int) -> None:
        if (made := forked.get(pid)) is None:
            _STARTED[1](pid)
        else:
            made.kill()
            made.wait()

    monkeypatch.setattr(pool_module, "_spawned", spawned)
    monkeypatch.setattr(pool_module, "_ended", ended)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of tasks, pooltasks, that is on sys.path; and a pipe in it."""
    (tmp_path / "pooltasks.py").write_text(TASKS)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def new_pool(tasks: Path) -> Iterator[Callable[[int], Pool]]:
    """What makes a pool of so many processes, which ends with the test."""
    pools = []

    def make(processes: int) -> Pool:
        pools.append(Pool(session().settings, processes))
        return pools[-1]

    yield make
    for pool in pools:
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
