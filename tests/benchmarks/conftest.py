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


@pytest.fixture(scope="session")
def chosen_target(request: pytest.FixtureRequest) -> str:
    """Return where to launch; without a GPU the run ends with exit status 2, unless the host target was asked for."""
    chosen: str = request.config.getoption("--target")
    if chosen == "cuda" and (reason := device.why_no_gpu()):
        pytest.exit(f"{reason}, and these are benchmarks of a GPU's launches; --target host runs them on the host", 2)
    return chosen


@pytest.fixture
def target(chosen_target: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where to launch; gridjit launches there by itself."""
    monkeypatch.setenv("GRIDJIT_TARGET", chosen_target)
    return chosen_target
