"""Manifests: shapes merge, survive as canonical JSON, mark a sensitive job by their suffix, and never get long."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheError
from gridjit.cache.key import digest
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import (
    MAX_RECENT,
    MAX_SHAPES,
    Manifest,
    Shape,
    add_compile,
    artifact_key,
    note_use,
    read_manifest,
    value_text,
)
from gridjit.cache.memory import MemoryStore

GOLDEN = Path(__file__).parent / "golden" / "manifest.json"
BLOCK, GRID, PLAIN = Shape.of(["blockdim"]), Shape.of(["griddim.x"]), Shape.of()


def code(number: int) -> str:
    """The key of an artifact."""
    return digest([("artifact", number)])


def numbered(number: int) -> Shape:
    """A shape like no other."""
    return Shape.of([f"argument {number}"])


def test_a_manifest_survives_its_bytes():
    shape = Shape.of(["b", "a\udce9"], [("overload", "m.f"), ("linked file", "/é\n")])
    manifest = Manifest().with_compile(BLOCK, code(1)).with_compile(shape, code(2))
    again = Manifest.from_bytes(manifest.to_bytes())
    assert again == manifest
    assert again.shapes[1].facts == ("a\udce9", "b")
    assert again.to_bytes() == manifest.to_bytes()


def test_the_bytes_of_a_manifest_are_the_documented_ones():
    shape = Shape.of(["blockdim"], [("overload", "coop.reduce")])
    manifest = Manifest(shapes=(PLAIN, shape), recent=("cd" * 32, "ab" * 32))
    assert manifest.to_bytes() == GOLDEN.read_bytes()
    assert Manifest.from_bytes(GOLDEN.read_bytes()) == manifest


def test_an_artifacts_key_tells_jobs_labels_values_and_kinds_apart():
    keys = [
        artifact_key("ab" * 32, {}, {}),
        artifact_key("cd" * 32, {}, {}),
        artifact_key("ab" * 32, {"flag": True}, {}),
        artifact_key("ab" * 32, {"flag": 1}, {}),
        artifact_key("ab" * 32, {"flag": "1"}, {}),
        artifact_key("ab" * 32, {"other": 1}, {}),
        artifact_key("ab" * 32, {}, {("overload", "flag"): 1}),
        artifact_key("ab" * 32, {}, {("linked file", "flag"): 1}),
    ]
    assert len(set(keys)) == len(keys)
    assert artifact_key("ab" * 32, {"a": 1, "b": [1, 2]}, {}) == artifact_key("ab" * 32, {"b": (1, 2), "a": 1}, {})


@pytest.mark.parametrize("value", [{"a": 1}, b"bytes", float("nan"), float("inf"), object(), (1, {2})])
def test_a_value_that_json_would_not_give_back_is_refused(value):
    with pytest.raises(CacheError, match="fact 'args'"):
        value_text("args", value)


def test_a_shape_compiled_again_is_there_once_and_the_newest():
    manifest = Manifest().with_compile(BLOCK, code(1)).with_compile(GRID, code(2)).with_compile(BLOCK, code(3))
    assert manifest.shapes == (GRID, BLOCK)
    assert manifest.recent == (code(1), code(2), code(3))


def test_a_manifest_of_ten_thousand_compiles_is_as_long_as_one_of_forty():
    manifest = Manifest()
    lengths = []
    for number in range(10_000):
        manifest = manifest.with_compile(BLOCK, code(number))
        lengths.append(len(manifest.to_bytes()))
    assert manifest.recent == tuple(code(number) for number in range(10_000 - MAX_RECENT, 10_000))
    assert max(lengths) == lengths[40]


def test_shapes_are_bounded_and_those_in_use_stay(tmp_path, key_of):
    store, locks, job = MemoryStore(), Locks(), key_of("job")
    add_compile(store, job, BLOCK, code(0), locks)
    for number in range(3 * MAX_SHAPES):
        add_compile(store, job, numbered(number), code(number), locks)
        note_use(store, job, BLOCK, code(0), read_manifest(store, job), locks)
    known = read_manifest(store, job)
    assert len(known.shapes) == MAX_SHAPES
    assert BLOCK in known.shapes


def test_going_round_a_few_shapes_more_than_are_kept_finds_most_of_them():
    manifest = Manifest()
    count, found = MAX_SHAPES + 8, 0
    for step in range(10 * count):
        shape = numbered(step % count)
        found += shape in manifest.shapes
        if manifest.is_in_danger(shape):
            manifest = manifest.with_compile(shape, code(step))
    assert found > 7 * count


def test_a_use_of_a_shape_that_is_not_in_danger_writes_nothing(key_of):
    store, locks, job = MemoryStore(), Locks(), key_of("job")
    add_compile(store, job, BLOCK, code(1), locks)
    add_compile(store, job, GRID, code(2), locks)
    before = store.get(job)
    note_use(store, job, BLOCK, code(1), read_manifest(store, job), locks)
    assert store.get(job) is before


def test_the_suffix_is_lcs_exactly_if_some_shape_has_facts():
    assert Manifest().suffix == ".json"
    insensitive = Manifest().with_compile(Shape.of(used=[("overload", "coop.reduce")]), code(1))
    assert insensitive.suffix == ".json"
    assert insensitive.with_compile(BLOCK, code(2)).suffix == ".lcs"


def broken(**changes: object) -> bytes:
    """A manifest with something else in a place."""
    whole = {"schema": 2, "recent": [], "shapes": [{"facts": ["blockdim"], "used": []}]}
    return json.dumps({**whole, **changes}).encode()


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"not json",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"schema":' + b"9" * 5_000 + b"}",
        broken(schema=1),
        broken(schema=True),
        broken(schema=2.0),
        broken(more=1),
        broken(recent=["../../etc/passwd"]),
        broken(recent=["ab" * 32] * 2),
        broken(recent=["ab" * 32, 1]),
        broken(recent=[f"{number:064x}" for number in range(20_000)]),
        broken(shapes={}),
        broken(shapes=[{}]),
        broken(shapes=[{"facts": ["b", "a"], "used": []}]),
        broken(shapes=[{"facts": ["a", "a"], "used": []}]),
        broken(shapes=[{"facts": [1], "used": []}]),
        broken(shapes=[{"facts": [], "used": [["overload"]]}]),
        broken(shapes=[{"facts": [], "used": []}] * 2),
        broken(shapes=[{"facts": [str(number)], "used": []} for number in range(20_000)]),
    ],
)
def test_what_is_not_a_manifest_of_this_schema_is_empty(data):
    assert Manifest.from_bytes(broken()).shapes == (BLOCK,)
    assert Manifest.from_bytes(data) == Manifest()


def test_the_marker_file_appears_with_the_first_sensitive_shape(tmp_path, key_of):
    job, store, locks = key_of("job"), DiskStore(tmp_path), Locks(tmp_path)
    add_compile(store, job, PLAIN, code(1), locks)
    assert [path.suffix for path in (tmp_path / job[:2]).iterdir()] == [".json"]
    add_compile(store, job, BLOCK, code(2), locks)
    assert [path.suffix for path in (tmp_path / job[:2]).iterdir()] == [".lcs"]
    assert read_manifest(store, job) == Manifest(shapes=(PLAIN, BLOCK), recent=(code(1), code(2)))


def test_threads_that_add_shapes_at_once_lose_none(key_of):
    store, locks, together = MemoryStore(), Locks(), threading.Barrier(8)

    def add(number: int) -> None:
        together.wait()
        add_compile(store, key_of("job"), numbered(number), code(number), locks)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = read_manifest(store, key_of("job"))
    assert set(known.shapes) == {numbered(number) for number in range(8)}
    assert set(known.recent) == {code(number) for number in range(8)}


def test_a_compile_is_added_under_a_lock_that_the_thread_already_holds(key_of):
    store, locks = MemoryStore(), Locks()
    with locks.single_flight(key_of("job")) as got:
        assert got
        assert add_compile(store, key_of("job"), BLOCK, code(1), locks, timeout=0) == Manifest()
    assert json.loads(store.get(key_of("job")))["recent"] == [code(1)]  # type: ignore[arg-type]
