"""Whatever happens to the cache's files under a running process: right launches, at most one warning, and healed."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache import entry
from gridjit.cache.disk import DiskStore
from gridjit.cache.entry import open_entry, seal
from gridjit.cache.errors import CacheWarning
from tests.faults.damage import Bomb, cut, drop_the_tables, replace_by_another_file, replace_by_garbage, truncate


def add(x, y):
    x[0] = x[0] + y


def multiply(x, y):
    x[0] = x[0] * y


def launch(function: Callable[..., Any]) -> int:
    """Launch a new kernel of add or multiply, which must be right; return how often it compiled."""
    kernel, x = gridjit.jit(function), np.full(1, 7, np.int64)
    kernel[1, 1](x, 3)
    assert x[0] == {add: 10, multiply: 21}[function]
    return kernel.stats.compiles


def launches(*functions: Callable[..., Any]) -> tuple[list[int], list[str]]:
    """Launch new kernels of functions; return how often each compiled, and the cache's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiles = [launch(function) for function in functions]
    assert {warning.category for warning in caught} <= {CacheWarning}
    return compiles, [str(warning.message) for warning in caught]


def entries(folder: Path, *suffixes: str) -> list[Path]:
    """The files of entries with these suffixes."""
    return sorted(path for path in folder.glob("??/*") if path.suffix in suffixes)


@pytest.fixture
def running(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a process that compiled one kernel, and waits for nothing long."""
    quick = {**(DiskStore.__init__.__kwdefaults__ or {}), "timeout": 0.2}
    monkeypatch.setattr(DiskStore.__init__, "__kwdefaults__", quick)
    assert launches(add) == ([1], [])
    return cache_dir


# -- the database ------------------------------------------------------------------------------------------------------


def make_a_folder_of_it(database: Path) -> None:
    database.unlink()
    database.mkdir()


DAMAGES = (replace_by_garbage, replace_by_another_file, cut, truncate, drop_the_tables, Path.unlink)


@pytest.mark.some(2)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_database_damaged_under_a_running_process_costs_nothing(
    running: Path, restart: Callable[[], None], damage: Callable[[Path], None]
) -> None:
    damage(running / "cache.db")
    assert launches(multiply, add, multiply) == ([1, 0, 0], [])
    restart()
    assert launches(add, multiply) == ([0, 0], [])
    assert DiskStore(running).verify(remove=False).bad == ()


def test_a_database_that_cannot_be_mended_is_one_warning_and_right_results(
    running: Path, restart: Callable[[], None]
) -> None:
    make_a_folder_of_it(running / "cache.db")
    compiles, told = launches(multiply, multiply, add)
    assert compiles == [1, 1, 0]
    (message,) = told
    assert "cannot be written" in message
    (running / "cache.db").rmdir()
    restart()
    assert launches(multiply, add) == ([1, 0], [])
    restart()
    assert launches(multiply, add) == ([0, 0], [])


@pytest.mark.some(1)
@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
def test_a_locked_database_is_one_warning_and_used_again_when_it_is_free(running: Path, lock: str) -> None:
    other = sqlite3.connect(running / "cache.db", isolation_level=None)
    other.execute(lock)
    compiles, told = launches(multiply, add, multiply)
    assert compiles == [1, 0, 1]
    (message,) = told
    assert "locked" in message
    other.execute("ROLLBACK")
    other.close()
    assert launches(multiply, multiply) == ([1, 0], [])


# -- entries -----------------------------------------------------------------------------------------------------------


def test_a_folder_removed_under_a_running_process_is_made_again(running: Path, restart: Callable[[], None]) -> None:
    shutil.rmtree(running)
    assert launches(add, multiply) == ([1, 1], [])
    restart()
    assert launches(add, multiply) == ([0, 0], [])
    assert running.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("sealed", [False, True], ids=["bare", "sealed as an entry"])
def test_pickles_in_place_of_entries_and_in_the_database_never_run(
    running: Path, restart: Callable[[], None], tmp_path: Path, sealed: bool
) -> None:
    went_off = tmp_path / "went off"
    bomb = pickle.dumps(Bomb(went_off))
    for file in entries(running, ".o", ".json"):
        file.write_bytes(seal(file.stem, bomb) if sealed else bomb)
    with sqlite3.connect(running / "cache.db") as connection:
        connection.execute("UPDATE Cache SET raw = 1, mode = 4, value = ?, filename = NULL", (bomb,))
        connection.execute("UPDATE Settings SET value = ? WHERE key = 'tag_index'", (bomb,))
    connection.close()
    restart()
    compiles, told = launches(add, multiply)
    assert (compiles, len(told) <= 1) == ([1, 1], True)
    restart()
    assert launches(add, multiply) == ([0, 0], [])
    assert not went_off.exists()
    pickle.loads(bomb)
    assert went_off.exists()


def other_entry_schema(file: Path, patch: pytest.MonkeyPatch) -> None:
    """Seal an entry under the next version of the format."""
    payload = open_entry(file.stem, file.read_bytes())
    assert payload is not None
    patch.setattr(entry, "SCHEMA", entry.SCHEMA + 1)
    file.write_bytes(seal(file.stem, payload))


def other_payload(file: Path, patch: pytest.MonkeyPatch) -> None:
    """Seal what no version of an artifact, manifest or history reads."""
    payload = open_entry(file.stem, file.read_bytes())
    assert payload is not None
    file.write_bytes(seal(file.stem, payload.replace(b'"schema":2', b'"schema":3')[:-1] + b"?"))


@pytest.mark.some(2)
@pytest.mark.parametrize("write", [other_entry_schema, other_payload])
@pytest.mark.parametrize("suffix", [".o", ".json"])
def test_an_entry_of_another_schema_is_compiled_again_and_replaced(
    running: Path, restart: Callable[[], None], suffix: str, write: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    for file in entries(running, suffix):
        with pytest.MonkeyPatch.context() as patch:
            write(file, patch)
    restart()
    assert launches(add) == ([1], [])
    restart()
    assert launches(add) == ([0], [])


def test_the_code_of_one_kernel_under_another_ones_name_is_compiled_again(
    running: Path, restart: Callable[[], None]
) -> None:
    (mine,) = entries(running, ".o")
    assert launch(multiply) == 1
    (theirs,) = (file for file in entries(running, ".o") if file != mine)
    content = mine.read_bytes()
    mine.write_bytes(theirs.read_bytes())
    theirs.write_bytes(content)
    restart()
    assert launches(add, multiply) == ([1, 1], [])
    restart()
    assert launches(add, multiply) == ([0, 0], [])


# -- whose it is -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_that_belongs_to_another_user_is_not_used(running: Path, restart: Callable[[], None]) -> None:
    before = {path: path.read_bytes() for path in entries(running, ".o", ".json")}
    os.chown(running, 65534, 65534)
    restart()
    compiles, told = launches(add, multiply)
    assert compiles == [1, 1]
    (message,) = told
    assert "belongs to user id 65534" in message
    assert {path: path.read_bytes() for path in entries(running, ".o", ".json")} == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_not_used_unless_that_is_allowed(
    running: Path, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    running.chmod(mode)
    restart()
    compiles, told = launches(add, add)
    assert compiles == [1, 1]
    (message,) = told
    assert "can be written by other users" in message
    monkeypatch.setenv("GRIDJIT_CACHE_ALLOW_SHARED", "1")
    restart()
    assert launches(add, multiply, multiply) == ([0, 1, 0], [])
