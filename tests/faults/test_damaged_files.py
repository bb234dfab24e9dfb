"""Whatever happens to the files under a live store: a miss, at most one warning, and the next put is whole again."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import diskcache
import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheWarning
from gridjit.cache.index import BytesDisk
from tests.faults.damage import Bomb, cut, drop_the_tables, replace_by_another_file, replace_by_garbage, truncate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cache's folder."""
    return tmp_path / "cache"


@pytest.fixture
def store(folder: Path, key_of: Callable[[object], str]) -> Iterator[DiskStore]:
    """A store in use, with entries 1 and 2."""
    made = DiskStore(folder, timeout=0.2)
    made.put(key_of(1), b"one" * 1000, suffix=".cubin")
    made.put(key_of(2), b"two" * 1000, suffix=".cubin")
    yield made
    made.close()


def file_of(folder: Path, key: str) -> Path:
    """The file of a .cubin entry."""
    return folder / key[:2] / f"{key}.cubin"


def flip_a_bit(data: bytes) -> bytes:
    """data with one bit changed."""
    return data[:7] + bytes([data[7] ^ 4]) + data[8:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: bytes(len(data)),
        lambda data: data[1:],
        flip_a_bit,
    ],
    ids=["one byte short", "half", "nothing", "zeros", "first byte gone", "one bit"],
)
def test_a_damaged_entry_is_a_miss_and_a_put_heals_it(folder, store, key_of, damage):
    file = file_of(folder, key_of(1))
    file.write_bytes(damage(file.read_bytes()))
    assert (store.get(key_of(1)), store.get(key_of(2))) == (None, b"two" * 1000)
    store.put(key_of(1), b"again", suffix=".cubin")
    assert store.get(key_of(1)) == b"again"


def test_swapped_entries_are_misses(folder, store, key_of):
    one, two = file_of(folder, key_of(1)), file_of(folder, key_of(2))
    one_bytes = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(one_bytes)
    assert (store.get(key_of(1)), store.get(key_of(2))) == (None, None)


def test_a_deleted_entry_is_a_miss_and_can_be_put_again(folder, store, key_of):
    file_of(folder, key_of(1)).unlink()
    assert store.get(key_of(1)) is None
    store.put(key_of(1), b"again", suffix=".cubin")
    assert store.get(key_of(1)) == b"again"


def test_a_directory_in_an_entrys_place_is_a_miss_with_one_warning(folder, store, key_of):
    file_of(folder, key_of(1)).unlink()
    file_of(folder, key_of(1)).mkdir()
    with pytest.warns(CacheWarning, match="cannot be read"):
        assert store.get(key_of(1)) is None
    store.put(key_of(1), b"again", suffix=".cubin")
    assert store.get(key_of(1)) is None


def drop_the_rows(database: Path) -> None:
    """Leave totals, and no table of what they count."""
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TABLE Cache")
    connection.close()


def drop_the_settings(database: Path) -> None:
    """Leave a database without diskcache's settings."""
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM Settings")
    connection.close()


def flip_a_bit_at(place: int) -> Callable[[Path], None]:
    """What changes a bit of a byte: 18 says who may write, 47 which format it has, 8033 is in a table's text."""

    def flip(database: Path) -> None:
        data = bytearray(database.read_bytes())
        data[place] ^= 0x40
        database.write_bytes(data)

    flip.__name__ = f"flip_a_bit_at_{place}"
    return flip


