"""A file's digest is that of its bytes, now."""

from __future__ import annotations

import os
from pathlib import Path

from gridjit.compiler.source.files import file_digest, read_regular


def test_a_file_without_a_reader_has_no_digest(tmp_path: Path) -> None:
    assert file_digest(str(tmp_path / "missing")) is None
    assert file_digest(str(tmp_path)) is None
    assert file_digest("") is None


def test_a_write_within_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one")
    before = file_digest(str(path))
    status = path.stat()
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file_digest(str(path)) != before


def test_an_old_file_is_read_again_after_a_write(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one")
    os.utime(path, (1, 1))
    before = file_digest(str(path))
    assert file_digest(str(path)) == before
    path.write_text("two")
    os.utime(path, (2, 2))
    assert file_digest(str(path)) != before


def test_place_and_age_do_not_count(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("same")
    other.write_text("same")
    os.utime(other, (1, 1))
    assert file_digest(str(one)) == file_digest(str(other))


def test_a_file_that_says_it_is_empty_and_is_not_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "long").write_bytes(bytes(100_000))
    assert read_regular(str(tmp_path / "empty")) == b""
    assert read_regular(str(tmp_path / "long")) == bytes(100_000)
    if os.path.exists("/proc/self/cmdline"):
        assert os.stat("/proc/self/cmdline").st_size == 0
        assert read_regular("/proc/self/cmdline") != b""
