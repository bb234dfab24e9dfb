"""Entries: only what was sealed under a key, whole and unaltered, opens under it."""

from __future__ import annotations

import shutil
import struct
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.cache.entry import open_entry, seal

KEY, OTHER = "ab" * 32, "cd" * 32
GOLDEN = Path(__file__).parent / "golden" / "entry.json"


@given(st.binary(max_size=200), st.sampled_from([None, b"secret", b"a long secret" * 20]))
def test_what_was_sealed_opens(payload, secret):
    assert open_entry(KEY, seal(KEY, payload, secret=secret), secret=secret) == payload


@pytest.mark.parametrize("secret", [None, b"secret"])
def test_every_truncation_is_a_miss(secret):
    sealed = seal(KEY, b"payload", secret=secret)
    assert [n for n in range(len(sealed)) if open_entry(KEY, sealed[:n], secret=secret) is not None] == []


@pytest.mark.parametrize("secret", [None, b"secret"])
def test_every_flipped_bit_is_a_miss(secret):
    sealed = seal(KEY, b"payload", secret=secret)
    for place in range(len(sealed) * 8):
        flipped = bytearray(sealed)
        flipped[place // 8] ^= 1 << place % 8
        assert open_entry(KEY, bytes(flipped), secret=secret) is None, place


@pytest.mark.parametrize("data", [b"", bytes(400), b"\x7fELF" + bytes(400)])
def test_what_was_never_sealed_is_a_miss(data):
    assert open_entry(KEY, data) is None


def test_another_keys_entry_is_a_miss():
    assert open_entry(KEY, seal(OTHER, b"payload")) is None


def test_another_schema_is_a_miss_even_with_a_right_seal():
    body = b"payload" + KEY.encode() + struct.pack("<8sHHIQ", b"gridjit\0", 2, 0, 64, 7)
    assert open_entry(KEY, body + sha256(body).digest()) is None


def test_bytes_added_before_or_after_an_entry_are_a_miss():
    sealed = seal(KEY, b"payload")
    assert open_entry(KEY, b"x" + sealed) is None
    assert open_entry(KEY, sealed + b"x") is None


@pytest.mark.parametrize(("writer", "reader"), [(None, b"one"), (b"one", None), (b"one", b"two")])
def test_a_reader_opens_only_what_its_own_secret_signed(writer, reader):
    assert open_entry(KEY, seal(KEY, b"payload", secret=writer), secret=reader) is None


def test_the_bytes_of_an_entry_are_the_documented_ones():
    payload = b'{"records":[],"schema":1}'
    body = payload + KEY.encode() + struct.pack("<8sHHIQ", b"gridjit\0", 1, 0, 64, len(payload))
    documented = body + sha256(body).digest()
    assert seal(KEY, payload) == documented == GOLDEN.read_bytes()


@pytest.mark.skipif(shutil.which("readelf") is None or shutil.which("cc") is None, reason="needs cc and readelf")
def test_a_sealed_object_file_still_reads_as_one(tmp_path):
    source, plain, sealed = tmp_path / "f.c", tmp_path / "f.o", tmp_path / f"{KEY}.o"
    source.write_text("int the_symbol(void) { return 1; }\n")
    subprocess.run(["cc", "-c", source, "-o", plain], check=True)
    sealed.write_bytes(seal(KEY, plain.read_bytes()))
    shown = subprocess.run(["readelf", "--wide", "--syms", sealed], check=True, capture_output=True, text=True)
    assert "the_symbol" in shown.stdout
    assert shown.stderr == ""
