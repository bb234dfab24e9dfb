"""Single flight: one holder per job, bounded waits, nothing left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from gridjit.cache.lock import Locks

HOLD = """
import sys
from gridjit.cache.lock import Locks
with Locks(sys.argv[1]).single_flight(sys.argv[2]) as got:
    print(got, flush=True)
    sys.stdin.read()
"""

# The fork is the point of the test, and its child is done before it needs what threads hold.
FORKS_WITH_THREADS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def job(key_of) -> str:
    """A job's key."""
    return key_of("job")


def holder(folder: object, job: str) -> subprocess.Popen[str]:
    """A process that holds job's lock until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    """Let a holder finish."""
    process.communicate()


@pytest.mark.parametrize("on_disk", [False, True])
def test_of_threads_that_arrive_together_one_computes(tmp_path, job, on_disk):
    locks, together, made, computed = Locks(tmp_path if on_disk else None), threading.Barrier(8), {}, []

    def work() -> None:
        together.wait()
        with locks.single_flight(job) as got:
            assert got
            if job not in made:
                computed.append(threading.get_ident())
                made[job] = "artifact"

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == 1


def test_a_lock_held_by_a_thread_is_waited_for_no_longer_than_the_timeout(job):
    locks, held, done = Locks(), threading.Event(), threading.Event()

    def hold() -> None:
        with locks.single_flight(job):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    start = time.monotonic()
    with locks.single_flight(job, timeout=0.1) as got:
        assert not got
    assert 0.05 < time.monotonic() - start < 5
    done.set()
    thread.join()
    with locks.single_flight(job, timeout=5) as got:
        assert got


def test_a_lock_held_by_a_process_is_waited_for_no_longer_than_the_timeout(tmp_path, job):
    process = holder(tmp_path, job)
    with Locks(tmp_path).single_flight(job, timeout=0.1) as got:
        assert not got
    end(process)
    with Locks(tmp_path).single_flight(job, timeout=5) as got:
        assert got


def test_a_killed_holder_leaves_no_lock(tmp_path, job):
    process = holder(tmp_path, job)
    process.send_signal(signal.SIGKILL)
    end(process)
    with Locks(tmp_path).single_flight(job, timeout=0) as got:
        assert got


def test_jobs_do_not_wait_for_each_other(tmp_path, job, key_of):
    locks = Locks(tmp_path)
    with locks.single_flight(job, timeout=0) as one, locks.single_flight(key_of("other"), timeout=0) as other:
        assert (one, other) == (True, True)


def test_a_thread_that_holds_a_lock_gets_it_again(tmp_path, job):
    locks = Locks(tmp_path)
    with locks.single_flight(job), locks.single_flight(job, timeout=0) as again:
        assert again
    process = holder(tmp_path, job)  # both blocks are over, so another gets it
    end(process)


def test_a_block_inside_one_that_did_without_does_not_wait_again(tmp_path, job):
    process, locks = holder(tmp_path, job), Locks(tmp_path)
    with locks.single_flight(job, timeout=0) as outer:
        start = time.monotonic()
        with locks.single_flight(job, timeout=60) as inner:
            assert (outer, inner) == (False, False)
        assert time.monotonic() - start < 30
    end(process)


def test_no_lock_file_and_no_table_entry_outlives_its_block(tmp_path, key_of):
    locks = Locks(tmp_path)
    for number in range(50):
        with locks.single_flight(key_of(number)):
            assert len(os.listdir(tmp_path / "locks")) == 1
    assert os.listdir(tmp_path / "locks") == []
    assert locks._table == {}


def test_an_exception_in_the_block_lets_go_of_the_lock(tmp_path, job):
    locks = Locks(tmp_path)
    with pytest.raises(ZeroDivisionError), locks.single_flight(job):
        _ = 1 / 0
    with Locks(tmp_path).single_flight(job, timeout=0) as got:
        assert got


def test_sweep_removes_the_files_of_killed_holders_and_spares_the_living(tmp_path, job, key_of):
    killed, living = holder(tmp_path, job), holder(tmp_path, key_of("living"))
    killed.send_signal(signal.SIGKILL)
    end(killed)
    assert Locks(tmp_path).sweep() == 1
    assert os.listdir(tmp_path / "locks") == [f"{key_of('living')}.lock"]
    end(living)


def test_a_folder_that_cannot_be_made_costs_the_lock_and_nothing_else(tmp_path, job):
    (tmp_path / "file").write_text("")
    with Locks(tmp_path / "file" / "cache").single_flight(job) as got:
        assert not got


def test_a_folder_that_others_may_write_is_not_locked_in(tmp_path, job):
    tmp_path.chmod(0o777)
    with Locks(tmp_path).single_flight(job) as got:
        assert not got
    with Locks(tmp_path, allow_shared=True).single_flight(job) as got:
        assert got


def test_a_lock_makes_the_cache_folder_for_the_user_alone(tmp_path, job):
    with Locks(tmp_path / "cache").single_flight(job):
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_waiters_never_overlap_while_the_file_is_removed_and_made_again(tmp_path, job):
    script = """
