"""The gallery's examples run as a reader runs them, check their own results, and start warm the second time."""

from __future__ import annotations

import os
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_python

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run_example(example: Path, folder: Path, *arguments: str, **settings: str) -> str:
    """Return what an example prints on the host, with its cache in the folder; warnings are errors."""
    settings = {"GRIDJIT_TARGET": "host", "GRIDJIT_CACHE_DIR": str(folder / "cache"), **settings}
    done = run_python("-W", "error", example, *arguments, env=os.environ | settings, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.some(3)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_checks_its_result_and_compiles_nothing_the_second_time(example: Path, tmp_path: Path) -> None:
    first = run_example(example, tmp_path)
    assert len(first.splitlines()) == 1
    assert run_example(example, tmp_path, GRIDJIT_ASSERT_NO_COMPILE="1") == first


def test_the_picture_that_an_example_writes_is_a_png_of_its_pixels(tmp_path: Path) -> None:
    (example,) = (path for path in EXAMPLES if "mandelbrot" in path.stem)
    said = run_example(example, tmp_path, "picture.png")
    data = (tmp_path / "picture.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height = struct.unpack_from(">2I", chunks[b"IHDR"])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert said.startswith(f"{(rows[:, 1:] == 0).mean():.0%} of")


def test_the_gallery_has_each_example_once() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    for example in EXAMPLES:
        assert f"(../examples/{example.name})" in gallery
    assert len(EXAMPLES) >= 10
    assert len(re.findall(r"\.\./examples/\w+\.py", gallery)) == len(EXAMPLES)
