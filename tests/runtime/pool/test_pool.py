"""Tasks in other processes: each is done, or lost with a reason, and no process outlives what it works for."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gridjit.runtime.pool import pool as pool_module
from gridjit.runtime.pool.address import address
from gridjit.runtime.pool.pool import ProcessPool
from gridjit.runtime.process.session import session

NewPool = Callable[[int], ProcessPool]
BEGIN = """
import os, signal, sys
from gridjit.runtime.pool.pool import ProcessPool
from gridjit.runtime.process.session import session

pool = ProcessPool(session().settings, 1)
worker, server = pool.wait(pool.submit("pooltasks:who")).result
print(worker, server, flush=True)
blocked = pool.submit("pooltasks:block", "pipe")
while not blocked.begun:
    pool.turn()
"""


def program(tasks: Path, rest: str) -> subprocess.Popen[str]:
    """Start a program whose pool has a task that blocks in the pipe, and leads a group of processes."""
    path = os.pathsep.join([str(tasks), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + rest],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tasks,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def pids(running: subprocess.Popen[str]) -> list[int]:
    """Return the worker and the server of a program."""
    assert running.stdout is not None
    return [int(word) for word in running.stdout.readline().split()]


def ended(running: subprocess.Popen[str]) -> tuple[str, str, int]:
    """Return what else a program said, on its two streams, and how it ended. What `pids` has buffered counts too."""
    assert running.stdout is not None and running.stderr is not None
    with running.stdout, running.stderr:
        return running.stdout.read(), running.stderr.read(), running.wait()


@pytest.mark.usefixtures("started")
def test_tasks_are_done_in_this_processs_folder_environment_and_path_of_the_moment(
    new_pool: NewPool, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = new_pool(1)
    first = pool.submit("pooltasks:where")
    monkeypatch.setenv("FLAG", "raised")
    monkeypatch.syspath_prepend("only here")
    (tasks / "inner").mkdir()
    before = os.getcwd()
    monkeypatch.chdir(tasks / "inner")
    second = pool.submit("pooltasks:where")
    assert pool.wait(second).result == (str(tasks / "inner"), "raised", True)
    assert pool.wait(first).result == (before, None, False)


def test_what_a_task_does_to_its_surroundings_is_nothing_to_the_next(new_pool: NewPool) -> None:
    pool = new_pool(1)
    moved, after = pool.submit("pooltasks:move"), pool.submit("pooltasks:where")
    assert (pool.wait(moved).result, pool.wait(after).result) == ("moved", (os.getcwd(), None, False))


def test_a_pool_that_is_called_enters_what_surrounds_this_process_before_there_is_a_task(
    new_pool: NewPool, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = new_pool(1)
    worker, _ = pool.wait(pool.submit("pooltasks:who")).result
    monkeypatch.chdir(tasks)
    pool.call()
    there = Path(f"/proc/{worker}/cwd")
    assert any(there.readlink() == tasks or pool.turn() for _ in range(1000))


def test_what_changes_after_a_call_counts_for_the_task_that_follows(
    new_pool: NewPool, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = new_pool(1)
    pool.call()
    monkeypatch.setenv("FLAG", "raised")
    monkeypatch.chdir(tasks)
    assert pool.wait(pool.submit("pooltasks:where")).result == (str(tasks), "raised", False)


def test_a_call_says_nothing_where_there_is_no_server(tasks: Path) -> None:
    pool = ProcessPool(session().settings, 1, starts=False)
    pool.call()
    with pytest.raises(OSError, match="no compile server is there"):
        pool.submit("pooltasks:who")


def test_threads_wait_for_their_own_tasks_at_once(new_pool: NewPool, tasks: Path) -> None:
    os.mkfifo(tasks / "other")
    pipes = [str(tasks / "pipe"), str(tasks / "other")]
    pool = new_pool(2)
    blocked = [pool.submit("pooltasks:block", pipe, pipe) for pipe in pipes]
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(pool.wait, task) for task in blocked]
        for pipe in reversed(pipes):
            open(pipe, "w").close()
        assert [done.result().result for done in waiting] == pipes


def test_without_an_interpreter_there_is_an_error_and_nothing_else(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nothing/python")
    with pytest.raises(FileNotFoundError):
        new_pool(1).submit("pooltasks:who")


def test_why_a_server_could_not_serve_is_told_whatever_comes_after(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/cat")
    pool = new_pool(1)
    assert pool.wait(pool.submit("pooltasks:who")).lost.startswith("the processes that compile have ended")
    monkeypatch.setattr(sys, "executable", "/bin/sleep")
    monkeypatch.setattr(pool_module, "_SERVER", "60")
    pool.submit("pooltasks:who")
    pool.end()
    assert pool.no_use.startswith("the processes that compile have ended")


def test_a_descriptor_that_has_the_number_of_a_pools_closed_socket_is_left_alone(new_pool: NewPool) -> None:
    pool = new_pool(1)
    first, _ = pool.wait(pool.submit("pooltasks:who")).result
    assert pool._socket is not None
    number = pool._socket.fileno()
    ours, theirs = socket.socketpair()
    with theirs, ours:
        os.dup2(ours.fileno(), number)  # as after os.closerange(3, 1000)
        theirs.send(b"for this program")
        second, _ = pool.wait(pool.submit("pooltasks:who")).result
        assert second != first
        assert os.read(number, 100) == b"for this program"
        with pytest.raises(BlockingIOError):
            theirs.recv(100, socket.MSG_DONTWAIT)
        os.close(number)


def test_a_pool_that_is_to_end_when_done_does_what_it_was_given(
    new_pool: NewPool, tasks: Path, ends: Callable[..., None]
) -> None:
    pool, pipe = new_pool(1), str(tasks / "pipe")
    processes = pool.wait(pool.submit("pooltasks:who")).result
    blocked = pool.submit("pooltasks:block", pipe)
    pool.end_when_done()
    open(pipe, "w").close()
    assert pool.wait(blocked).result == "done"
    ends(*processes)


def test_tasks_run_at_the_same_time_in_as_many_processes_as_there_may_be(new_pool: NewPool, tasks: Path) -> None:
    os.mkfifo(tasks / "other")
    pipes = str(tasks / "pipe"), str(tasks / "other")
    pool = new_pool(2)
    meeting = [pool.submit("pooltasks:meet", *pipes), pool.submit("pooltasks:meet", *reversed(pipes))]
    assert [pool.wait(task).result for task in meeting] == ["met", "met"]


def test_what_is_waited_for_is_done_before_what_is_not(
    new_pool: NewPool, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, pipe = new_pool(1), str(tasks / "pipe")
    first = pool.submit("pooltasks:block", pipe, "1")
    second, third = (pool.submit("pooltasks:note", pipe, label) for label in "23")
    while not first.begun:
        pool.turn()
    turn = pool.turn

    def release_and_turn() -> None:
        monkeypatch.setattr(pool, "turn", turn)
        with open(pipe, "w"):
            turn()

    monkeypatch.setattr(pool, "turn", release_and_turn)
    assert pool.wait(third).result == "3"
    pool.wait(second)
    assert Path(f"{pipe}.done").read_text() == "132"


def test_the_last_tasks_are_begun_by_their_size_so_that_none_ends_long_after_the_others(
    new_pool: NewPool, tasks: Path
) -> None:
    pool, pipe = new_pool(1), str(tasks / "pipe")
    first = pool.submit("pooltasks:block", pipe, "1")
    sizes = {"a": 1, "b": 1, "c": 1, "d": 3, "e": 2, "f": 3, "g": 1, "h": 1, "i": 1, "j": 4}
    given = [pool.submit("pooltasks:note", pipe, label, size=size) for label, size in sizes.items()]
    while not first.begun:
        pool.turn()
    with open(pipe, "w"):
        pool.wait(first)
    while not all(task.is_over for task in given):  # nobody waits for any one of them
        pool.turn()
    assert Path(f"{pipe}.done").read_text() == "1abjdfecghi"


def test_a_worker_that_dies_loses_its_own_task_and_no_other(new_pool: NewPool) -> None:
    pool = new_pool(1)
    before, dead, after = (pool.submit(f"pooltasks:{name}") for name in ("who", "die", "who"))
    assert pool.wait(dead).lost == "the process that compiled it ended, by signal 9"
    assert dead.died
    assert pool.wait(after).result[0] != pool.wait(before).result[0]


@pytest.mark.parametrize(
    ("name", "why"), [("leave", "SystemExit: no thanks"), ("gone", "AttributeError: "), ("large", "Value")]
)
def test_what_a_task_raises_is_why_it_is_lost(new_pool: NewPool, name: str, why: str) -> None:
    pool = new_pool(1)
    assert pool.wait(pool.submit(f"pooltasks:{name}")).lost.startswith(why)
    assert pool.wait(pool.submit("pooltasks:who")).result


def test_more_is_handed_over_than_a_socket_holds(new_pool: NewPool, tasks: Path) -> None:
    pool, pipe = new_pool(2), str(tasks / "pipe")
    given = [pool.submit("pooltasks:note", pipe, f"{number:03}" * 60_000) for number in range(20)]
    assert all(pool.wait(task).lost.startswith("ValueError") for task in given)  # so long a result is not told
    assert len(Path(f"{pipe}.done").read_text()) == 20 * 180_000


def test_an_interrupt_while_news_is_taken_in_loses_none(new_pool: NewPool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = new_pool(1)
    note, steps = ProcessPool._note, iter(["before", "after", "pass"] * 2)

    def interrupted(self: ProcessPool, packet: Any) -> None:
        step = next(steps, "pass")
        if step == "before":
            raise KeyboardInterrupt
        note(self, packet)
        if step == "after":
            raise KeyboardInterrupt

    task = pool.submit("pooltasks:who")
    monkeypatch.setattr(ProcessPool, "_note", interrupted)
    for _ in range(4):  # at the news that it is begun, and that it is done
        with pytest.raises(KeyboardInterrupt):
            pool.wait(task)
    assert pool.wait(task).result == pool.wait(pool.submit("pooltasks:who")).result


class Watch:
    """The clocks that a pool reads. An hour passes between two looks, in which the processes run, unless they may not.

    asked: the processes that it looked at.
    """

    def __init__(self) -> None:
        self.asked: set[int] = set()
        self.runs = True
        self._looks = itertools.count()

    def monotonic(self) -> float:
        return next(self._looks) * 3600.0

    def seconds_run(self, pid: int) -> float:
        self.asked.add(pid)
        return float(next(self._looks)) if self.runs else 0.0


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """The clocks of this test's pools."""
    made = Watch()
    monkeypatch.setattr(pool_module, "time", made)
    monkeypatch.setattr(pool_module, "_seconds_run", made.seconds_run)
    return made


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Callable[[str], None]:
    """What sets for how long processes may neither run nor answer."""

    def be(seconds: str) -> None:
        monkeypatch.setenv("GRIDJIT_COMPILE_PATIENCE", seconds)
        restart()

    return be


