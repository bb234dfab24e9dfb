"""The stores as a launch uses them - a writable folder over a read-only base, with bounds - against a model.

Whatever is done to folders, files and databases between the steps: what is read is what was last put under that key,
by whichever store, or nothing; what was just put is there; the bounds hold; and no step raises.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from gridjit.cache.chain import ChainStore
from gridjit.cache.disk import DiskStore
from gridjit.cache.entry import seal
from gridjit.cache.history import PastJob, add_job, read_history
from gridjit.cache.index import remove_database
from gridjit.cache.key import digest
from gridjit.cache.lock import LOCK_FOLDER, Locks
from gridjit.cache.manifest import Manifest, Shape, add_compile, note_use, read_manifest
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import SUFFIXES, Store

# The figure of record is a million; the default is a quick look.
OPERATIONS = int(os.environ.get("GRIDJIT_MODEL_OPERATIONS", "600"))
STEPS = 100
# Of one test; Hypothesis remembers all its steps, and a million of them are gigabytes.
PART = 20_000

MAX_ENTRIES = 12
# Fewer than there are keys: what was used least recently goes.
MOST_IN_MEMORY = 5
KEYS = [digest([("n", number)]) for number in range(8)]
JOBS = [digest([("job", number)]) for number in range(3)]
KERNELS = ["a.kernel", "another.kernel"]
# What other programs and other versions may leave under an entry's name.
FOREIGN = [b"", b"\0" * 200, b"not an entry", b"\x80\x04\x95pickle", seal(JOBS[0], b"of another key")]
WHICH = st.integers(0, 3)
DATA = st.binary(max_size=60)


# What the base holds: artifacts, and a shape and a job that no overlay's may hide.
BAKED = {key: f"baked {key}".encode() for key in KEYS[:3]}
BAKED_SHAPE = Shape.of(["argument 100"])
BAKED_JOB = PastJob.of(digest([("job", 100)]), [("number", "100")], 0.0)


def code(number: int) -> str:
    """The key of an artifact."""
    return digest([("artifact", number)])


@functools.cache
def baked_folder() -> Path:
    """The base, written once: that no step touches it is checked after each."""
    folder = Path(tempfile.mkdtemp()) / "base"
    atexit.register(shutil.rmtree, folder.parent)
    store = DiskStore(folder)
    for key, data in BAKED.items():
        store.put(key, data, suffix=".cubin")
    add_compile(store, JOBS[0], BAKED_SHAPE, code(100), Locks())
    add_job(store, KERNELS[0], BAKED_JOB)
    return folder


@functools.cache
def baked_paths() -> list[str]:
    """What the base consists of; a file that is added changes its folder's time."""
    return [os.fspath(path) for path in (baked_folder(), *baked_folder().rglob("*"))]


@functools.cache
def baked_state() -> list[tuple[int, int]]:
    """The base's state when it was written."""
    return state_of(baked_paths())


def state_of(paths: list[str]) -> list[tuple[int, int]]:
    """Return the size and time of files and folders."""
    return [(found.st_size, found.st_mtime_ns) for found in map(os.stat, paths)]


