"""DiskStore: names, permissions, bounds, and what it costs to import."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diskcache
import pytest

from gridjit.cache import files
from gridjit.cache.disk import DiskStore
from gridjit.cache.entry import open_entry
from gridjit.cache.errors import CacheWarning
from gridjit.cache.folder import Folder
from gridjit.cache.index import BytesDisk, Index, IndexFailed, RefusedRow, StoredFile, _failures_named


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a cache may be made."""
    return tmp_path / "cache"


def kept_bytes(store: DiskStore) -> int:
    """The size of all entries."""
    return sum(info.size for info in store.entries())


def test_an_entry_is_one_file_named_by_its_key_in_a_shard_folder(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".cubin")
    file = folder / key_of(1)[:2] / f"{key_of(1)}.cubin"
    assert open_entry(key_of(1), file.read_bytes()) == b"data"


def test_plain_diskcache_reads_the_index_and_the_files(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".cubin")
    with diskcache.Cache(str(folder)) as cache:
        assert list(cache) == [key_of(1)]
        assert open_entry(key_of(1), cache[key_of(1)]) == b"data"


def test_another_store_on_the_same_folder_sees_every_entry(folder, key_of):
    one, other = DiskStore(folder), DiskStore(folder)
    assert other.get(key_of(1)) is None
    one.put(key_of(1), b"data", suffix=".o")
    assert other.get(key_of(1)) == b"data"