def test_processes_that_neither_run_nor_answer_are_given_up_and_the_limit_is_named(
    new_pool: NewPool, watch: Watch, patience: Callable[[str], None], ends: Callable[..., None]
) -> None:
    patience("600")
    pool = new_pool(1)
    worker, server = pool.wait(pool.submit("pooltasks:who")).result
    os.kill(server, signal.SIGSTOP)
    watch.runs = False
    lost = pool.wait(pool.submit("pooltasks:who")).lost
    assert lost.startswith("the processes that compile have neither run nor answered for 600 s; GRIDJIT_COMPILE_PATIEN")
    assert pool.no_use == lost
    ends(worker, server)


def test_a_server_and_a_worker_that_run_are_not_given_up_however_long_they_say_nothing(
    new_pool: NewPool, watch: Watch, tasks: Path
) -> None:
    pool = new_pool(1)
    processes = pool.wait(pool.submit("pooltasks:who")).result
    blocked = pool.submit("pooltasks:block", str(tasks / "pipe"))
    while not blocked.begun or not watch.asked.issuperset(processes):
        pool.turn()
    with open(tasks / "pipe", "w"):
        assert pool.wait(blocked).result == "done"


def test_without_a_limit_processes_that_do_not_run_are_not_given_up(
    new_pool: NewPool, watch: Watch, patience: Callable[[str], None]
) -> None:
    patience("0")
    pool = new_pool(1)
    _, server = pool.wait(pool.submit("pooltasks:who")).result
    os.kill(server, signal.SIGSTOP)
    watch.runs = False
    task = pool.submit("pooltasks:who")
    for _ in range(3):
        pool.turn()
    assert not task.is_over
    os.kill(server, signal.SIGCONT)
    assert pool.wait(task).result


