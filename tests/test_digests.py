"""gridjit.base.digests: the digests of hashlib, wherever they come from."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from gridjit.base import digests


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20])
def test_digests_are_hashlibs(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    expected = hashlib.sha256(data).digest()
    assert digests.sha256(data) == digests.sha256(memoryview(data)) == expected
    monkeypatch.delitem(sys.modules, "hashlib")
    assert digests.sha256(data) == expected
    assert digests.blake2b(data, digest_size=20).digest() == hashlib.blake2b(data, digest_size=20).digest()


def test_a_small_digest_does_not_load_openssl() -> None:
    program = """
import sys
from gridjit.base.digests import blake2b, sha256
sha256(b"some"), blake2b(b"some")
assert "_hashlib" not in sys.modules, "loaded for few bytes"
sha256(bytes(1 << 20))
assert "_hashlib" in sys.modules or "hashlib" in sys.modules, "not loaded for many"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
