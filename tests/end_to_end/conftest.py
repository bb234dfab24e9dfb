"""What whole programs share: each runs on the host and, where there is one, on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gridjit.runtime.devices.cuda import presence

# Processes that tests start in other folders import the same sources as this one.
if given := os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in given.split(os.pathsep) if path)

# NumPy arrays are arguments like others to these programs; that a GPU gets copies of them is not news.
COPIES = "ignore::gridjit.runtime.warnings.PerformanceWarning"


@pytest.fixture(
    scope="module",
    params=["host", pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.filterwarnings(COPIES)])],
)
def device_kind(request: pytest.FixtureRequest) -> str:
    """Where kernels run: "host" or "cuda"; the test is skipped where there is no such device."""
    kind: str = request.param
    if kind == "cuda" and (reason := presence.why_not()):
        pytest.skip(reason)
    return kind


@pytest.fixture
def target(device_kind: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> str:
    """Run the test's kernels on each device in turn, also those of processes it starts; returns "host" or "cuda"."""
    monkeypatch.setenv("GRIDJIT_TARGET", device_kind)
    restart()
    return device_kind


@pytest.fixture(scope="session")
def program_server() -> Iterator[subprocess.Popen[str]]:
    """A process that forks others which run programs, so that they need not import numba anew."""
    server = Path(__file__).with_name("program_server.py")
    with subprocess.Popen([sys.executable, server], stdin=-1, stdout=-1, text=True) as process:
        yield process
        process.communicate(timeout=60)


@pytest.fixture
def run_program(program_server: subprocess.Popen[str], cache_dir: Path) -> Callable[[Path], dict[str, Any]]:
    """Return what runs main.py of a folder on the host, in a process of its own, and gives the JSON that it prints."""

    def run(folder: Path) -> dict[str, Any]:
        environment = {"GRIDJIT_CACHE_DIR": str(cache_dir), "GRIDJIT_TARGET": "host"}
        assert program_server.stdin is not None and program_server.stdout is not None
        print(json.dumps({"folder": str(folder), "environment": environment}), file=program_server.stdin, flush=True)
        answer = json.loads(program_server.stdout.readline())
        assert answer["status"] == 0, answer["errors"]
        printed: dict[str, Any] = json.loads(answer["output"].splitlines()[-1])
        return printed

    return run