@pytest.mark.parametrize("runs", [True, False])
def test_a_compile_server_is_waited_for_while_it_runs_and_for_a_sixth_of_the_limit_if_it_does_not(
    tasks: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], runs: bool
) -> None:
    monkeypatch.setenv("GRIDJIT_COMPILE_SERVER", "1")
    restart()
    watch.runs = runs
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(address(session().settings.cache_dir))
        door.listen()
        pool = ProcessPool(session().settings, 1, starts=False)
        task = pool.submit("pooltasks:who")
        pool.turn()
        pool.turn()
        assert watch.asked == {os.getpid()}  # which listens
        pool.end()
    why = "were ended" if runs else "have neither run nor answered for 20 s"
    assert task.lost.startswith(f"the processes that compile {why}")


COMPUTES = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
HAS_COMPUTED = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {COMPUTES!r}])"


@pytest.mark.parametrize("code", [COMPUTES, HAS_COMPUTED], ids=["itself", "by a child"])
def test_a_process_has_run_while_it_or_a_child_used_a_processor_and_not_at_all_once_it_is_gone(code: str) -> None:
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        assert pool_module._seconds_run(running.pid) >= 0.3
        running.communicate(b"\n")
    assert pool_module._seconds_run(running.pid) == 0


def test_a_server_that_is_killed_loses_its_tasks_and_takes_its_workers_along(
    new_pool: NewPool, tasks: Path, ends: Callable[..., None]
) -> None:
    pool = new_pool(1)
    worker, server = pool.wait(pool.submit("pooltasks:who")).result
    os.kill(server, signal.SIGSTOP)  # so that it ends with the task unread, which resets the connection
    blocked = pool.submit("pooltasks:block", str(tasks / "pipe"))
    os.kill(server, signal.SIGKILL)
    assert pool.wait(blocked).lost == "the processes that compile have ended"
    ends(worker, server)
    assert pool.wait(pool.submit("pooltasks:who")).result[1] != server


