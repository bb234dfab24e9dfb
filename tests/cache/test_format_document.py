"""docs/cache-format.md: the reader printed there reads what the cache writes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore

DOCUMENT = Path(__file__).parents[2] / "docs" / "cache-format.md"


@pytest.fixture
def read_entry(tmp_path):
    """The documented reader."""
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    script = tmp_path / "reader.py"
    script.write_text(program)
    return runpy.run_path(str(script))["read_entry"]


def test_the_documented_reader_reads_an_entry(tmp_path, key_of, read_entry):
    DiskStore(tmp_path / "cache").put(key_of(1), b"data", suffix=".cubin")
    assert read_entry(tmp_path / "cache", key_of(1), ".cubin") == b"data"
    assert read_entry(tmp_path / "cache", key_of(1), ".o") is None


def test_the_documented_reader_misses_what_the_cache_misses(tmp_path, key_of, read_entry):
    DiskStore(tmp_path / "cache").put(key_of(1), b"data", suffix=".o")
    file = tmp_path / "cache" / key_of(1)[:2] / f"{key_of(1)}.o"
    whole = file.read_bytes()
    for number in range(len(whole)):
        file.write_bytes(whole[:number] + bytes([whole[number] ^ 1]) + whole[number + 1 :])
        assert read_entry(tmp_path / "cache", key_of(1), ".o") is None
        file.write_bytes(whole[:number])
        assert read_entry(tmp_path / "cache", key_of(1), ".o") is None


def test_the_documented_reader_misses_a_signed_entry(tmp_path, key_of, read_entry):
    DiskStore(tmp_path / "cache", secret=b"secret").put(key_of(1), b"data", suffix=".o")
    assert read_entry(tmp_path / "cache", key_of(1), ".o") is None
