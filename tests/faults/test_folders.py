"""Folders that cannot be made, written or filled: no cache, one warning that names it, no exception."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheWarning

# Puts and gets in a folder, and prints what came back and each warning.
USE = """
import sys, warnings
from gridjit.cache.disk import DiskStore
folder, known, new = sys.argv[1:4]
store = DiskStore(folder)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        print(store.get(known))
        store.put(new, b"new", suffix=".o")
        print(store.get(new))
    store.remove(known)
    print(store.get(known))
print(len(caught), caught[0].category.__name__, caught[0].message)
"""


def use_quietly(store: DiskStore, key: str) -> list[str]:
    """Use a store whose folder is of no use, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            store.put(key, b"data", suffix=".o")
            assert store.get(key) is None
            assert list(store.entries()) == []
            store.remove(key)
            store.collect()
    assert all(issubclass(warning.category, CacheWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_folder_that_cannot_be_made_is_not_a_cache_and_gives_one_warning(tmp_path, key_of):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    (message,) = use_quietly(DiskStore(folder), key_of(1))
    assert message.startswith(f"cache folder {folder} cannot be written: ")
    assert message.endswith("Set GRIDJIT_CACHE_DIR to a folder of your own, or GRIDJIT_CACHE=0 to run without a cache.")


def test_a_disk_that_fails_for_every_name_is_not_a_cache_and_gives_one_warning(tmp_path, key_of, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for name in ("stat", "lstat", "mkdir", "open"):
        monkeypatch.setattr(os, name, fail)
    (message,) = use_quietly(DiskStore("/nowhere/cache"), key_of(1))
    assert "Input/output error" in message


def test_a_file_in_the_folders_place_is_not_a_cache_and_gives_one_warning(tmp_path, key_of):
    (tmp_path / "cache").write_text("precious")
    (message,) = use_quietly(DiskStore(tmp_path / "cache"), key_of(1))
    assert str(tmp_path / "cache") in message
    assert (tmp_path / "cache").read_text() == "precious"


def test_a_folder_that_this_user_may_not_make_is_not_a_cache_and_gives_one_warning(open_folder, unprivileged, key_of):
    open_folder.chmod(0o555)
    *answers, said = unprivileged(USE, open_folder / "cache", key_of(1), key_of(2)).splitlines()
    assert set(answers) == {"None"}
    assert said.startswith(f"1 CacheWarning cache folder {open_folder}/cache cannot be written")


def read_only_answers(lines: list[str], folder: Path) -> None:
    """Compare what USE printed for a folder that can be read only."""
    assert lines[:-1] == ["b'known'", "None"] * 3 + ["b'known'"]
    assert lines[-1].startswith(f"1 CacheWarning cache folder {folder} cannot be written: ")


def test_a_folder_that_this_user_may_only_read_answers_and_warns_once(open_folder, unprivileged, key_of):
    folder = open_folder / "cache"
    folder.mkdir(mode=0o755)
    DiskStore(folder).put(key_of(1), b"known", suffix=".o")
    for made in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        made.chmod(0o555)
    read_only_answers(unprivileged(USE, folder, key_of(1), key_of(2)).splitlines(), folder)


def test_a_folder_that_this_user_may_not_even_read_is_not_a_cache_and_gives_one_warning(
    open_folder, unprivileged, key_of
):
    folder = open_folder / "cache"
    DiskStore(folder).put(key_of(1), b"known", suffix=".o")
    folder.chmod(0o000)
    *answers, said = unprivileged(USE, folder, key_of(1), key_of(2)).splitlines()
    assert set(answers) == {"None"}
    assert said.startswith(f"1 CacheWarning cache folder {folder} cannot be")
    folder.chmod(0o700)


def test_a_read_only_file_system_answers_and_warns_once(tmp_path, mounted, key_of):
    folder = tmp_path / "cache"
    DiskStore(folder).put(key_of(1), b"known", suffix=".o")
    mounted(folder, "--bind", str(folder))
    mounted(folder, "-o", "remount,ro,bind")
    done = subprocess.run(
        [sys.executable, "-c", USE, str(folder), key_of(1), key_of(2)], capture_output=True, text=True, check=True
    )
    read_only_answers(done.stdout.splitlines(), folder)


def test_a_python_without_sqlite_reads_and_drops_writes_with_one_warning(tmp_path, key_of):
    DiskStore(tmp_path).put(key_of(1), b"known", suffix=".o")
    no_sqlite = "import sys; sys.modules['_sqlite3'] = None\n"
    command = [sys.executable, "-c", no_sqlite + USE, str(tmp_path), key_of(1), key_of(2)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:-2] == ["b'known'", "None"] * 3
    assert lines[-1].startswith(f"1 CacheWarning cache folder {tmp_path} cannot be written: ")


def test_a_folder_whose_name_holds_a_variable_is_not_another_folder_and_gives_one_warning(
    tmp_path, key_of, monkeypatch
):
    monkeypatch.setenv("ELSEWHERE", "elsewhere")
    (message,) = use_quietly(DiskStore(tmp_path / "$ELSEWHERE" / "cache"), key_of(1))
    assert "write it out" in message
    assert [path.name for path in tmp_path.iterdir()] == ["$ELSEWHERE"]


def test_a_store_opened_read_only_says_nothing_and_writes_nothing(tmp_path, key_of):
    store = DiskStore(tmp_path / "cache", read_only=True)
    store.put(key_of(1), b"data", suffix=".o")
    store.remove(key_of(1))
    store.collect()
    assert (store.clear(), store.verify().good) == (0, 0)
    assert not (tmp_path / "cache").exists()


def test_on_a_full_disk_the_oldest_entries_make_room(tmp_path, mounted, key_of):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    mounted(folder, "-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs")
    store = DiskStore(folder)
    for number in range(40):
        store.put(key_of(number), bytes([number]) * 16_000, suffix=".o")
        assert store.get(key_of(number)) == bytes([number]) * 16_000
    kept = [number for number in range(40) if store.get(key_of(number)) is not None]
    assert 3 < len(kept) < 16
    assert kept == list(range(40 - len(kept), 40))
    assert store.verify(remove=False).bad == ()
    assert list((folder / "tmp").iterdir()) == []


def test_a_disk_filled_by_others_drops_entries_with_one_warning_until_there_is_room(tmp_path, mounted, key_of):
    folder = tmp_path / "disk" / "cache"
    folder.parent.mkdir()
    mounted(folder.parent, "-t", "tmpfs", "-o", "size=256k", "tmpfs")
    store = DiskStore(folder)
    store.put(key_of("before"), b"before", suffix=".o")
    others = folder.parent / "others"
    with others.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(10):
            store.put(key_of(number), bytes(16_000), suffix=".o")
            assert store.get(key_of(number)) is None
    assert [warning.category for warning in caught] == [CacheWarning]
    assert "No space left on device" in str(caught[0].message)
    assert store.get(key_of("before")) == b"before"
    assert list((folder / "tmp").iterdir()) == []
    others.unlink()
    store.put(key_of("after"), bytes(16_000), suffix=".o")
    assert store.get(key_of("after")) == bytes(16_000)


@pytest.mark.parametrize("limit", [0, 500, 5_000, 30_000])
def test_a_write_cut_short_by_a_limit_on_file_size_is_dropped(tmp_path, key_of, limit):
    script = """
import resource, sys, warnings
from gridjit.cache.disk import DiskStore
warnings.simplefilter("ignore")
folder, key, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = DiskStore(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
store.put(key, b"x" * 20_000, suffix=".o")
assert store.get(key) in (None, b"x" * 20_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.put(key, b"after", suffix=".o")
assert store.get(key) == b"after"
assert [info.key for info in store.entries()] == [key]
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "cache"), key_of(1), str(limit)], check=True)


def test_a_program_whose_umask_is_meant_for_files_makes_folders_that_it_can_use(open_folder, unprivileged, key_of):
    open_folder.chmod(0o777)
    set_umask = "import os; os.umask(0o177)\nfrom gridjit.cache.disk import DiskStore\n"
    put = "import sys; DiskStore(sys.argv[1]).put(sys.argv[2], b'data', suffix='.o')\n"
    read = "import sys; from gridjit.cache.disk import DiskStore; print(DiskStore(sys.argv[1]).get(sys.argv[2]))"
    folder = open_folder / "above" / "cache"
    assert unprivileged(set_umask + put, folder, key_of(1)) == ""
    assert unprivileged(read, folder, key_of(1)) == "b'data'\n"
    assert (folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o700) == (0o700, 0o700)
