"""A bundle: the same entries are the same bytes, nothing unproven comes out, nothing newer is overwritten."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.bundle import HEAD, MAGIC, Imported, bundle_bytes, import_bundle, read_bundle, write_bundle
from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheError
from gridjit.cache.history import History, PastJob, add_job, job_entry, read_history
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import Manifest, Shape, read_manifest
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store

KeyOf = Callable[[object], str]


def filled(key_of: KeyOf, blocks: tuple[int, ...] = (32, 64)) -> MemoryStore:
    """Return a store with an artifact for each number, and the manifest and history of their job."""
    store = MemoryStore()
    manifest = Manifest()
    for block in blocks:
        store.put(key_of(block), f"code for {block}".encode(), suffix=".o")
        manifest = manifest.with_compile(Shape.of([f"argument {block}"]), key_of(block))
    store.put(key_of("job"), manifest.to_bytes(), suffix=manifest.suffix)
    add_job(store, "k", PastJob.of(key_of("job"), [("global X", str(blocks))], 1.0))
    return store


def export(store: Store, path: Path, secret: bytes | None = None) -> bytes:
    """Write all of store to path and return the bytes."""
    write_bundle(path, store, store.entries(), secret)
    return path.read_bytes()


def contents(store: Store) -> dict[str, tuple[str, bytes | None]]:
    """Return suffix and payload by key."""
    return {info.key: (info.suffix, store.get(info.key)) for info in store.entries()}


def test_what_is_exported_is_what_is_imported(key_of: KeyOf, store: Store, tmp_path: Path) -> None:
    export(filled(key_of), tmp_path / "b")
    done = import_bundle(tmp_path / "b", store, Locks(), None)
    assert contents(store) == contents(filled(key_of))
    assert (len(done.added), done.merged, done.known, done.refused) == (4, (), (), ())
    again = import_bundle(tmp_path / "b", store, Locks(), None)
    assert again == Imported(added=(), merged=(), known=done.added, refused=(), dropped=())


def test_a_bundle_in_memory_is_the_same_as_in_a_file(key_of: KeyOf, store: Store, tmp_path: Path) -> None:
    source = filled(key_of)
    bundle = bundle_bytes(source, source.entries(), None)
    assert bundle == export(source, tmp_path / "b")
    with pytest.raises(CacheError, match="bundle in memory is cut short or altered"):
        import_bundle(bundle[:-1], store, Locks(), None)
    assert [*store.entries()] == []
    assert len(import_bundle(bundle, store, Locks(), None).added) == 4
    assert contents(store) == contents(source)


def test_the_entry_of_a_job_is_found_among_others(key_of: KeyOf) -> None:
    store = MemoryStore()
    for number in range(8):
        add_job(store, "k", PastJob.of(key_of(number), [("number", str(number))], 1.0))
    told = [job_entry(store, "k", key_of(number)) for number in range(9)]
    assert told[8] is None
    found = [History.from_bytes(store.get(entry.key)) for entry in told if entry is not None]
    assert [job.key for history in found if history for job in history.jobs] == [key_of(n) for n in range(8)]


def test_the_same_entries_are_the_same_bytes(key_of: KeyOf, tmp_path: Path) -> None:
    one = filled(key_of)
    other = MemoryStore()
    for key, (suffix, data) in sorted(contents(one).items(), reverse=True):
        other.put(key, data or b"", suffix=suffix)
    disk = DiskStore(tmp_path / "disk")
    export(one, tmp_path / "b")
    import_bundle(tmp_path / "b", disk, Locks(), None)
    assert export(one, tmp_path / "1") == export(other, tmp_path / "2") == export(disk, tmp_path / "3")


def test_artifacts_come_before_the_manifests_that_name_them(key_of: KeyOf, tmp_path: Path) -> None:
    export(filled(key_of), tmp_path / "b")
    suffixes = [entry.suffix for entry in read_bundle(tmp_path / "b", None)]
    assert sorted(suffixes[:2]) == [".o", ".o"]
    assert sorted(suffixes[2:]) == [".json", ".lcs"]


def test_what_is_there_stays_and_manifests_are_merged_with_mine_as_the_newer(key_of: KeyOf, tmp_path: Path) -> None:
    export(filled(key_of, (32, 64)), tmp_path / "b")
    mine = filled(key_of, (64, 128))
    mine.put(key_of(64), b"my code for 64", suffix=".o")
    done = import_bundle(tmp_path / "b", mine, Locks(), None)
    assert mine.get(key_of(64)) == b"my code for 64"
    assert mine.get(key_of(32)) == b"code for 32"
    known = read_manifest(mine, key_of("job"))
    assert known.shapes == tuple(Shape.of([f"argument {number}"]) for number in (32, 64, 128))
    assert known.recent == tuple(map(key_of, (32, 64, 128)))
    assert (done.added, done.merged) == ((key_of(32),), (key_of("job"),))
    assert key_of(64) in done.known and len(done.known) == 2
    assert read_history(mine, "k").jobs[-1].field("global X") == "(64, 128)"


def test_jobs_that_are_not_known_yet_are_added_to_a_history_in_the_order_they_were_made(
    key_of: KeyOf, tmp_path: Path
) -> None:
    theirs, mine = MemoryStore(), MemoryStore()
    for store, jobs in ((theirs, ("a", "b")), (mine, ("b", "c"))):
        for name in jobs:
            add_job(store, "k", PastJob.of(key_of(name), [("global X", name)], float(ord(name))))
    export(theirs, tmp_path / "b")
    done = import_bundle(tmp_path / "b", mine, Locks(), None)
    assert (len(done.added), len(done.known)) == (1, 1)
    assert [job.field("global X") for job in read_history(mine, "k").jobs] == ["a", "b", "c"]


def test_a_plain_manifest_becomes_a_sensitive_one_when_a_shape_with_facts_comes(key_of: KeyOf, tmp_path: Path) -> None:
    export(filled(key_of), tmp_path / "b")
    mine = DiskStore(tmp_path / "mine")
    mine.put(key_of("job"), Manifest().with_compile(Shape.of(), key_of(1)).to_bytes(), suffix=".json")
    import_bundle(tmp_path / "b", mine, Locks(), None)
    found = mine.find(key_of("job"))
    assert found is not None and found.suffix == ".lcs"
    assert len(read_manifest(mine, key_of("job")).shapes) == 3


def test_a_manifest_that_is_not_of_a_kind_with_mine_changes_nothing(key_of: KeyOf, tmp_path: Path) -> None:
    theirs, mine = MemoryStore(), MemoryStore()
    theirs.put(key_of("job"), b'{"schema":99}', suffix=".json")
    mine.put(key_of("job"), filled(key_of).get(key_of("job")) or b"", suffix=".lcs")
    before = contents(mine)
    export(theirs, tmp_path / "b")
    import_bundle(tmp_path / "b", mine, Locks(), None)
    assert contents(mine) == before


def test_what_the_store_does_not_keep_is_told_apart_from_what_was_added(key_of: KeyOf, tmp_path: Path) -> None:
    export(filled(key_of), tmp_path / "b")
    small = MemoryStore(max_bytes=100)  # holds the code, and no manifest or history
    done = import_bundle(tmp_path / "b", small, Locks(), None)
    assert set(done.added) == {key_of(32), key_of(64)} == set(contents(small))
    assert key_of("job") in done.dropped and len(done.dropped) == 2


def test_code_that_a_small_folder_gave_up_for_other_code_is_told_apart_from_what_was_added(
    key_of: KeyOf, tmp_path: Path
) -> None:
    export(filled(key_of), tmp_path / "b")
    small = DiskStore(tmp_path / "small", max_entries=3)
    done = import_bundle(tmp_path / "b", small, Locks(), None)
    (lost,) = done.dropped
    assert {lost, *done.added} >= {key_of(32), key_of(64)} and small.find(lost) is None
    assert {info.key for info in small.entries()} >= {key_of(32), key_of(64)} - {lost}


def test_a_signed_bundle_needs_the_secret_that_signed_it(key_of: KeyOf, tmp_path: Path) -> None:
    export(filled(key_of), tmp_path / "signed", b"a secret")
    export(filled(key_of), tmp_path / "plain")
    for path, secret in (("signed", None), ("signed", b"another"), ("plain", b"a secret")):
        empty = MemoryStore()
        done = import_bundle(tmp_path / path, empty, Locks(), secret)
        assert len(done.refused) == 4
        assert contents(empty) == {}
    assert len(import_bundle(tmp_path / "signed", MemoryStore(), Locks(), b"a secret").added) == 4


def test_an_altered_or_shortened_bundle_adds_nothing(key_of: KeyOf, tmp_path: Path) -> None:
    data = export(filled(key_of), tmp_path / "b")
    empty = MemoryStore()
    cuts = [data[:length] for length in range(0, len(data), 7)] + [data + b"x"]
    flips = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 3)]
    for wrong in cuts + flips:
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(CacheError):
            import_bundle(tmp_path / "wrong", empty, Locks(), None)
    assert contents(empty) == {}


def resealed(entries: bytes, count: int) -> bytes:
    """Return a bundle whose own digest is right, as an attacker would make it."""
    body = MAGIC + entries + HEAD.pack(0, count)
    return body + sha256(body).digest()


@pytest.mark.parametrize("name", [b"../../etc/passwd", b"ab/ab/../x.o", b"zz/zzzzzzzz.o", b"ab/abababab.py", b"\xff"])
def test_a_name_that_is_not_an_entrys_is_refused(name: bytes, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(resealed(HEAD.pack(len(name), 4) + name + b"data", 1))
    with pytest.raises(CacheError, match="does not name an entry"):
        import_bundle(tmp_path / "b", MemoryStore(), Locks(), None)


def test_a_payload_under_another_entrys_name_is_refused_and_no_pickle_is_read(key_of: KeyOf, tmp_path: Path) -> None:
    name = f"{key_of(1)[:2]}/{key_of(1)}.o".encode()
    data = pickle.dumps(Bomb())
    (tmp_path / "b").write_bytes(resealed(HEAD.pack(len(name), len(data)) + name + data, 1))
    empty = MemoryStore()
    assert import_bundle(tmp_path / "b", empty, Locks(), None).refused == (key_of(1),)
    assert contents(empty) == {}


class Bomb:
    """An object that must not be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was read",))


