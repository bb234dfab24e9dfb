"""gridjit can be installed beside the libraries that its users have: one choice of versions suits all."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = (
    *("vllm==0.33.*", "cudf-cu13==26.10.*", "mcdc==0.15.*", "dask-cuda"),
    *("torch==2.15.*", "cupy-cuda13x==14.2.*", "jax==0.10.*"),
)


def resolved(*wanted: str) -> tuple[bool, str]:
    """Return whether versions of gridjit's and other requirements agree, and what the resolver says."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--native-tls", "--no-build", "--extra", "cu13"]
    done = subprocess.run(
        [*command, "--python-version", "3.12", ROOT / "pyproject.toml", "-"],
        input="\n".join(wanted),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def registry() -> None:
    """Skip a test if no package index is reached."""
    if importlib.util.find_spec("uv") is None:
        pytest.skip("uv is not installed")
    found, said = resolved()
    if not found and "Failed to fetch" in said:
        pytest.skip("no package index is reached")
    assert found, said


@pytest.mark.slow
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("library", LIBRARIES)
def test_gridjit_can_be_installed_beside_a_library(library: str) -> None:
    found, said = resolved(library)
    assert found, said


@pytest.mark.slow
@pytest.mark.usefixtures("registry")
def test_a_library_that_asks_for_other_versions_is_told() -> None:
    assert "no solution found" in resolved("numba-cuda==0.29.*")[1].lower()
