"""Folder: where it is, who may write what is made above it, and what is read in it."""

from __future__ import annotations

import gc
import os
import stat
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheWarning
from gridjit.cache.folder import folder_at, make_folder, open_inner, read_below, rooted
from gridjit.cache.lock import Locks


@pytest.fixture
def umask() -> object:
    """No bit of a mode is taken away."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_folders_made_above_the_cache_are_not_writable_for_others_whatever_the_umask(tmp_path, umask, key_of):
    DiskStore(tmp_path / "a" / "b" / "cache").put(key_of(1), b"data", suffix=".o")
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "cache"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o755, 0o755, 0o700]


def test_a_folder_that_appears_while_it_is_made_is_taken(tmp_path, monkeypatch):
    real = os.mkdir

    def late(path: str, mode: int, *, dir_fd: int | None = None) -> None:
        real(path, 0o700, dir_fd=dir_fd)
        real(path, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", late)
    make_folder(str(tmp_path / "cache"))
    assert (tmp_path / "cache").is_dir()


def test_a_relative_folder_stays_where_it_is_when_the_process_changes_its_own(tmp_path, monkeypatch, key_of):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    store, locks = DiskStore("cache"), Locks("cache")
    monkeypatch.chdir(tmp_path / "there")
    store.put(key_of(1), b"data", suffix=".o")
    with locks.single_flight(key_of(1)) as got:
        assert got
        assert (tmp_path / "here" / "cache" / "locks" / f"{key_of(1)}.lock").exists()
    assert store.get(key_of(1)) == DiskStore(tmp_path / "here" / "cache").get(key_of(1)) == b"data"
    assert list((tmp_path / "there").iterdir()) == []


def test_a_relative_folder_in_a_current_folder_that_is_gone_is_not_a_cache_and_gives_one_warning(
    tmp_path, monkeypatch, key_of
):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    store, locks = DiskStore("cache"), Locks("cache")
    with pytest.warns(CacheWarning, match="cannot be written") as caught:
        assert store.get(key_of(1)) is None
        store.put(key_of(1), b"data", suffix=".o")
        store.put(key_of(1), b"data", suffix=".o")
        monkeypatch.chdir(tmp_path)
        store.put(key_of(1), b"data", suffix=".o")
    assert len(caught) == 1
    with locks.single_flight(key_of(1), timeout=0) as got:
        assert not got
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "name", [b"caf\xe9", b"a b\tc", b"it's", b"100%", b"#x?y=1&mode=ro", b"-x", b"\xf0\x9f\x8c\xb5"]
)
def test_a_folder_may_have_any_name(tmp_path, key_of, name):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b"/cache"))
    for given in (folder, str(folder), os.fsencode(folder)):
        store = DiskStore(given, max_entries=2)  # type: ignore[arg-type]
        for number in range(4):
            store.put(key_of(number), b"data", suffix=".o")
            assert store.get(key_of(number)) == b"data"
        assert len(list(store.entries())) == 2
        assert store.verify().bad == ()
    with Locks(folder).single_flight(key_of(1)) as got:
        assert got
    assert [path.name for path in tmp_path.iterdir()] == [os.fsdecode(name)]


def test_a_file_that_is_read_in_pieces_is_whole(tmp_path, monkeypatch):
    (tmp_path / "ab").mkdir(mode=0o755)
    (tmp_path / "ab" / "file").write_bytes(bytes(range(200)))
    real = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: real(descriptor, min(size, 7)))
    folder = folder_at(tmp_path)
    directory = open_inner(folder, "ab")
    assert read_below(folder, directory, "file", 1000) == bytes(range(200))
    os.close(directory)


def test_no_descriptor_is_left_open(tmp_path, key_of):
    folder = tmp_path / "cache"
    store, locks = DiskStore(folder), Locks(folder)
    store.put(key_of(0), b"data", suffix=".o")
    (folder / key_of(0)[:2]).chmod(0o777)
    os.mkfifo(folder / "pipe")
    gc.collect()  # it closes what earlier tests left open
    before = os.listdir("/proc/self/fd")
    with pytest.warns(CacheWarning):
        for number in range(20):
            store.get(key_of(number))
            store.put(key_of(number), b"data", suffix=".o")
            store.find(key_of(number))
            (folder / key_of(number)[:2] / "mine").touch()
            (folder / key_of(number)[:2]).chmod(0o777)
            with locks.single_flight(key_of(number)):
                pass
        store.verify()
        store.collect()
        store.clear()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_an_absolute_path_is_itself_and_a_relative_one_begins_where_the_process_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (rooted("/a/../b"), rooted("a/b")) == ("/a/../b", f"{tmp_path}/a/b")
