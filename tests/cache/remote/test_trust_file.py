"""The trust file is read only if it is valid, and nobody else may write it; it is changed as a whole."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.remote.key_lines import WritersError, key_text
from gridjit.cache.remote.trust_file import MOST_BYTES, Writer, change_writers, checked_prefix, read_writers

ONE = {"name": "ci", "key": key_text(bytes(32)), "prefixes": ["main", "pr/*"], "withdrawn": None}
CI = Writer(name="ci", key=bytes(32), prefixes=("main", "pr/*"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trust file with one writer."""
    change_writers(tmp_path / "writers.json", lambda known: (*known, CI))
    return tmp_path / "writers.json"


def write(path: Path, *writers: Any, **more: Any) -> None:
    path.write_text(json.dumps({"schema": 1, "writers": list(writers)} | more))


def test_it_is_read_as_it_was_written(path: Path) -> None:
    assert read_writers(path) == (CI,)
    gone = Writer(name="gone", key=b"\1" * 32, prefixes=(), withdrawn="2026-01-31")
    change_writers(path, lambda known: (gone, *known))
    assert read_writers(path) == (gone, CI)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "../ci"}, "cannot be a writer's name"),
        ({"name": 3}, "a string is expected, not a int"),
        ({"key": key_text(bytes(32))[:-1] + "!"}, "is not valid: "),
        ({"key": "A" + key_text(bytes(32))[1:-1] + "B"}, "a character of the key is missing or wrong"),
        ({"key": ""}, "a character of the key is missing or wrong"),
        ({"prefixes": "main"}, "a list of at most"),
        ({"prefixes": ["main", "*/x"]}, "is not a pattern of prefixes: give a prefix such as main"),
        ({"withdrawn": False}, "a string is expected, not a bool"),
        ({"withdrawn": "yesterday"}, "yesterday"),
        ({"until": "2027-01-01"}, "an object with key, name, prefixes, withdrawn is expected"),
    ],
)
def test_a_writer_that_is_not_valid_makes_the_file_invalid(path: Path, changed: dict[str, Any], said: str) -> None:
    write(path, ONE | changed)
    with pytest.raises(WritersError, match=r"the trust file .*/writers\.json is not valid: ") as caught:
        read_writers(path)
    assert said in str(caught.value)


def test_a_name_or_a_key_that_is_there_twice_makes_it_invalid(path: Path) -> None:
    write(path, ONE, ONE | {"key": key_text(b"\1" * 32)})
    with pytest.raises(WritersError, match="the writers ci and ci have the same name"):
        read_writers(path)
    write(path, ONE, ONE | {"name": "again"})
    with pytest.raises(WritersError, match="the writers ci and again have the same key"):
        read_writers(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", "[" * 100_000, "\xff", " " * (MOST_BYTES + 1)])
def test_another_text_is_not_a_trust_file(path: Path, text: str) -> None:
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(WritersError, match="is not valid"):
        read_writers(path)


def test_a_later_schema_is_refused(path: Path) -> None:
    write(path, ONE, schema=2)
    with pytest.raises(WritersError, match="a whole number from 1 to 1 is expected"):
        read_writers(path)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o602])
def test_a_file_that_others_may_write_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(WritersError, match=f"can be written by other users .mode {mode:o}.: who writes it decides"):
        read_writers(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("missing", "`gridjit keys trust` adds writers"), (".", "not a regular"), ("pipe", "not a reg")):
        with pytest.raises(WritersError, match=said):
            read_writers(tmp_path / name)


def test_a_change_keeps_permissions_and_follows_a_link(path: Path) -> None:
    path.chmod(0o640)
    (path.parent / "link").symlink_to(path)
    change_writers(path.parent / "link", lambda known: ())
    assert read_writers(path) == () and (path.parent / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_change_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        change_writers(path, lambda known: known[: 1 // 0])
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WritersError, match=r"cannot be written \(No space left on device\)"):
        change_writers(path, lambda known: ())
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == [".writers.json.lock", "writers.json"]


@pytest.mark.parametrize("pattern", ["main", "pr/*", "*", "a/b.c/d_e-f", "v1.2", "..."])
def test_a_pattern_of_prefixes_is_a_prefix_or_ends_with_a_star(pattern: str) -> None:
    assert checked_prefix(pattern) == pattern


@pytest.mark.parametrize(
    "text", ["", "/", "/a", "a/", "a//b", "..", "a/../b", "./a", "a/.", "ma*", "*/a", "**", "a b", "a\n"]
)
def test_another_text_is_not_a_pattern_of_prefixes(text: str) -> None:
    with pytest.raises(WritersError, match="is not a pattern of prefixes"):
        checked_prefix(text)