import os, sys
from gridjit.cache.lock import Locks
folder, job = sys.argv[1:]
locks, inside = Locks(folder), folder + "/inside"
print("ready", flush=True)
sys.stdin.readline()
for _ in range(300):
    with locks.single_flight(job) as got:
        assert got
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        os.unlink(inside)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), job], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0, 0]
    for process in processes:
        process.communicate()


def test_a_forked_child_has_none_of_its_parents_locks_and_takes_none_away(tmp_path, job):
    locks = Locks(tmp_path)
    with locks.single_flight(job) as got:
        assert got
        child = os.fork()
        if child == 0:
            with locks.single_flight(job, timeout=0) as got_in_child:
                os._exit(1 if got_in_child else 0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        with Locks(tmp_path).single_flight(job, timeout=0) as got_elsewhere:
            assert not got_elsewhere
    with Locks(tmp_path).single_flight(job, timeout=0) as got_after:
        assert got_after


@FORKS_WITH_THREADS
def test_a_child_forked_while_a_thread_waits_or_holds_can_lock(key_of):
    locks, held, done = Locks(), threading.Event(), threading.Event()

    def hold() -> None:
        with locks.single_flight(key_of("held")):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        with locks.single_flight(key_of("held"), timeout=0) as got:
            os._exit(0 if got else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


WAIT = """
import sys, time
from types import SimpleNamespace
from gridjit.cache import lock

said = []

def sleep(seconds):
    if not said:
        said.append(print("waiting", flush=True))
    time.sleep(seconds)

lock.time = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
with lock.Locks(sys.argv[1]).single_flight(sys.argv[2], 20.0) as got:
    print(got, flush=True)
    sys.stdin.read()
"""


def waiting(folder: object, job: str) -> subprocess.Popen[str]:
    """A process that waits for job's lock, and has it, or does without it, until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAIT, str(folder), job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    return process


def answers(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Whether each process that waited has the lock now, in alphabetical order."""
    found = sorted(process.stdout.readline().strip() for process in processes if process.stdout is not None)
    for process in processes:
        end(process)
    return found


def test_all_processes_that_wait_for_a_holder_that_ends_in_vain_do_without_the_lock(tmp_path, job):
    locks = Locks(tmp_path)
    with locks.single_flight(job, timeout=0) as got:
        assert got
        processes = [waiting(tmp_path, job) for _ in range(3)]
        locks.end_in_vain(job)
        with Locks(tmp_path).single_flight(job, timeout=0) as early:
            assert not early
    start = time.monotonic()
    assert answers(processes) == ["False"] * 3
    assert time.monotonic() - start < 15
    assert os.listdir(tmp_path / "locks") == []
    with Locks(tmp_path).single_flight(job, timeout=0) as late:
        assert late


def test_a_holder_that_ends_otherwise_leaves_the_lock_to_one_process_that_waits(tmp_path, job):
    with Locks(tmp_path).single_flight(job, timeout=0):
        processes = [waiting(tmp_path, job) for _ in range(2)]
    outputs = [process.stdout for process in processes if process.stdout is not None]
    (one,), _, _ = select.select(outputs, [], [], 15)
    has, waits = processes if one is outputs[0] else reversed(processes)
    assert [answers([has]), answers([waits])] == [["True"], ["True"]]


def test_a_holder_that_is_killed_when_it_has_said_that_it_ends_in_vain_leaves_nothing(tmp_path, job):
    killed = subprocess.Popen(
        [sys.executable, "-c", HOLD.replace("print(got", "held.end_in_vain(sys.argv[2]); print(got")
         .replace("with Locks(sys.argv[1])", "held = Locks(sys.argv[1])\nwith held"), str(tmp_path), job],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert killed.stdout is not None
    assert killed.stdout.readline() == "True\n"
    killed.send_signal(signal.SIGKILL)
    end(killed)
    locks = Locks(tmp_path)
    with locks.single_flight(job, timeout=0) as first:
        assert not first
    with locks.single_flight(job, timeout=0) as second:
        assert second


@pytest.mark.parametrize("on_disk", [False, True])
def test_all_threads_that_wait_for_a_holder_that_ends_in_vain_do_without_the_lock(tmp_path, job, on_disk):
    locks, inside, had = Locks(tmp_path if on_disk else None), threading.Barrier(4, timeout=15), []

    def wait() -> None:
        with locks.single_flight(job) as got:
            inside.wait()  # all are in their blocks together
            had.append(got)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    with locks.single_flight(job):
        for thread in threads:
            thread.start()
        while locks._table[job].wanted < 4:
            time.sleep(0.001)
        locks.end_in_vain(job)
    inside.wait()
    for thread in threads:
        thread.join()
    assert had == [False] * 3
    assert locks._table == {}


def test_threads_do_not_wait_for_one_of_them_that_waited_for_a_process_in_vain(tmp_path, job):
    elsewhere, locks, inside, had = Locks(tmp_path), Locks(tmp_path), threading.Barrier(3, timeout=15), []

    def wait() -> None:
        with locks.single_flight(job) as got:
            inside.wait()
            had.append(got)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    with elsewhere.single_flight(job):
        for thread in threads:
            thread.start()
        while job not in locks._table or locks._table[job].wanted < 2 or locks._table[job].waiting is None:
            time.sleep(0.001)
        elsewhere.end_in_vain(job)
    inside.wait()
    for thread in threads:
        thread.join()
    assert had == [False, False]


def test_who_does_not_hold_a_lock_cannot_end_it(tmp_path, job):
    locks, held, done, had = Locks(tmp_path), threading.Event(), threading.Event(), []

    def hold() -> None:
        with locks.single_flight(job):
            held.set()
            done.wait()

    def wait() -> None:
        with locks.single_flight(job) as got:
            had.append(got)

    threads = [threading.Thread(target=hold), threading.Thread(target=wait)]
    threads[0].start()
    held.wait()
    threads[1].start()
    while locks._table[job].wanted < 2:
        time.sleep(0.001)
    locks.end_in_vain(job)
    done.set()
    for thread in threads:
        thread.join()
    assert had == [True]


@FORKS_WITH_THREADS
def test_a_child_forked_while_a_thread_waits_for_a_process_keeps_no_file_of_the_lock(tmp_path, job):
    process, locks = holder(tmp_path, job), Locks(tmp_path)

    def wait() -> None:
        with locks.single_flight(job, timeout=15):
            pass

    thread = threading.Thread(target=wait)
    thread.start()
    while job not in locks._table or locks._table[job].waiting is None:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        links = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
        os._exit(any(job in link for link in links))
    _, status = os.waitpid(child, 0)
    end(process)
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