def test_a_bundle_that_cannot_be_written_leaves_nothing_behind(key_of: KeyOf, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError, match="b"):
        write_bundle(tmp_path / "b", filled(key_of), filled(key_of).entries(), None)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_bytes_are_laid_out_as_the_document_says(tmp_path: Path) -> None:
    store = MemoryStore()
    store.put("ab" * 8, b"code", suffix=".o")
    data = export(store, tmp_path / "b")
    name = b"ab/abababababababab.o"
    entry = b"code" + b"ab" * 8 + b"gridjit\0" + struct.pack("<HHIQ", 1, 0, 16, 4)
    entry += sha256(entry).digest()
    body = b"gridjit bundle 1" + struct.pack("<HQ", len(name), len(entry)) + name + entry + struct.pack("<HQ", 0, 1)
    assert data == body + sha256(body).digest()


@pytest.mark.timeout(60)
def test_a_pipe_in_a_bundles_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CacheError, match="is not a regular file"):
        list(read_bundle(tmp_path / "pipe", None))


def test_what_is_read_of_a_bundle_is_what_was_checked(key_of: KeyOf, tmp_path: Path) -> None:
    path = tmp_path / "b"
    export(filled(key_of), path)
    entries = read_bundle(path, None)
    first = next(entries)
    path.unlink()
    path.write_bytes(b"another bundle")
    assert len([first, *entries]) == 4
