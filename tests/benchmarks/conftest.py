"""What the benchmarks share. They need a GPU, unless --target host asks for the host target."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from launch_overhead import device


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --target."""
    parser.addoption("--target", choices=("cuda", "host"), default="cuda", help="where the benchmarks launch")


def pytest_sessionstart(session: pytest.Session) -> None:
    """End the run with exit status 2 where there is no GPU and the host target was not asked for."""
    if session.config.getoption("--target") == "cuda" and (reason := device.why_no_gpu()):
        pytest.exit(f"{reason}, and these are benchmarks of a GPU's launches; --target host runs them on the host", 2)


@pytest.fixture
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where to launch; gridjit launches there by itself."""
    chosen: str = request.config.getoption("--target")
    monkeypatch.setenv("GRIDJIT_TARGET", chosen)
    return chosen
