"""The versions that are tested together are those that the documentation lists."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


SCRIPT = ROOT / "scripts" / "compat.py"


def compat(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script as a module, which makes its environments in a folder of its own."""
    spec = importlib.util.spec_from_file_location("compat", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    monkeypatch.setattr(made, "FOLDER", tmp_path)
    return made


def test_the_documentation_lists_the_environments() -> None:
    assert compat("--markdown").stdout in (ROOT / "docs" / "support.md").read_text()


def test_an_unknown_environment_is_refused_with_the_known_ones() -> None:
    refused = compat("no-such")
    assert refused.returncode == 2
    assert "there is no environment 'no-such', but oldest, " in refused.stderr


def test_an_environment_whose_python_is_missing_is_listed_as_not_run(tmp_path: Path) -> None:
    told = compat("oldest", "newest", PATH=str(tmp_path), PYENV_ROOT=str(tmp_path))
    last = [line.partition("not run: ")[2] for line in told.stdout.splitlines()[-2:]]
    assert last == ["python3.10 is not installed", "python3.13 is not installed"]
    assert told.returncode == 0


def test_an_environment_that_the_package_index_cannot_make_is_a_failure(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "kept" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(shutil.which("false") or "")
    monkeypatch.setattr(script, "interpreter", lambda version: sys.executable)
    _, told, failed = script.tried(script.Environment("kept", "3.10", ()))
    assert told.startswith("not run: it cannot be installed")
    assert failed
