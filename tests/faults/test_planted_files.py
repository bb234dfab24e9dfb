"""What others put into a cache folder: no link is followed, no pipe waited for, and what they may write is not used."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheWarning
from gridjit.cache.lock import Locks

NOBODY = 65534
SECRET = b"a secret of sixteen bytes"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cache's folder."""
    return tmp_path / "cache"


@pytest.fixture
def keys(key_of: Callable[[object], str]) -> tuple[str, str, str]:
    """Three keys, of which the first two have one directory."""
    first = key_of(0)
    second = next(key for n in range(1, 10_000) if (key := key_of(n))[:2] == first[:2])
    third = next(key for n in range(1, 10_000) if (key := key_of(n))[:2] != first[:2])
    return first, second, third


@contextmanager
def one_warning(*words: str) -> Iterator[None]:
    """Expect exactly one warning of the cache, with these words in it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    (warning,) = caught
    assert warning.category is CacheWarning
    assert [word for word in words if word not in str(warning.message)] == []


def quietly_use(folder: Path, keys: tuple[str, str, str], **options: bool | bytes) -> list[bytes | None]:
    """Do with a cache folder all that can be done; return what was there at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = DiskStore(folder, timeout=0.2, max_entries=3, **options)  # type: ignore[arg-type]
        locks = Locks(folder, allow_shared=bool(options.get("allow_shared")))
        for key in keys:
            store.get(key)
            store.find(key)
            with locks.single_flight(key, timeout=0.05):
                store.put(key, b"new", suffix=".o")
        found = [store.get(key) for key in keys]
        locks.sweep()
        store.collect()
        store.verify()
        store.remove(keys[0])
        store.clear()
        return found


# -- what others may write ---------------------------------------------------------------------------------------------


def once_shared(folder: Path, keys: tuple[str, str, str], mode: int) -> Path:
    """Fill a folder of which one directory is still open to others; return that."""
    store = DiskStore(folder)
    for key in keys:
        store.put(key, b"put", suffix=".o")
    folder.chmod(0o755)
    shard = folder / keys[0][:2]
    shard.chmod(mode)
    return shard


@pytest.mark.parametrize("mode", [0o2775, 0o777, 0o1777, 0o702])
def test_a_directory_that_others_may_write_is_not_used_and_named_in_one_warning(folder, keys, mode):
    once_shared(folder, keys, mode)
    store = DiskStore(folder)
    why = f"{keys[0][:2]} can be written by other users (mode {mode:o})"
    with one_warning(str(folder), why, "Delete it, or the whole folder"):
        assert [store.get(key) for key in keys] == [None, None, b"put"]
        assert store.find(keys[0]) is None
        assert [info.key for info in store.entries()] == [keys[2]]
    store = DiskStore(folder, allow_shared=True)
    assert [store.get(key) for key in keys] == [b"put"] * 3


def test_a_put_makes_such_a_directory_anew_and_nothing_of_before_is_used(folder, keys):
    shard = once_shared(folder, keys, 0o2775)
    store = DiskStore(folder)
    store.put(keys[1], b"new", suffix=".o")
    assert [store.get(key) for key in keys] == [None, b"new", b"put"]
    assert stat.S_IMODE(shard.stat().st_mode) & 0o022 == 0
    assert {info.key for info in store.entries()} == set(keys[1:])


