"""Many processes on one folder, killed at any moment: no reader ever sees what was not put."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import diskcache
import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.index import BytesDisk
from gridjit.cache.key import digest
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Manifest, Shape, add_compile, read_manifest

# More rounds, for a long night: GRIDJIT_TEST_KILLS=5000 pytest tests/faults
KILLS = int(os.environ.get("GRIDJIT_TEST_KILLS", "24"))  # with the slow tests

# Data is a function of the key's number and a version, so that a reader can tell what was put from what was not.
# A warning ends the process: as an error it would only be logged, and what a handler raises is suppressed.
COMMON = """
import logging, os, random, signal, sys
from gridjit.cache.disk import DiskStore
from gridjit.cache.key import digest

class Fail(logging.Handler):
    def emit(self, record):
        os.write(2, record.getMessage().encode())
        os._exit(1)

logging.getLogger("gridjit").addHandler(Fail())

def key_of(number):
    return digest([("number", number)])

def data_of(number, version):
    return (b"%d %d " % (number, version)) * (1 + (number * 7919 + version) % 9000)

def was_put(number, data):
    return data is None or data == data_of(number, int(data.split(b" ", 2)[1]))
"""

WRITE_FOREVER = """
folder, seed = sys.argv[1], int(sys.argv[2])
store, choose = DiskStore(folder, max_entries=12), random.Random(seed)
while True:
    number = choose.randrange(20)
    store.put(key_of(number), data_of(number, choose.randrange(100)), suffix=choose.choice([".cubin", ".lcs", ".json"]))
    print(number, flush=True)
"""

PUT_AND_GET = """
folder, seed = sys.argv[1], int(sys.argv[2])
store, choose = DiskStore(folder, max_entries=15, timeout=20), random.Random(seed)
print("ready", flush=True)
sys.stdin.readline()
hits = 0
for _ in range(150):
    number = choose.randrange(20)
    if choose.random() < 0.3:
        store.put(key_of(number), data_of(number, choose.randrange(100)), suffix=choose.choice([".cubin", ".json"]))
    data = store.get(key_of(number))
    assert was_put(number, data), number
    hits += data is not None
print(hits)
"""

# Kills itself at the given place on the way of one put that also makes room.
KILL_AT = """
folder, place = sys.argv[1:]

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def die_after(function):
    def wrapped(*args, **kwargs):
        function(*args, **kwargs)
        die()
    return wrapped

