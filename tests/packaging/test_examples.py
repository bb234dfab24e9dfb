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
GALLERY = (ROOT / "docs" / "gallery.md").read_text()


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
    for example in EXAMPLES:
        assert f"(../examples/{example.name})" in GALLERY
    assert len(EXAMPLES) >= 10
    assert len(re.findall(r"\.\./examples/\w+\.py", GALLERY)) == len(EXAMPLES)


def test_the_pictures_of_the_gallery_are_drawn_by_the_examples_and_small(tmp_path: Path) -> None:
    run_example(ROOT / "scripts" / "draw-gallery.py", tmp_path, str(tmp_path / "gallery"))
    drawn = sorted((tmp_path / "gallery").iterdir())
    committed = [ROOT / "docs" / "gallery" / picture.name for picture in drawn]
    assert [file.name for file in drawn if f"(gallery/{file.name})" not in GALLERY] == []
    assert len(drawn) == len(EXAMPLES) == len(list((ROOT / "docs" / "gallery").iterdir()))
    for now, then in zip(drawn, committed, strict=True):
        assert then.stat().st_size < 60_000
        numbers, known = (coordinates(file.read_text()) for file in (now, then))
        np.testing.assert_allclose(numbers, known, atol=0.2, err_msg=f"{then.name}: run scripts/draw-gallery.py")


def coordinates(picture: str) -> list[float]:
    """Return a picture's numbers; not the bytes of the PNG of a matrix, which depend on zlib."""
    without = re.sub(r"base64,[^\"]*", "", picture)
    return [float(found) for found in re.findall(r"(?<=[ \",ML])-?\d+(?:\.\d+)?(?=[ \",L])", without)]