def lie_about_the_size(database: Path) -> None:
    """Leave totals that no row accounts for."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE Settings SET value = 1 << 50 WHERE key = 'size'")
    connection.close()


DAMAGES = [
    replace_by_garbage,
    replace_by_another_file,
    truncate,
    cut,
    drop_the_tables,
    drop_the_rows,
    drop_the_settings,
    *(flip_a_bit_at(place) for place in (0, 18, 19, 28, 44, 47, 56, 100, 8033)),
    lie_about_the_size,
    Path.unlink,
]


@pytest.mark.some(12)
@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_lost_index_costs_no_entry_and_is_made_anew(folder, store, key_of, damage, reopened):
    damage(folder / "cache.db")
    if reopened:
        store = DiskStore(folder)
    assert store.get(key_of(1)) == b"one" * 1000
    store.put(key_of(3), b"three", suffix=".cubin")
    assert (store.get(key_of(1)), store.get(key_of(2))) == (b"one" * 1000, b"two" * 1000)
    store.put(key_of(4), b"four", suffix=".cubin")
    assert store.get(key_of(4)) == b"four"
    with diskcache.Cache(str(folder), disk=BytesDisk) as cache:
        assert sorted(cache) == sorted(info.key for info in store.entries())


def test_the_bounds_hold_after_the_index_was_lost(folder, store, key_of):
    (folder / "cache.db").unlink()
    small = DiskStore(folder, max_entries=2)
    small.put(key_of(3), b"three", suffix=".cubin")
    assert len(list(small.entries())) == 2
    assert small.get(key_of(3)) == b"three"


@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
def test_the_bounds_hold_and_puts_stay_however_often_the_rows_are_lost(folder, store, key_of, reopened):
    small = DiskStore(folder, max_entries=3)
    for number in range(3, 12):
        small.put(key_of(number), b"data", suffix=".cubin")
        assert small.get(key_of(number)) == b"data"
        assert len(list(small.entries())) == 3
        drop_the_rows(folder / "cache.db")
        if reopened:
            small = DiskStore(folder, max_entries=3)


def test_what_was_put_stays_when_the_clock_was_set_back(folder, store, key_of):
    with sqlite3.connect(folder / "cache.db") as connection:
        connection.execute("UPDATE Cache SET store_time = store_time + 86400")
    connection.close()
    small = DiskStore(folder, max_entries=2)
    for number in range(3, 6):
        small.put(key_of(number), b"data", suffix=".cubin")
        assert small.get(key_of(number)) == b"data"
        assert len(list(small.entries())) == 2


def test_a_deleted_folder_is_a_miss_and_the_next_put_makes_it_again(folder, store, key_of):
    shutil.rmtree(folder)
    assert (store.get(key_of(1)), list(store.entries()), store.find(key_of(1))) == (None, [], None)
    store.remove(key_of(1))
    store.collect()
    store.put(key_of(1), b"again", suffix=".cubin")
    assert store.get(key_of(1)) == b"again"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [info.key for info in store.entries()] == [key_of(1)]


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
def test_an_index_locked_by_another_drops_writes_soon_and_stops_no_read(folder, store, key_of, lock, reopened):
    if reopened:
        store = DiskStore(folder, timeout=0.2)
    other = sqlite3.connect(folder / "cache.db", isolation_level=None)
    other.execute(lock)
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(3, 13):
            store.put(key_of(number), b"data", suffix=".cubin")
        assert store.get(key_of(1)) == b"one" * 1000
        assert [store.get(key_of(number)) for number in range(3, 13)] == [None] * 10
    assert time.monotonic() - start < 10
    assert [warning.category for warning in caught] == [CacheWarning]
    assert "locked" in str(caught[0].message)
    other.execute("ROLLBACK")
    other.close()
    store.put(key_of(3), b"data", suffix=".cubin")
    assert store.get(key_of(3)) == b"data"


def plant(folder: Path, key: object, raw: int, mode: int, filename: str | None, value: bytes | None) -> None:
    """Put a row into the index, the oldest of all."""
    with sqlite3.connect(folder / "cache.db") as connection:
        connection.execute("DELETE FROM Cache WHERE key = ?", (key,))
        connection.execute(
            "INSERT INTO Cache(key, raw, store_time, size, mode, filename, value) VALUES (?, ?, 1, 1, ?, ?, ?)",
            (key, raw, mode, filename, value),
        )
    connection.close()


@pytest.mark.parametrize("place", ["value", "file", "key", "file outside"])
def test_a_planted_pickle_is_a_miss_and_never_runs(folder, store, key_of, tmp_path, place):
    went_off, key = tmp_path / "went off", key_of("planted")
    bomb = pickle.dumps(Bomb(went_off))
    (tmp_path / "bomb").write_bytes(bomb)
    file_of(folder, key).parent.mkdir(exist_ok=True)
    file_of(folder, key).write_bytes(bomb)
    rows = {
        "value": (key, 1, 4, None, bomb),
        "file": (key, 1, 4, f"{key[:2]}/{key}.cubin", None),
        "key": (bomb, 0, 4, None, bomb),
        "file outside": (key, 1, 4, "../bomb", None),
    }
    plant(folder, *rows[place])
    for reader in (store, DiskStore(folder)):
        assert reader.get(key) is None
        reader.find(key)
        list(reader.entries())
        reader.verify(remove=False)
    with diskcache.Cache(str(folder), disk=BytesDisk) as cache:
        assert cache.get(key) is None or place == "key"
    store.verify()
    plant(folder, *rows[place])
    DiskStore(folder, max_entries=1).put(key_of(3), b"makes room", suffix=".cubin")
    store.clear()
    assert not went_off.exists()
    assert (tmp_path / "bomb").exists()
    pickle.loads(bomb)
    assert went_off.exists()


def test_a_row_that_names_a_file_outside_removes_nothing_there(folder, store, key_of, tmp_path):
    victim = tmp_path / "victim.cubin"
    victim.write_text("precious")
    plant(folder, key_of("planted"), 1, 2, "../victim.cubin", None)
    small = DiskStore(folder, max_entries=1)
    small.put(key_of(3), b"three", suffix=".cubin")
    assert [info.key for info in small.entries()] == [key_of(3)]
    assert victim.read_text() == "precious"