import gridjit.cache.index as index
from gridjit.cache import files
real_write = os.write
if place == "while writing":
    os.write = lambda descriptor, data: (real_write(descriptor, data[: len(data) // 2]), die())
elif place == "before the rename":
    os.rename = die
elif place == "after the rename":
    os.rename = die_after(os.rename)
elif place == "before the row":
    index.Index.record_all = die
elif place == "inside the transaction":
    index._make_room = die_after(index._make_room)
elif place == "after the row":
    index.Index.record_all = die_after(index.Index.record_all)
elif place == "while making room":
    real_remove, files.remove_file = files.remove_file, lambda folder, name: real_remove(folder, name) or (
        die() if key_of(9) not in name else None)
elif place == "while the index is made":
    index.remove_database(folder)
    index.Index.is_empty = die
elif place == "while the index is made anew":
    index.remove_database(folder)
    index.Index.reconcile = die
DiskStore(folder, max_entries=3).put(key_of(9), data_of(9, 1), suffix=".cubin")
"""
PLACES = [
    "while writing",
    "before the rename",
    "after the rename",
    "before the row",
    "inside the transaction",
    "after the row",
    "while making room",
    "while the index is made",
    "while the index is made anew",
]


# The fork is the point of the test, and its child is done before it needs what threads hold.
FORKS_WITH_THREADS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def number_key(number: int) -> str:
    """The key that the scripts above give a number."""
    return digest([("number", number)])


def was_put(number: int, data: bytes | None) -> bool:
    """Whether data is nothing or something that the scripts put under number."""
    if data is None:
        return True
    text, version = b" ".join(data.split(b" ", 2)[:2]) + b" ", int(data.split(b" ", 2)[1])
    return data == text * (1 + (number * 7919 + version) % 9000) and text.split()[0] == b"%d" % number


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs script after the common part."""
    command = [sys.executable, "-W", "error", "-c", COMMON + script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_whole(folder: Path) -> None:
    """Read everything, write once more, and compare the index with the files."""
    store = DiskStore(folder, max_entries=100)
    assert store.verify(remove=False).bad == ()
    for number in range(20):
        assert was_put(number, store.get(number_key(number))), number
    store.put(number_key(99), b"after", suffix=".json")
    assert store.get(number_key(99)) == b"after"
    store.collect()
    with diskcache.Cache(str(folder), disk=BytesDisk) as cache:
        assert sorted(cache) == sorted({info.key for info in store.entries()})
    store.remove(number_key(99))


@pytest.mark.parametrize("kills", [6, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_writers_killed_at_random_leave_only_whole_entries(tmp_path, kills):
    choose = random.Random(20)
    for seed in range(kills):
        writer = start(WRITE_FOREVER, tmp_path, seed)
        assert writer.stdout is not None
        for _ in range(choose.randrange(1, 12)):
            assert writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        _, errors = writer.communicate()
        assert errors == ""
        check_whole(tmp_path)
    assert len(list((tmp_path / "tmp").iterdir())) <= kills


@pytest.mark.some(4)
@pytest.mark.parametrize("place", PLACES)
def test_a_writer_killed_at_each_step_leaves_only_whole_entries(tmp_path, place):
    before = DiskStore(tmp_path, max_entries=3)
    for number in (1, 2, 3):
        before.put(number_key(number), f"{number} 0 ".encode() * (1 + number * 7919 % 9000), suffix=".cubin")
    writer = start(KILL_AT, tmp_path, place)
    _, errors = writer.communicate()
    assert (writer.returncode, errors) == (-signal.SIGKILL, "")
    alive = [number for number in (1, 2, 3, 9) if before.get(number_key(number)) is not None]
    assert all(was_put(number, before.get(number_key(number))) for number in alive)
    assert len(alive) >= 3
    before.put(number_key(3), b"3 0 " * (1 + 3 * 7919 % 9000), suffix=".cubin")
    check_whole(tmp_path)


def test_processes_that_put_and_get_at_once_see_only_what_was_put(tmp_path):
    workers = [start(PUT_AND_GET, tmp_path, seed) for seed in range(8)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outcomes = [worker.communicate(timeout=120) for worker in workers]
    assert [errors for _, errors in outcomes] == [""] * 8
    assert all(int(hits) > 0 for hits, _ in outcomes)
    assert len(list(DiskStore(tmp_path).entries())) <= 15
    check_whole(tmp_path)


def test_processes_that_open_a_new_folder_at_once_drop_nothing(tmp_path):
    script = """
folder, me = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
DiskStore(folder, timeout=60).put(key_of(me), data_of(me, 0), suffix=".o")
"""
    workers = [start(script, tmp_path / "cache", me) for me in range(16)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert [worker.communicate(timeout=120)[1] for worker in workers] == [""] * 16
    assert {info.key for info in DiskStore(tmp_path / "cache").entries()} == {number_key(me) for me in range(16)}


def test_processes_that_add_shapes_at_once_lose_none(tmp_path):
    script = """
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Shape, add_compile
folder, job, me = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    shape = Shape.of([f"argument {me}{number}"])
    add_compile(DiskStore(folder, timeout=20), job, shape, key_of(f"{me} {number}"), Locks(folder), timeout=60)
"""
    job = number_key(0)
    workers = [start(script, tmp_path, job, me) for me in range(6)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    outcomes = [worker.communicate("go\n", timeout=120) for worker in workers]
    assert [errors for _, errors in outcomes] == [""] * 6
    found = set(read_manifest(DiskStore(tmp_path), job).shapes)
    assert found == {Shape.of([f"argument {me}{number}"]) for me in range(6) for number in range(10)}


def test_a_shape_added_without_the_lock_is_there(tmp_path):
    store, locks, job = DiskStore(tmp_path), Locks(tmp_path), number_key(0)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locks.single_flight(job):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    shapes = (Shape.of(["blockdim"]), Shape.of(["griddim"]))
    for shape, artifact in zip(shapes, ("ab" * 32, "cd" * 32), strict=True):
        add_compile(store, job, shape, artifact, locks, timeout=0)
    done.set()
    thread.join()
    assert read_manifest(store, job) == Manifest(shapes=shapes, recent=("ab" * 32, "cd" * 32))


def test_a_forked_child_uses_the_store_while_its_parent_does(tmp_path, key_of):
    store = DiskStore(tmp_path)
    store.put(key_of("parent"), b"parent", suffix=".o")
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            store.put(key_of(number), b"child", suffix=".o")
            os._exit(0 if (store.get(key_of(number)), store.get(key_of("parent"))) == (b"child", b"parent") else 1)
        children.append(child)
    for number in range(4, 8):
        store.put(key_of(number), b"parent", suffix=".o")
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert [store.get(key_of(number)) for number in range(8)] == [b"child"] * 4 + [b"parent"] * 4
    check_whole(tmp_path)


@FORKS_WITH_THREADS
def test_a_child_forked_while_a_thread_writes_is_not_stuck(tmp_path, key_of, monkeypatch):
    from gridjit.cache import index

    inside, go_on, store = threading.Event(), threading.Event(), DiskStore(tmp_path, timeout=0.2)
    store.put(key_of(1), b"data", suffix=".o")
    make_room = index._make_room

    def pause(*arguments: object) -> list[str]:
        inside.set()
        go_on.wait()
        return make_room(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "_make_room", pause)
    thread = threading.Thread(target=store.put, args=(key_of(2), b"data"), kwargs={"suffix": ".o"})
    thread.start()
    inside.wait()  # the thread holds the store's lock and the database's
    child = os.fork()
    if child == 0:
        import warnings

        warnings.simplefilter("ignore")
        index._make_room = make_room
        store.put(key_of(3), b"dropped", suffix=".o")
        os._exit(0 if (store.get(key_of(1)), store.get(key_of(3))) == (b"data", None) else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.get(key_of(2)) == b"data"
    store.put(key_of(3), b"data", suffix=".o")
    assert store.get(key_of(3)) == b"data"
