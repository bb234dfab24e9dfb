"""Uses of what is stored are counted in the folder: cheaply, within a bound, and never at the cost of a launch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gridjit.cache import files
from gridjit.cache.chain import ChainStore
from gridjit.cache.disk import DiskStore, note_use
from gridjit.cache.memory import MemoryStore
from gridjit.cache.uses import UseTotals


@pytest.fixture
def store(tmp_path: Path, key_of: Callable[[object], str]) -> DiskStore:
    made = DiskStore(tmp_path / "cache")
    made.put(key_of(1), b"data", suffix=".o")
    return made


def test_uses_are_read_as_they_were_noted(store: DiskStore, key_of: Callable[[object], str]) -> None:
    for number, hit in ((1, False), (2, True), (1, True)):
        note_use(store, key_of(number), hit=hit)
    assert [(use.key, use.hit) for use in store.uses()] == [
        (key_of(1)[:16], False),
        (key_of(2)[:16], True),
        (key_of(1)[:16], True),
    ]
    tally = UseTotals.of(store.uses())
    assert (tally.hits, tally.compiles, tally.rate) == (2, 1, 0.6667)
    assert tally.since is not None and tally.last is not None and tally.since <= tally.last


def test_no_uses_give_no_rate() -> None:
    assert (UseTotals.of([]).rate, UseTotals.of([]).last) == (None, None)


def test_the_file_keeps_its_newer_half_when_it_is_full(
    store: DiskStore, key_of: Callable[[object], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_USES_BYTES", 10 * 16)
    for number in range(100):
        store.note_use(key_of(number), hit=True)
    kept = [use.key for use in store.uses()]
    assert 5 <= len(kept) <= 10 and kept[-1] == key_of(99)[:16]
    assert os.path.getsize(os.path.join(store.folder, files.USES)) <= 10 * 16


def test_a_chain_counts_in_the_folder_that_it_writes_to(
    store: DiskStore, tmp_path: Path, key_of: Callable[[object], str]
) -> None:
    above = DiskStore(tmp_path / "above")
    above.put(key_of(1), b"data", suffix=".o")
    note_use(ChainStore(above, DiskStore(store.folder, read_only=True)), key_of(1), hit=True)
    assert (len(above.uses()), store.uses()) == (1, [])
    note_use(MemoryStore(), key_of(1), hit=True)


@pytest.mark.parametrize("planted", ["folder", "link", "pipe", "foreign"])
def test_what_is_in_the_files_place_is_left_alone(
    store: DiskStore, tmp_path: Path, key_of: Callable[[object], str], planted: str
) -> None:
    place, other = Path(store.folder) / files.USES, tmp_path / "other"
    other.write_text("precious")
    if planted == "folder":
        place.mkdir()
    elif planted == "link":
        place.symlink_to(other)
    elif planted == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("x")
        place.chmod(0o666)
    store.note_use(key_of(1), hit=True)
    assert store.uses() == []
    assert other.read_text() == "precious"
    assert planted != "foreign" or place.read_text() == "x"


def test_a_torn_record_hides_no_other(store: DiskStore, key_of: Callable[[object], str]) -> None:
    store.note_use(key_of(1), hit=True)
    with open(os.path.join(store.folder, files.USES), "ab") as file:
        file.write(b"torn")
    assert [use.hit for use in store.uses()] == [True]


def test_nothing_is_counted_where_there_is_no_folder_or_others_may_write(
    tmp_path: Path, key_of: Callable[[object], str]
) -> None:
    DiskStore(tmp_path / "none").note_use(key_of(1), hit=True)
    assert not (tmp_path / "none").exists()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    DiskStore(shared, allow_shared=True).note_use(key_of(1), hit=True)
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("clock", [-1e9, 1e10], ids=["before 1970", "after 2106"])
def test_a_clock_that_is_far_off_costs_no_use_and_raises_nothing(
    store: DiskStore, key_of: Callable[[object], str], monkeypatch: pytest.MonkeyPatch, clock: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: clock)
    store.note_use(key_of(1), hit=True)
    assert [use.key for use in store.uses()] == [key_of(1)[:16]]
