"""Manifests: records merge, survive as canonical JSON, and mark a sensitive job by their suffix."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Manifest, Record, add_record, read_manifest
from gridjit.cache.memory import MemoryStore

GOLDEN = Path(__file__).parent / "golden" / "manifest.json"


def block(size: int, artifact: str = "") -> Record:
    """The record of a compile that read blockdim."""
    return Record.of(artifact or f"artifact of {size}", {"blockdim": (size, 1, 1)}, where={"blockdim": "sum.py:14"})


def test_a_manifest_survives_its_bytes():
    every_kind = Record.of("ab" * 32, {"a": None, "b": True, "c": -1, "d": "é\n", "e": (1, (2, "x")), "f": 0.5})
    manifest = Manifest().with_record(block(32)).with_record(every_kind)
    again = Manifest.from_bytes(manifest.to_bytes())
    assert again == manifest
    assert again.records[0].facts[0].where == "sum.py:14"
    assert again.to_bytes() == manifest.to_bytes()


def test_the_bytes_of_a_manifest_are_the_documented_ones():
    record = Record.of(
        "ab" * 32, {"blockdim": (128, 1, 1)}, {"coop.sum:reduce": "5f3a"}, where={"blockdim": "sum.py:14"}
    )
    manifest = Manifest(records=(Record.of("cd" * 32), record))
    assert manifest.to_bytes() == GOLDEN.read_bytes()
    assert Manifest.from_bytes(GOLDEN.read_bytes()) == manifest


def test_lists_and_tuples_are_one_value_and_true_is_not_one():
    assert Record.of("a", {"blockdim": [1, 1, 1]}).cause == Record.of("a", {"blockdim": (1, 1, 1)}).cause
    assert Record.of("a", {"flag": True}).cause != Record.of("a", {"flag": 1}).cause


@pytest.mark.parametrize("value", [{"a": 1}, b"bytes", float("nan"), float("inf"), object(), (1, {2})])
def test_a_value_that_json_would_not_give_back_is_refused(value):
    with pytest.raises(CacheError, match="fact 'args'"):
        Record.of("a", {"args": value})


def test_match_returns_the_newest_record_accepted():
    manifest = Manifest().with_record(block(32)).with_record(block(64)).with_record(Record.of("plain"))
    assert manifest.match(lambda record: bool(record.facts)) == block(64)
    assert manifest.match(lambda record: record.artifact == "none such") is None


def test_a_record_of_the_same_cause_replaces_the_older_and_is_the_newest():
    manifest = Manifest().with_record(block(32, "old")).with_record(block(64)).with_record(block(32, "new"))
    assert [record.artifact for record in manifest.records] == ["artifact of 64", "new"]


def test_the_oldest_records_go_when_there_are_too_many():
    manifest = Manifest()
    for size in range(1, 6):
        manifest = manifest.with_record(block(size), limit=3)
    assert [record.artifact for record in manifest.records] == [f"artifact of {size}" for size in (3, 4, 5)]


def test_the_suffix_is_lcs_exactly_if_some_record_has_facts():
    assert Manifest().suffix == ".json"
    insensitive = Manifest().with_record(Record.of("a", dependencies={"coop.sum:reduce": "5f3a"}))
    assert insensitive.suffix == ".json"
    assert insensitive.with_record(block(32)).suffix == ".lcs"


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"not json",
        b"[]",
        b"\xff\xfe",
        b'{"schema":2,"records":[]}',
        b'{"schema":1}',
        b'{"schema":1,"records":[{}]}',
        b'{"schema":1,"records":[{"artifact":1,"facts":[],"dependencies":[]}]}',
        b'{"schema":1,"records":[{"artifact":"a","facts":{},"dependencies":[]}]}',
        b'{"schema":1,"records":[{"artifact":"a","facts":[{"label":"x","value":{}}],"dependencies":[]}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_manifest_of_this_schema_is_empty(data):
    assert Manifest.from_bytes(data) == Manifest()


def test_the_marker_file_appears_with_the_first_sensitive_record(tmp_path, key_of):
    job, store, locks = key_of("job"), DiskStore(tmp_path), Locks(tmp_path)
    add_record(store, job, Record.of("plain"), locks)
    assert [path.suffix for path in (tmp_path / job[:2]).iterdir()] == [".json"]
    add_record(store, job, block(32), locks)
    assert [path.suffix for path in (tmp_path / job[:2]).iterdir()] == [".lcs"]
    assert [record.artifact for record in read_manifest(store, job).records] == ["plain", "artifact of 32"]


def test_threads_that_add_records_at_once_lose_none(key_of):
    store, locks, together = MemoryStore(), Locks(), threading.Barrier(8)

    def add(number: int) -> None:
        together.wait()
        add_record(store, key_of("job"), block(number + 1), locks)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {record.artifact for record in read_manifest(store, key_of("job")).records} == {
        f"artifact of {number + 1}" for number in range(8)
    }


def test_a_record_is_added_under_a_lock_that_the_thread_already_holds(key_of):
    store, locks = MemoryStore(), Locks()
    with locks.single_flight(key_of("job")) as got:
        assert got
        add_record(store, key_of("job"), block(32), locks, timeout=0)
    assert json.loads(store.get(key_of("job")))["records"][0]["artifact"] == "artifact of 32"
