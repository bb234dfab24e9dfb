"""Commands where the cache's folder cannot be changed: they say what is, and never that something was done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.commands import main


@pytest.fixture
def read_only(tmp_path: Path, mounted: Callable[..., Path], key_of: Callable[[int], str]) -> Path:
    """A folder on a read-only file system, with three entries, one of them damaged."""
    folder = tmp_path / "cache"
    store = DiskStore(folder)
    for number in range(3):
        store.put(key_of(number), b"known", suffix=".o")
    store.close()
    next(folder.glob("??/*.o")).write_bytes(b"damaged")
    mounted(folder, "--bind", str(folder))
    mounted(folder, "-o", "remount,ro,bind")
    return folder


def cache(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `gridjit cache ...` in a process of its own."""
    command = [sys.executable, "-m", "gridjit", "cache", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [["clear"], ["gc", "--max-entries", "0"]])
def test_what_cannot_be_removed_is_not_said_to_be_removed(read_only: Path, words: list[str]) -> None:
    done = cache(*words, "--dir", read_only)
    assert (done.returncode, done.stdout) == (1, "removed 0 entries (0 B)\n")
    assert done.stderr.splitlines()[-1] == f"gridjit: 3 entries could not be removed from {read_only}"
    told = json.loads(cache(*words, "--json", "--dir", read_only).stdout)
    assert (told["removed"], told["keys"], len(told["left"])) == (0, [], 3)


def test_verify_says_of_damaged_entries_whether_they_are_gone(read_only: Path) -> None:
    done = cache("verify", "--remove", "--dir", read_only)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "2 good, 1 bad")
    assert done.stderr.splitlines()[-1] == f"gridjit: 1 entries could not be removed from {read_only}"
    told = json.loads(cache("verify", "--remove", "--json", "--dir", read_only).stdout)
    assert (told["removed"], told["left"]) == (False, told["bad"])


def test_a_folder_in_an_entrys_place_is_not_said_to_be_removed(
    tmp_path: Path, key_of: Callable[[int], str], capsys: pytest.CaptureFixture[str]
) -> None:
    store = DiskStore(tmp_path / "cache")
    store.put(key_of(1), b"known", suffix=".o")
    (entry,) = (tmp_path / "cache").glob("??/*.o")
    entry.unlink()
    entry.mkdir()
    assert main(["cache", "verify", "--remove", "--dir", store.folder]) == 1
    said = capsys.readouterr()
    assert said.out.endswith("0 good, 1 bad\n") and "1 entries could not be removed" in said.err


def test_a_commands_own_warning_is_a_line_that_names_no_line_of_code(read_only: Path) -> None:
    said = cache("clear", "--dir", read_only).stderr
    assert all(line.startswith("gridjit: ") for line in said.splitlines()), said
    assert f"gridjit: cache folder {read_only} cannot be written" in said
