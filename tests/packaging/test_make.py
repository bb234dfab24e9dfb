"""make shows people how far an installation is, and leaves logs alone."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("terminal", [True, False])
def test_an_installation_is_shown_on_a_terminal_and_nowhere_else(terminal: bool, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    ours, theirs = pty.openpty()
    errors = theirs if terminal else subprocess.DEVNULL
    try:
        done = subprocess.run(
            ["make", "-n", "demo"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=errors, text=True, check=True
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "pip install" in done.stdout
    assert ("--quiet" in done.stdout) is not terminal