def test_the_folder_and_all_in_it_are_the_users_alone(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    made = [folder, *folder.rglob("*")]
    open_to_others = [path for path in made if path.stat().st_mode & 0o077 and path.name != "cache.db"]
    assert [path.name for path in open_to_others if path.suffix != ".db-journal"] == []
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_its_owner_opened_for_reading_gets_readable_entries(folder, key_of):
    folder.mkdir(mode=0o755)
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    assert (folder / key_of(1)[:2]).stat().st_mode & 0o777 == 0o755
    assert (folder / key_of(1)[:2] / f"{key_of(1)}.o").stat().st_mode & 0o777 == 0o644


def test_reading_imports_neither_diskcache_nor_sqlite(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    script = (
        "import sys; from gridjit.cache.disk import DiskStore\n"
        f"assert DiskStore({str(folder)!r}).get({key_of(1)!r}) == b'data'\n"
        "print([name for name in ('diskcache', 'sqlite3', 'numba', 'llvmlite', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("bound", [{"max_entries": 10}, {"max_bytes": 10 * (1000 + 64 + 56)}])
def test_the_entries_stored_least_recently_make_room(folder, key_of, bound):
    store = DiskStore(folder, **bound)
    for number in range(30):
        store.put(key_of(number), bytes(1000), suffix=".o")
        assert len(list(store.entries())) <= 10
    assert {info.key for info in store.entries()} == {key_of(number) for number in range(20, 30)}


def test_one_large_entry_takes_the_room_of_many_small_ones(folder, key_of):
    store = DiskStore(folder, max_bytes=200_000)
    for number in range(100):
        store.put(key_of(number), bytes(1000), suffix=".o")
    store.put(key_of("large"), bytes(190_000), suffix=".o")
    assert store.get(key_of("large")) == bytes(190_000)
    assert kept_bytes(store) <= 200_000


def test_storing_an_entry_again_makes_it_the_most_recent(folder, key_of):
    store = DiskStore(folder, max_entries=2)
    for number in (1, 2, 1, 3):
        store.put(key_of(number), b"data", suffix=".o")
    assert {info.key for info in store.entries()} == {key_of(1), key_of(3)}


def test_an_entry_larger_than_the_bound_is_dropped_with_a_warning_and_nothing_else_is(folder, key_of):
    store = DiskStore(folder, max_bytes=2000)
    store.put(key_of(1), b"data", suffix=".o")
    with pytest.warns(CacheWarning, match=r"limited to 2000 bytes and cannot.* Set GRIDJIT_CACHE_SIZE to more\.$"):
        store.put(key_of(2), bytes(3000), suffix=".o")
    assert (store.get(key_of(1)), store.get(key_of(2))) == (b"data", None)


def test_a_smaller_bound_is_kept_from_the_next_write_on(folder, key_of):
    store = DiskStore(folder)
    for number in range(50):
        store.put(key_of(number), b"data", suffix=".o")
    DiskStore(folder, max_entries=5).put(key_of(50), b"data", suffix=".o")
    assert len(list(store.entries())) == 5


def test_making_room_reads_the_oldest_rows_from_an_index(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    with diskcache.Cache(str(folder)) as cache:
        statement = "EXPLAIN QUERY PLAN SELECT rowid, filename, size FROM Cache ORDER BY store_time LIMIT 32"
        plan = [row[-1] for row in cache._sql(statement).fetchall()]
    assert plan == ["SCAN Cache USING INDEX Cache_store_time"]


def test_verify_reports_and_removes_what_does_not_open(folder, key_of):
    store = DiskStore(folder)
    for number in range(4):
        store.put(key_of(number), b"data", suffix=".o")
    damaged = folder / key_of(2)[:2] / f"{key_of(2)}.o"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    looked = store.verify(remove=False)
    assert (looked.good, [info.key for info in looked.bad]) == (3, [key_of(2)])
    assert damaged.exists()
    assert store.verify() == looked
    assert not damaged.exists()
    assert store.verify().bad == ()


def test_collect_removes_what_dead_writers_left_and_keeps_what_live_ones_write(folder, key_of):
    store = DiskStore(folder)
    store.put(key_of(1), b"data", suffix=".o")
    dead, live = (folder / "tmp" / f"{16 * start}-{16 * start}" for start in "de")
    dead.write_bytes(b"half an ent")
    live.write_bytes(b"half an ent")
    long_ago = time.time() - 7200
    os.utime(dead, (long_ago, long_ago))
    store.collect()
    assert (dead.exists(), live.exists()) == (False, True)


def test_collect_counts_files_that_a_writer_did_not_live_to_index(folder, key_of):
    store = DiskStore(folder, max_entries=3)
    store.put(key_of(1), b"data", suffix=".o")
    donor = DiskStore(folder.parent / "donor")
    for number in range(2, 8):
        donor.put(key_of(number), b"data", suffix=".o")
        source = folder.parent / "donor" / key_of(number)[:2] / f"{key_of(number)}.o"
        (folder / key_of(number)[:2]).mkdir(exist_ok=True)
        source.rename(folder / key_of(number)[:2] / f"{key_of(number)}.o")
    store.collect()
    assert len(list(store.entries())) == 3


def test_an_entry_goes_whole_even_where_the_index_knows_another_suffix(folder, key_of):
    # Two processes that put one key at the same time may rename in one order and index in the other.
    DiskStore(folder).put(key_of(1), b"data", suffix=".json")
    (folder / key_of(1)[:2] / f"{key_of(1)}.json").rename(folder / key_of(1)[:2] / f"{key_of(1)}.cubin")
    store = DiskStore(folder, max_entries=1)
    store.put(key_of(2), b"data", suffix=".o")
    assert [info.key for info in store.entries()] == [key_of(2)]


def test_clear_removes_every_entry(folder, key_of):
    store = DiskStore(folder)
    for number in range(5):
        store.put(key_of(number), b"data", suffix=".o")
    assert store.clear() == 5
    assert list(store.entries()) == []


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_a_folder_that_others_may_write_is_refused_with_one_warning(folder, key_of, mode):
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    folder.chmod(mode)
    store = DiskStore(folder)
    with pytest.warns(CacheWarning, match=f"{folder} is not used: it can be written by other users.*=1 .*CACHE_DIR"):
        assert store.get(key_of(1)) is None
    store.put(key_of(2), b"data", suffix=".o")
    assert list(store.entries()) == []
    assert DiskStore(folder, allow_shared=True).get(key_of(1)) == b"data"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_refused_with_one_warning(folder, key_of):
    DiskStore(folder).put(key_of(1), b"data", suffix=".o")
    os.chown(folder, 12345, 12345)
    store = DiskStore(folder)
    with pytest.warns(CacheWarning, match="belongs to user id 12345, and this process runs as 0"):
        assert store.get(key_of(1)) is None
    assert store.get(key_of(1)) is None
    assert DiskStore(folder, allow_shared=True).get(key_of(1)) == b"data"


@pytest.mark.parametrize(
    ("read_only", "way_on"),
    [(False, "GRIDJIT_CACHE_DIR to a folder of your own"), (True, "GRIDJIT_CACHE_BASE without")],
)
def test_the_warning_of_a_folder_that_is_not_trusted_says_what_trusts_it_and_what_does_without(
    folder, key_of, read_only, way_on
):
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.warns(CacheWarning, match=f"Set GRIDJIT_CACHE_ALLOW_SHARED=1 .* Set {way_on}"):
        DiskStore(folder, read_only=read_only).get(key_of(1))


def test_a_warning_that_is_an_error_is_logged_once_and_not_raised(folder, key_of, logged):
    folder.mkdir()
    folder.chmod(0o770)
    store = DiskStore(folder)
    assert store.get(key_of(1)) is None
    store.put(key_of(1), b"data", suffix=".o")
    assert store.get(key_of(1)) is None
    (message,) = logged
    assert message.startswith(f"CacheWarning: cache folder {folder} is not used: ")
    logged.clear()


def test_the_disk_takes_only_text_for_keys_and_files_for_values(folder, key_of):
    folder.mkdir()
    with diskcache.Cache(str(folder), disk=BytesDisk) as cache:
        for key, value in [(key_of(1), {"a": 1}), (key_of(1), b"bytes"), (("a", 1), StoredFile(".o", 1)), (1, b"x")]:
            with pytest.raises(RefusedRow):
                cache.set(key, value)
        assert len(cache) == 0


def test_what_is_put_together_makes_room_as_if_put_one_by_one(folder, key_of):
    store = DiskStore(folder, max_entries=3)
    for number in range(3):
        store.put(key_of(number), b"data", suffix=".o")
    store.put_all({key_of(number): b"new" for number in (3, 4, 0, 5)}, suffix=".unit")
    assert sorted(info.key for info in store.entries()) == sorted(map(key_of, (4, 0, 5)))
    assert [store.get(key_of(number)) for number in (4, 0, 5)] == [b"new"] * 3
    store.put(key_of(6), b"data", suffix=".o")
    assert sorted(info.key for info in store.entries()) == sorted(map(key_of, (0, 5, 6)))


def test_what_is_put_together_is_noted_in_one_transaction(folder, key_of, monkeypatch):
    transactions = []
    original = Index._transaction
    monkeypatch.setattr(Index, "_transaction", lambda index: transactions.append(index) or original(index))
    store = DiskStore(folder)
    store.put(key_of(0), b"data", suffix=".o")
    transactions.clear()
    store.put_all({key_of(number): b"data" for number in range(1, 33)}, suffix=".unit")
    assert len(transactions) == 1
    with diskcache.Cache(str(folder), disk=BytesDisk) as plain:
        assert len(plain) == 33


def test_a_long_piece_of_work_keeps_the_index_from_other_writers_for_moments_only(folder, key_of, monkeypatch):
    noted = []
    original = Index.record_all
    monkeypatch.setattr("gridjit.cache.disk._AT_ONCE", 4)
    monkeypatch.setattr(
        Index,
        "record_all",
        lambda index, infos, **how: noted.append(len([*infos])) or original(index, infos, **how),
    )
    store = DiskStore(folder)
    store.together(lambda: [store.put(key_of(number), b"data", suffix=".o") for number in range(10)])
    assert noted == [4, 4, 2]
    assert store.verify().good == 10


TOGETHER = {
    "put_all": lambda store, entries: store.put_all(entries, suffix=".unit"),
    "together": lambda store, entries: store.together(
        lambda: [store.put(key, data, suffix=".o") for key, data in entries.items()]
    ),
}


@pytest.mark.parametrize("put", TOGETHER.values(), ids=TOGETHER)
def test_files_of_what_is_put_together_go_if_the_index_cannot_note_them(folder, key_of, monkeypatch, put):
    store = DiskStore(folder)
    store.put(key_of(0), b"data", suffix=".o")

    def fail(index: Index, *given: object, **named: object) -> list[str]:
        raise OSError("no index today")

    monkeypatch.setattr(Index, "record_all", fail)
    with pytest.warns(CacheWarning, match="no index today"):
        put(store, {key_of(1): b"data", key_of(2): b"data"})
    assert [info.key for info in store.entries()] == [key_of(0)]


def test_puts_of_one_piece_of_work_are_read_at_once_and_noted_at_its_end(folder, key_of):
    store = DiskStore(folder, max_entries=2)

    def work() -> list[bytes | None]:
        for number in range(3):
            store.put(key_of(number), b"data", suffix=".o")
        store.together(lambda: store.put(key_of(3), b"data", suffix=".json"))
        return [store.get(key_of(number)) for number in range(4)]

    assert store.together(work) == [b"data"] * 4
    assert sorted(info.key for info in store.entries()) == sorted(map(key_of, (2, 3)))
    with diskcache.Cache(str(folder), disk=BytesDisk) as plain:
        assert len(plain) == 2


def test_puts_of_work_that_fails_are_noted(folder, key_of):
    store = DiskStore(folder, max_entries=1)

    def work() -> None:
        store.put(key_of(0), b"data", suffix=".o")
        store.put(key_of(1), b"data", suffix=".o")
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        store.together(work)
    assert [info.key for info in store.entries()] == [key_of(1)]
    store.put(key_of(2), b"data", suffix=".o")
    assert [info.key for info in store.entries()] == [key_of(2)]


def test_what_another_thread_puts_meanwhile_is_noted_at_once(folder, key_of):
    store = DiskStore(folder, max_entries=1)

    def put_two() -> None:
        store.put(key_of(1), b"data", suffix=".o")
        store.put(key_of(2), b"data", suffix=".o")

    def work() -> list[str]:
        store.put(key_of(0), b"data", suffix=".o")
        thread = threading.Thread(target=put_two)
        thread.start()
        thread.join()
        return sorted(info.key for info in store.entries())

    # What opens the index first notes every file that is there; the next row makes room.
    store.put(key_of(3), b"data", suffix=".o")
    assert store.together(work) == sorted(map(key_of, (0, 2)))
    assert [info.key for info in store.entries()] == [key_of(0)]


def test_a_change_that_cannot_be_undone_does_not_hide_that_the_disk_is_full(folder):
    with pytest.raises(IndexFailed, match="disk is full") as caught, _failures_named(str(folder)):
        try:
            raise sqlite3.OperationalError("database or disk is full")
        except sqlite3.OperationalError:
            raise sqlite3.OperationalError("cannot rollback - no transaction is active")  # noqa: B904  # as SQLite does
    assert caught.value.errno == errno.ENOSPC


def test_a_disk_that_is_full_when_work_ends_has_room_made_for_its_puts(folder, key_of, monkeypatch):
    store = DiskStore(folder)
    for number in range(8):
        store.put(key_of(number), bytes(1000), suffix=".o")
    for old in folder.glob("??/*.o"):
        os.utime(old, (0, 0))
    record_all, full = Index.record_all, iter([OSError(errno.ENOSPC, "it is full")])

    def recorded(index: Index, *given: Any, **named: Any) -> list[str]:
        if (error := next(full, None)) is not None:
            raise error
        return record_all(index, *given, **named)

    monkeypatch.setattr(Index, "record_all", recorded)
    store.together(lambda: store.put(key_of(8), bytes(1000), suffix=".o"))
    left = {info.key for info in store.entries()}
    assert key_of(8) in left and 1 < len(left) < 9
    with diskcache.Cache(str(folder), disk=BytesDisk) as plain:
        assert set(plain) == left


def test_what_made_room_for_other_puts_of_the_same_work_is_not_noted(folder, key_of, monkeypatch):
    store, write, full = DiskStore(folder), files.write_file, [OSError(errno.ENOSPC, "it is full")]

    def written(place: Folder, key: str, suffix: str, data: bytes) -> None:
        if key == key_of(4) and full:
            raise full.pop()
        write(place, key, suffix, data)

    def work() -> None:
        for number, size in ((1, 300), (2, 300), (3, 600), (4, 300)):
            store.put(key_of(number), bytes(size), suffix=".o")

    monkeypatch.setattr(files, "write_file", written)
    store.together(work)
    assert key_of(4) in {info.key for info in store.entries()}
    with diskcache.Cache(str(folder), disk=BytesDisk) as plain:
        assert set(plain) == {info.key for info in store.entries()}


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("is_shared", [False, True])
def test_of_more_puts_of_one_work_than_there_may_be_the_last_stay(folder, key_of, limit, is_shared):
    folder.mkdir(parents=True)
    folder.chmod(0o777 if is_shared else 0o700)
    store = DiskStore(folder, max_entries=limit, allow_shared=is_shared)

    def work() -> None:
        for number in range(5):
            store.put(key_of(number), b"data", suffix=".o")

    store.together(work)
    assert [number for number in range(5) if store.get(key_of(number))] == [*range(5)][-limit:]


def test_a_folder_that_may_not_be_read_is_a_warning_that_says_how_its_owner_opens_it(
    folder: Path, key_of: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "open_shard", refuse)
    with pytest.warns(
        CacheWarning, match=r"Permission denied\. Let its owner make all of it readable \(chmod -R a\+rX\)"
    ):
        assert DiskStore(folder, read_only=True).get(key_of(1)) is None