class StackModel(RuleBasedStateMachine):
    """Two processes' stores on one folder over a base, one in memory, one alone; and what each may answer."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.folder, self.base = self.root / "cache", baked_folder()
        self.stores: list[Store] = [self.open(which) for which in range(4)]
        self.locks = [Locks(self.folder), Locks(self.folder)]
        # What was last put on disk; it may be gone, but nothing else may be there.
        self.last: dict[str, bytes] = {}
        # What is in memory, the least recently used first.
        self.held: dict[str, bytes] = {}
        # What lies under another key's name: moved back, it is what was put under its own key, if not last.
        self.misplaced: dict[str, set[bytes | None]] = {key: set() for key in KEYS}
        self.shapes: dict[str, list[int]] = {job: [] for job in JOBS}
        self.jobs: dict[str, list[int]] = {kernel: [] for kernel in KERNELS}

    def open(self, which: int) -> Store:
        """Return a store as a new process would open it: 0 and 1 over the base, 2 without it, 3 in memory."""
        if which == 3:
            return MemoryStore(max_entries=MOST_IN_MEMORY)
        mine = DiskStore(self.folder, max_entries=MAX_ENTRIES, timeout=1.0)
        return mine if which == 2 else ChainStore(mine, DiskStore(self.base, read_only=True))

    def teardown(self) -> None:
        """Remove the folders."""
        shutil.rmtree(self.root)

    def answers(self, which: int, key: str) -> set[bytes | None]:
        """Return what a get may answer."""
        if which == 3:
            return {self.held.get(key)}
        baked = BAKED.get(key)
        # A chain that lost its own entry answers with its base's, and keeps a copy for the stores without a base.
        known = {self.last.get(key, baked), baked, None, *self.misplaced[key]}
        return known - ({None} if which < 2 and baked is not None else set())

    @rule(which=WHICH, key=st.sampled_from(KEYS), data=DATA, suffix=st.sampled_from(SUFFIXES))
    def put(self, which: int, key: str, data: bytes, suffix: str) -> None:
        """Put, and read it back through every store of that medium."""
        self.stores[which].put(key, data, suffix=suffix)
        if which == 3:
            self.use_in_memory(key, data)
        else:
            self.last[key] = data
        for other in (3,) if which == 3 else (0, 1, 2):
            assert self.stores[other].get(key) == data

    @rule(steps=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=20), data=DATA)
    def fill_the_memory(self, steps: list[tuple[str, bool]], data: bytes) -> None:
        """Put and get more keys than there is room for in memory."""
        for key, puts in steps:
            if puts:
                self.stores[3].put(key, data, suffix=".o")
                self.use_in_memory(key, data)
            else:
                self.get(3, key)

    @rule(which=WHICH, key=st.sampled_from(KEYS))
    def get(self, which: int, key: str) -> None:
        """Get."""
        assert self.stores[which].get(key) in self.answers(which, key)
        if which == 3 and key in self.held:
            self.use_in_memory(key, self.held[key])

    def use_in_memory(self, key: str, data: bytes) -> None:
        """Have an entry in memory be the one used last."""
        self.held.pop(key, None)
        self.held[key] = data
        if len(self.held) > MOST_IN_MEMORY:
            del self.held[next(iter(self.held))]

    @rule(which=WHICH, key=st.sampled_from(KEYS))
    def remove(self, which: int, key: str) -> None:
        """Remove; the base's entry shows again."""
        self.stores[which].remove(key)
        (self.held if which == 3 else self.last).pop(key, None)
        assert self.stores[which].get(key) == (BAKED.get(key) if which < 2 else None)

    @rule(which=st.integers(0, 1), job=st.sampled_from(JOBS), number=st.integers(0, 5))
    def add_a_shape(self, which: int, job: str, number: int) -> None:
        """Add a shape to a manifest, as a compile does."""
        add_compile(self.stores[which], job, Shape.of([f"argument {number}"]), code(number), self.locks[which])
        self.shapes[job].append(number)
        known = self.check_the_shapes(1 - which, job)
        assert known.shapes[-1] == Shape.of([f"argument {number}"])
        assert known.recent[-1] == code(number)

    @rule(which=st.integers(0, 1), job=st.sampled_from(JOBS))
    def use_a_shape(self, which: int, job: str) -> None:
        """Find a shape in whatever layer has it, and copy it up, as a launch does."""
        known = self.check_the_shapes(which, job)
        for shape in known.shapes[:1]:
            note_use(self.stores[which], job, shape, code(0), known, self.locks[which])
            assert shape in self.check_the_shapes(1 - which, job).shapes
            if not (self.folder / LOCK_FOLDER).is_file():
                assert shape in self.check_the_shapes(2, job).shapes

    def check_the_shapes(self, which: int, job: str) -> Manifest:
        """Return the manifest of a job; no shape is made up, and the base's are never hidden."""
        known = read_manifest(self.stores[which], job)
        baked = {100} if job == JOBS[0] else set()
        assert set(known.shapes) <= {Shape.of([f"argument {number}"]) for number in {*self.shapes[job], *baked}}
        assert which == 2 or not baked or BAKED_SHAPE in known.shapes
        return known

    @rule(which=st.integers(0, 1), kernel=st.sampled_from(KERNELS), number=st.integers(0, 5))
    def add_a_job(self, which: int, kernel: str, number: int) -> None:
        """Add a job to a kernel's history."""
        job = PastJob.of(digest([("job", number)]), [("number", str(number))])
        add_job(self.stores[which], kernel, job)
        self.jobs[kernel].append(number)
        found = read_history(self.stores[1 - which], kernel).jobs
        assert job in found
        baked = {100} if kernel == KERNELS[0] else set()
        assert baked <= {int(one.fields[0][1]) for one in found} <= {*self.jobs[kernel], *baked}

    @rule(key=st.sampled_from(KEYS + JOBS), place=st.integers(0, 300), how=st.sampled_from(["flip", "cut", "grow"]))
    def damage(self, key: str, place: int, how: str) -> None:
        """Damage an entry's file."""
        for file in self.folder.glob(f"{key[:2]}/{key}.*"):
            data = bytearray(file.read_bytes())
            if how == "flip" and data:
                data[place % len(data)] ^= 1 << place % 8
            file.write_bytes(data[: place % (len(data) + 1)] if how == "cut" and place < len(data) else bytes(data))
            if how == "grow":
                file.write_bytes(bytes(data) + b"more")

    @rule(key=st.sampled_from(KEYS), suffix=st.sampled_from(SUFFIXES), content=st.sampled_from(FOREIGN))
    def plant(self, key: str, suffix: str, content: bytes) -> None:
        """Put something under an entry's name that no store wrote there."""
        if (self.folder / key[:2]).is_dir():
            (self.folder / key[:2] / f"{key}{suffix}").write_bytes(content)

    @rule(one=st.sampled_from(KEYS), other=st.sampled_from(KEYS))
    def swap(self, one: str, other: str) -> None:
        """Give two entries' files each other's names."""
        ones, others = (list(self.folder.glob(f"{key[:2]}/{key}.*")) for key in (one, other))
        if one != other and ones and others:
            for key in (one, other):
                self.misplaced[key].add(self.last.get(key))
            content = ones[0].read_bytes()
            ones[0].write_bytes(others[0].read_bytes())
            others[0].write_bytes(content)

    @rule(how=st.sampled_from(["delete", "garbage", "empty", "no tables", "foreign row"]))
    def damage_the_index(self, how: str) -> None:
        """Damage the database under the stores."""
        database = self.folder / "cache.db"
        if not database.exists():
            return
        if how == "delete":
            remove_database(os.fspath(self.folder))
        elif how in ("garbage", "empty"):
            database.write_bytes(b"garbage " * 1000 if how == "garbage" else b"")
        else:
            self.execute("DROP TABLE IF EXISTS Cache" if how == "no tables" else _FOREIGN_ROW)

    def execute(self, statement: str) -> None:
        """Run a statement on the database, if it is one."""
        connection = sqlite3.connect(self.folder / "cache.db")
        try:
            connection.execute(statement)
            connection.commit()
        except sqlite3.DatabaseError:
            pass
        finally:
            connection.close()

    @rule(what=st.sampled_from(["locks", "tmp", "locks", "tmp", "folder"]))
    def remove_a_folder(self, what: str) -> None:
        """Remove a folder under the stores; of the entries, nothing is left."""
        shutil.rmtree({"folder": self.folder}.get(what, self.folder / what), ignore_errors=True)

    @rule(spoilt=st.booleans())
    def spoil_the_locks(self, spoilt: bool) -> None:
        """Have a file where the locks should be, or no longer."""
        path = self.folder / LOCK_FOLDER
        if not self.folder.is_dir():
            return
        if spoilt and not path.exists():
            path.write_text("")
        elif not spoilt and path.is_file():
            path.unlink()

    @rule(which=WHICH)
    def reopen(self, which: int) -> None:
        """Start over as another process."""
        self.stores[which].close()
        self.stores[which] = self.open(which)
        if which == 3:
            self.held.clear()
        if which < 2:
            self.locks[which] = Locks(self.folder)

    @rule()
    def verify(self) -> None:
        """Remove what is damaged; afterwards all is whole."""
        store = DiskStore(self.folder, max_entries=MAX_ENTRIES, timeout=1.0)
        store.verify()
        assert store.verify(remove=False).bad == ()

    @rule()
    def sweep(self) -> None:
        """Remove the locks that nobody holds."""
        self.locks[0].sweep()

    @invariant()
    def nothing_on_disk_lies(self) -> None:
        """Read every key."""
        for key in KEYS:
            assert self.stores[2].get(key) in self.answers(2, key)

    @invariant()
    def the_bounds_hold(self) -> None:
        """Compare the entries in memory, and their order."""
        assert [info.key for info in self.stores[3].entries()] == [*self.held]

    @invariant()
    def the_base_is_untouched(self) -> None:
        """Compare the base."""
        assert state_of(baked_paths()) == baked_state()


_FOREIGN_ROW = (
    "INSERT INTO Cache(key, raw, store_time, size, mode, filename, value) "
    f"VALUES ({json.dumps(KEYS[7])!r}, 1, 1, 1, 4, '../../precious', x'80049500')"
)


@pytest.mark.parametrize("part", range(-(-OPERATIONS // PART)))
def test_the_stores_do_as_the_model_says(part: int) -> None:
    run_state_machine_as_test(
        StackModel,
        settings=settings(
            max_examples=-(-min(OPERATIONS, PART) // STEPS),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