def test_such_a_directory_with_files_of_the_users_own_is_left_and_named(folder, keys):
    shard = once_shared(folder, keys, 0o2775)
    (shard / "thesis.txt").write_text("precious")
    store = DiskStore(folder)
    with one_warning(str(folder), f"{shard.name} can be written by other users"):
        store.put(keys[1], b"new", suffix=".o")
        store.put(keys[2], b"new", suffix=".o")
    assert [store.find(key) is None for key in keys] == [True, True, False]
    assert store.get(keys[2]) == b"new"
    assert (shard / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize("name", ["tmp", "locks"])
def test_a_folder_whose_tmp_or_locks_others_may_write_stores_and_locks(folder, keys, name):
    once_shared(folder, keys, 0o755)
    (folder / name).mkdir(exist_ok=True)
    (folder / name).chmod(0o2777)
    store = DiskStore(folder)
    with Locks(folder).single_flight(keys[0], timeout=1) as got:
        assert got
    store.put(keys[0], b"new", suffix=".o")
    assert store.get(keys[0]) == b"new"
    assert stat.S_IMODE((folder / name).stat().st_mode) & 0o022 == 0


def test_an_entry_that_others_may_write_is_not_used_until_it_is_put_again(folder, keys):
    shard = once_shared(folder, keys, 0o755)
    (shard / f"{keys[0]}.o").chmod(0o664)
    store = DiskStore(folder)
    with one_warning(str(folder), f"{keys[0]}.o can be written by other users (mode 664)"):
        assert [store.get(key) for key in keys] == [None, b"put", b"put"]
    assert [info.key for info in DiskStore(folder).verify(remove=False).bad] == [keys[0]]
    store.put(keys[0], b"new", suffix=".o")
    assert store.get(keys[0]) == b"new"


@as_root
@pytest.mark.parametrize("what", ["directory", "entry"])
def test_what_another_user_owns_in_the_folder_is_not_used(folder, keys, what):
    shard = once_shared(folder, keys, 0o755)
    os.chown(shard if what == "directory" else shard / f"{keys[0]}.o", NOBODY, NOBODY)
    store = DiskStore(folder)
    with one_warning("belongs to user id 65534, and this process runs as 0"):
        assert [store.get(key) for key in keys] == [None, None if what == "directory" else b"put", b"put"]
    store.put(keys[0], b"new", suffix=".o")
    assert store.get(keys[0]) == b"new"


@as_root
def test_what_root_owns_in_a_users_folder_is_used(open_folder, keys, unprivileged):
    folder = open_folder / "cache"
    shard = once_shared(folder, keys, 0o755)
    (shard / f"{keys[0]}.o").chmod(0o644)
    os.chown(folder, NOBODY, NOBODY)
    script = "import sys; print(gridjit.cache.disk.DiskStore(sys.argv[1]).get(sys.argv[2]))"
    assert unprivileged(script, folder, keys[0]) == "b'put'\n"


@as_root
def test_a_user_cannot_plant_an_entry_in_a_folder_that_was_shared_once(open_folder, keys, unprivileged):
    folder = open_folder / "cache"
    once_shared(folder, keys, 0o777)
    plant = """
import os, sys
from gridjit.cache.entry import seal
path, key = sys.argv[1:]
os.unlink(path)
with open(path, "wb") as file:
    file.write(seal(key, b"planted"))
"""
    unprivileged(plant, folder / keys[0][:2] / f"{keys[0]}.o", keys[0])
    with one_warning("can be written by other users"):
        assert DiskStore(folder).get(keys[0]) is None
    (folder / keys[0][:2]).chmod(0o755)
    with one_warning("belongs to user id 65534"):
        assert DiskStore(folder).get(keys[0]) is None


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def victim(tmp_path: Path, keys: tuple[str, str, str]) -> Path:
    """A folder with what a cache would write, remove, lock or open as a database if it were led there."""
    made = tmp_path / "victim"
    made.mkdir()
    for key in keys:
        for name in (f"{key}.o", f"{key}.json", f"{key}.lock", f"{key[:16]}-{'0' * 16}"):
            (made / name).write_text("precious")
            os.utime(made / name, (1, 1))
    with sqlite3.connect(made / "mail.db") as database:
        database.execute("CREATE TABLE mail (text)")
    database.close()
    return made


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """What tells whether anything in a folder was changed."""
    found = {path.name: path.stat() for path in folder.iterdir()}
    return {name: (at.st_mtime_ns, at.st_mode, (folder / name).read_bytes()) for name, at in found.items()}


PLACES = ["tmp", "locks", "directory", "entry", "lock", "database", "journal", "wal", "temporary"]


def place_of(folder: Path, keys: tuple[str, str, str], place: str) -> tuple[Path, str]:
    """Where to plant something, and at what of the victim a link there is to lead."""
    key = keys[0]
    return {
        "tmp": (folder / "tmp", "."),
        "locks": (folder / "locks", "."),
        "directory": (folder / key[:2], "."),
        "entry": (folder / key[:2] / f"{key}.o", f"{key}.o"),
        "lock": (folder / "locks" / f"{key}.lock", f"{key}.lock"),
        "new lock": (folder / "locks" / f"{key}.lock", "new"),
        "new database": (folder / "cache.db", "new"),
        "database": (folder / "cache.db", "mail.db"),
        "journal": (folder / "cache.db-journal", f"{key}.json"),
        "wal": (folder / "cache.db-wal", "new"),
        "temporary": (folder / "tmp" / f"{key[:16]}-{'0' * 16}", f"{key[:16]}-{'0' * 16}"),
    }[place]


def prepare(folder: Path, mode: int) -> None:
    """Make an empty cache folder with this mode, as all that is in it."""
    for made in (folder, folder / "tmp", folder / "locks"):
        made.mkdir()
        made.chmod(mode)


@pytest.mark.each_value_once
@pytest.mark.parametrize("place", [*PLACES, "new lock", "new database"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("owner", [0, pytest.param(NOBODY, marks=as_root)], ids=["my link", "another's link"])
def test_a_link_in_the_folder_is_never_followed(folder, keys, victim, place, shared, owner):
    prepare(folder, 0o777 if shared else 0o755)
    link, leads_to = place_of(folder, keys, place)
    link.parent.mkdir(exist_ok=True)
    if link.is_dir():
        link.rmdir()
    link.symlink_to(victim / leads_to)
    if owner:
        os.lchown(link, owner, owner)
    before = snapshot(victim)
    if shared:
        quietly_use(folder, keys, allow_shared=True, secret=SECRET)
    else:
        quietly_use(folder, keys)
    assert snapshot(victim) == before


@pytest.mark.parametrize("place", ["entry", "lock", "database", "journal", "temporary"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_a_second_name_of_a_file_elsewhere_is_not_written_to(folder, keys, victim, place, shared):
    prepare(folder, 0o777 if shared else 0o755)
    name, leads_to = place_of(folder, keys, place)
    name.parent.mkdir(exist_ok=True)
    os.link(victim / leads_to, name)
    before = snapshot(victim)
    if shared:
        quietly_use(folder, keys, allow_shared=True, secret=SECRET)
    else:
        assert quietly_use(folder, keys) == [b"new"] * 3
    assert snapshot(victim) == before


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_an_entry_behind_a_link_is_a_miss(tmp_path, folder, keys, shared):
    DiskStore(folder).put(keys[0], b"put", suffix=".o")
    entry = folder / keys[0][:2] / f"{keys[0]}.o"
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    store = DiskStore(folder, allow_shared=shared)
    with one_warning(str(folder), entry.name):
        assert store.get(keys[0]) is None
    entry.unlink()
    entry.parent.rename(tmp_path / "directory")
    (tmp_path / "elsewhere").rename(tmp_path / "directory" / entry.name)
    entry.parent.symlink_to(tmp_path / "directory")
    store = DiskStore(folder, allow_shared=shared)
    with one_warning(str(folder), entry.parent.name):
        assert store.get(keys[0]) is None


@pytest.mark.parametrize("plant", [Path.symlink_to, Path.hardlink_to], ids=["link", "second name"])
def test_a_file_elsewhere_is_not_locked_in_a_locks_place(folder, keys, victim, plant):
    prepare(folder, 0o777)
    plant(folder / "locks" / f"{keys[0]}.lock", victim / f"{keys[0]}.lock")
    with Locks(folder, allow_shared=True).single_flight(keys[0], timeout=0.05) as got:
        assert not got


@as_root
def test_a_link_that_another_user_made_is_not_a_cache_folder(tmp_path, folder, keys):
    (tmp_path / "mine").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "mine")
    os.lchown(folder, NOBODY, NOBODY)
    for store in (DiskStore(folder), DiskStore(f"{folder}/"), DiskStore(folder, allow_shared=True)):
        with one_warning(f"cache folder {folder} ", "it is a symbolic link that belongs to user id 65534"):
            store.put(keys[0], b"new", suffix=".o")
            assert store.get(keys[0]) is None
    with Locks(folder).single_flight(keys[0], timeout=0) as got:
        assert not got
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_link_of_ones_own_to_a_folder_elsewhere_is_a_cache_folder(tmp_path, folder, keys):
    (tmp_path / "disk").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "disk")
    store = DiskStore(folder)
    store.put(keys[0], b"new", suffix=".o")
    assert store.get(keys[0]) == DiskStore(tmp_path / "disk").get(keys[0]) == b"new"
    with Locks(folder).single_flight(keys[0], timeout=0) as got:
        assert got


# -- pipes, devices, sockets, directories ------------------------------------------------------------------------------


def make_device(path: Path) -> None:
    """Make a device that gives zeros without end."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError as error:
        pytest.skip(f"this process may not make devices: {error}")


def make_socket(path: Path) -> None:
    """Make a socket nobody listens at, in a folder whose name may be long."""
    here = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def make_endless(path: Path) -> None:
    """Make a file of many terabytes that takes no room."""
    path.touch(mode=0o600)
    os.truncate(path, 1 << 43)


THINGS = {"pipe": os.mkfifo, "device": make_device, "socket": make_socket, "directory": Path.mkdir}


@pytest.mark.each_value_once
@pytest.mark.timeout(60)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", THINGS.values(), ids=list(THINGS))
def test_no_pipe_device_socket_or_directory_is_waited_for_or_raised_over(folder, keys, place, make, shared):
    prepare(folder, 0o777 if shared else 0o755)
    where, _ = place_of(folder, keys, place)
    where.parent.mkdir(exist_ok=True)
    if where.is_dir():
        where.rmdir()
    make(where)
    found = quietly_use(folder, keys, allow_shared=shared)
    assert set(found) <= {None, b"new"}
    if place in ("entry", "temporary", "lock", "directory") and not (place == "directory" and make is not Path.mkdir):
        assert found[1:] == [b"new", b"new"]


@pytest.mark.timeout(60)
def test_a_file_without_end_in_an_entrys_place_is_a_miss(folder, keys):
    once_shared(folder, keys, 0o755)
    path = folder / keys[0][:2] / f"{keys[0]}.o"
    path.unlink()
    make_endless(path)
    store = DiskStore(folder)
    with one_warning(str(folder), "File too large", keys[0]):
        assert [store.get(key) for key in keys] == [None, b"put", b"put"]
    store.put(keys[0], b"new", suffix=".o")
    assert store.get(keys[0]) == b"new"


def test_a_file_of_no_use_does_not_hide_the_keys_other_files(folder, keys):
    store = DiskStore(folder)
    store.put(keys[0], b"put", suffix=".lcs")
    os.mkfifo(folder / keys[0][:2] / f"{keys[0]}.cubin")
    with one_warning("Not a regular file"):
        assert store.get(keys[0]) == b"put"


@pytest.mark.parametrize("make", [os.mkfifo, make_socket, make_device], ids=["pipe", "socket", "device"])
def test_a_database_that_is_not_a_file_is_made_anew(folder, keys, make):
    DiskStore(folder).put(keys[0], b"put", suffix=".o")
    (folder / "cache.db").unlink()
    make(folder / "cache.db")
    store = DiskStore(folder)
    store.put(keys[1], b"new", suffix=".o")
    assert [store.get(key) for key in keys] == [b"put", b"new", None]
    assert (folder / "cache.db").is_file()


@as_root
@pytest.mark.parametrize("name", ["cache.db", "cache.db-journal", "cache.db-wal"])
def test_a_database_another_user_had_a_hand_in_is_made_anew(folder, keys, name):
    DiskStore(folder).put(keys[0], b"put", suffix=".o")
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("CREATE TABLE planted (text)")
    database.close()
    (folder / name).touch()
    os.chown(folder / name, NOBODY, NOBODY)
    store = DiskStore(folder)
    store.put(keys[1], b"new", suffix=".o")
    assert [store.get(key) for key in keys] == [b"put", b"new", None]
    assert {path.stat().st_uid for path in folder.glob("cache.db*")} == {0}
    assert b"planted" not in (folder / "cache.db").read_bytes()
