"""Tally: the bounds of a folder that others may write, kept without a database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridjit.cache.bounds import Tally
from gridjit.cache.disk import DiskStore
from gridjit.cache.folder import folder_at
from gridjit.cache.store import EntryInfo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache folder that everybody may write."""
    made = tmp_path / "cache"
    made.mkdir()
    made.chmod(0o777)
    return made


def put_in_order(store: DiskStore, folder: Path, key: str, number: int) -> None:
    """Put an entry, and make it one second newer than the one before."""
    store.put(key, bytes(1000), suffix=".o")
    os.utime(folder / key[:2] / f"{key}.o", (number, number))


@pytest.mark.parametrize("bound", [{"max_entries": 10}, {"max_bytes": 10 * (1000 + 64 + 56)}])
def test_the_entries_stored_least_recently_make_room_in_a_shared_folder(folder, key_of, bound):
    store = DiskStore(folder, allow_shared=True, **bound)
    for number in range(30):
        put_in_order(store, folder, key_of(number), number)
        assert len(list(store.entries())) <= 10
    assert {info.key for info in store.entries()} == {key_of(number) for number in range(20, 30)}


def test_what_other_processes_put_is_counted_too(folder, key_of):
    one, other = (DiskStore(folder, allow_shared=True, max_entries=64) for _ in range(2))
    for number in range(200):
        put_in_order((one, other)[number % 2], folder, key_of(number), number)
        # Each may have added a sixteenth that the other has not counted.
        assert len(list(one.entries())) <= 64 + 2 * 64 // 16


def test_collect_keeps_the_bounds_of_a_shared_folder(folder, key_of):
    for number in range(20):
        put_in_order(DiskStore(folder, allow_shared=True), folder, key_of(number), number)
    DiskStore(folder, allow_shared=True, max_entries=5).collect()
    assert {info.key for info in DiskStore(folder, allow_shared=True).entries()} == {key_of(n) for n in range(15, 20)}


def test_no_database_is_made_or_opened_in_a_folder_that_others_may_write(folder, key_of):
    os.mkfifo(folder / "cache.db")
    script = (
        "import sys; from gridjit.cache.disk import DiskStore\n"
        f"store = DiskStore({str(folder)!r}, allow_shared=True)\n"
        f"store.put({key_of(1)!r}, b'data', suffix='.o'); store.verify(); store.clear()\n"
        "print([name for name in ('diskcache', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"
    assert [path.name for path in folder.glob("cache.db*")] == ["cache.db"]


def test_a_folder_that_is_the_users_alone_has_a_database_also_where_sharing_is_allowed(folder, key_of):
    folder.chmod(0o700)
    DiskStore(folder, allow_shared=True).put(key_of(1), b"data", suffix=".o")
    assert (folder / "cache.db").is_file()


def test_files_are_not_counted_at_each_put(folder, key_of, monkeypatch):
    store = DiskStore(folder, allow_shared=True)
    for number in range(160):
        store.put(key_of(number), b"data", suffix=".o")
    tally, counted = Tally(folder_at(folder, shared=True)), []
    count = tally._count
    monkeypatch.setattr(tally, "_count", lambda *args, **bounds: counted.append(1) or count(*args, **bounds))
    info = EntryInfo(key=key_of(1), suffix=".o", size=100, stored=0.0)
    for _ in range(11):
        assert tally.record_all([info], max_bytes=1 << 30, max_entries=1000) == []
    assert len(counted) == 1
