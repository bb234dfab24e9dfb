"""What the fault tests share: keys, a disk of a few pages, and processes without privileges."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.known_objects import FOLDER

# Imports come first, because nobody may not be able to read root's interpreter.
DROP_PRIVILEGES = """
import os
import gridjit.cache.disk, gridjit.cache.index
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
"""


@pytest.fixture
def llvm_makes_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let forks and interrupts meet LLVM at work, in this process and in those that the test starts."""
    monkeypatch.delenv(FOLDER, raising=False)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="gridjit-faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def mounted() -> Iterator[Callable[..., Path]]:
    """What mounts something at a folder for the test; skips where this process may not mount."""
    points: list[Path] = []

    def mount(point: Path, *arguments: str) -> Path:
        done = subprocess.run(["mount", *arguments, str(point)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this process may not mount: {done.stderr.strip()}")
        if point not in points:
            points.append(point)
        return point

    yield mount
    for point in reversed(points):
        subprocess.run(["umount", "--lazy", str(point)], check=True)


@pytest.fixture
def unprivileged() -> Callable[..., str]:
    """What runs a Python script for whom permission bits bind - nobody, if this is root - and returns its output."""

    def run(script: str, *arguments: object) -> str:
        command = [sys.executable, "-c", DROP_PRIVILEGES + script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