def test_a_forked_child_has_no_part_in_it_and_leaves_it_alone(new_pool: NewPool, tasks: Path) -> None:
    pool = new_pool(1)
    blocked = pool.submit("pooltasks:block", str(tasks / "pipe"))
    child = os.fork()
    if not child:
        pool.end()
        os._exit(0 if blocked.lost.startswith("the process was forked") else 1)
    assert os.waitpid(child, 0)[1] == 0
    with open(tasks / "pipe", "w"):
        assert pool.wait(blocked).result == "done"


def test_a_forked_child_can_have_processes_of_its_own(new_pool: NewPool) -> None:
    pool = new_pool(1)
    _, server = pool.wait(pool.submit("pooltasks:who")).result
    child = os.fork()
    if not child:
        task = pool.wait(pool.submit("pooltasks:who"))
        pool.end()
        os._exit(0 if task.result and task.result[1] != server else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pool.wait(pool.submit("pooltasks:who")).result[1] == server


def test_a_program_that_is_killed_leaves_no_process(tasks: Path, ends: Callable[..., None]) -> None:
    running = program(tasks, "os.kill(os.getpid(), signal.SIGKILL)")
    processes = pids(running)
    running.communicate()
    ends(*processes)


def test_a_program_ends_at_once_and_in_silence_with_tasks_under_way(tasks: Path, ends: Callable[..., None]) -> None:
    running = program(tasks, "")
    processes = pids(running)
    assert ended(running) == ("", "", 0)
    ends(*processes)


def test_ctrl_c_is_for_the_program_alone(tasks: Path, ends: Callable[..., None]) -> None:
    rest = """
try:
    os.killpg(0, signal.SIGINT)
    pool.wait(blocked)
except KeyboardInterrupt:
    open("pipe", "w").close()
    print(pool.wait(blocked).result, pool.wait(pool.submit("pooltasks:who")).result == (worker, server))
"""
    running = program(tasks, rest)
    processes = pids(running)
    assert ended(running) == ("done True\n", "", 0)
    ends(*processes)
