"""Workers that end in unusual ways, or cannot begin: what they do is lost, with a reason, and all else goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.runtime.pool import packets
from gridjit.runtime.pool import pool as pool_module
from gridjit.runtime.pool.pool import ProcessPool

NewPool = Callable[[int], ProcessPool]
KILLED = "the process that compiled it ended, by signal 9"

FORKS = """
import os

forks, fork = [], os.fork

def few():
    forks.append(1)
    if len(forks) > MOST:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()

os.fork = few
"""


def test_a_worker_that_dies_is_noticed_while_a_process_that_it_forked_goes_on(new_pool: NewPool, tasks: Path) -> None:
    pool, pipe = new_pool(1), str(tasks / "pipe")
    dead = pool.submit("pooltasks:die_leaving_a_child", pipe)
    try:
        assert pool.wait(dead).lost == KILLED
        assert pool.wait(pool.submit("pooltasks:who")).result
    finally:
        open(pipe, "w").close()


def test_a_worker_that_can_no_longer_be_heard_is_ended_and_others_go_on(new_pool: NewPool, tasks: Path) -> None:
    pool = new_pool(1)
    unheard, after = pool.submit("pooltasks:hang_up", str(tasks / "pipe")), pool.submit("pooltasks:who")
    assert pool.wait(unheard).lost == KILLED
    assert pool.wait(after).result


def test_a_worker_that_dies_is_noticed_in_a_program_that_ignores_the_ends_of_its_children(tasks: Path) -> None:
    text = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from gridjit.runtime.pool.pool import ProcessPool
from gridjit.runtime.process.session import session

pool = ProcessPool(session().settings, 1)
print(pool.wait(pool.submit("pooltasks:die")).lost, "|", len(pool.wait(pool.submit("pooltasks:who")).result))
"""
    path = os.pathsep.join([str(tasks), *sys.path])
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, cwd=tasks, text=True, capture_output=True)
    assert (done.stdout, done.stderr) == (f"{KILLED} | 2\n", "")


@pytest.mark.usefixtures("started")
def test_the_workers_that_there_are_do_all_tasks_if_there_can_be_no_more(
    new_pool: NewPool, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_SERVER", FORKS.replace("MOST", "1") + pool_module._SERVER)
    pool, pipe = new_pool(2), str(tasks / "pipe")
    blocked, other = pool.submit("pooltasks:block", pipe), pool.submit("pooltasks:who")
    while not (blocked.begun or blocked.is_over):
        pool.turn()
    assert not blocked.lost
    with open(pipe, "w"):
        assert pool.wait(blocked).result == "done"
    assert pool.wait(other).result


@pytest.mark.usefixtures("started")
def test_a_server_that_cannot_have_a_worker_says_why(new_pool: NewPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_SERVER", FORKS.replace("MOST", "0") + pool_module._SERVER)
    pool = new_pool(1)
    lost = pool.wait(pool.submit("pooltasks:who")).lost
    assert lost.startswith("the processes that compile cannot start: BlockingIOError: ")
    assert pool.no_use == lost


def test_an_interrupt_before_the_surroundings_are_sent_leaves_them_to_the_next_task(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, given, interrupts = new_pool(1), packets.packets, iter([KeyboardInterrupt])

    def interrupted(kind: bytes, number: int, data: bytes = b"") -> Iterator[bytes]:
        if kind == packets.SURROUNDINGS and (interrupt := next(interrupts, None)) is not None:
            raise interrupt
        yield from given(kind, number, data)

    monkeypatch.setattr(packets, "packets", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.submit("pooltasks:where")
    assert pool.wait(pool.submit("pooltasks:where")).result == (os.getcwd(), None, False)


@pytest.mark.usefixtures("started")
def test_a_server_is_told_to_start_no_threads_for_linear_algebra_and_tasks_what_the_program_is_told(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    pool = new_pool(1)
    assert pool.wait(pool.submit("pooltasks:threads")).result == ("7", "1")
