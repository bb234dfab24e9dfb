"""What whole programs share: each runs on the host and, where there is one, on a GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.runtime.devices import presence
from tests.end_to_end.machines import Run, machine_at
from tests.programs import run_python

# Processes that tests start in other folders import the same sources as this one.
if given := os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in given.split(os.pathsep) if path)

# NumPy arrays are arguments like others to these programs; that a GPU gets copies of them is not news.
COPIES = "ignore::gridjit.runtime.environment.warnings.PerformanceWarning"


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


@pytest.fixture
def run_program(cache_dir: Path) -> Callable[[Path], dict[str, Any]]:
    """Return what runs main.py of a folder on the host, in a process of its own, and gives the JSON that it prints."""

    def run(folder: Path) -> dict[str, Any]:
        done = run_python("main.py", cwd=folder, env={**os.environ, "GRIDJIT_TARGET": "host"})
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    return run


@pytest.fixture
def rewrite(foreign_rewrites: None) -> Callable[[Callable[[Any], object]], None]:
    """Return what has a function called with the configuration once a kernel's compile, as a library's rewrite does."""

    def register(act: Callable[[Any], object], when: str = "after-inference") -> None:
        numba_cuda()
        from numba.cuda.core.rewrites import Rewrite, register_rewrite
        from numba.cuda.launchconfig import ensure_current_launch_config

        @register_rewrite(when)
        class Acts(Rewrite):
            def __init__(self, state: Any) -> None:
                super().__init__(state)
                act(ensure_current_launch_config())

            def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
                return False

    return register


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A folder that machines share."""
    (tmp_path / "remote").mkdir()
    return tmp_path / "remote"


@pytest.fixture
def machine(tmp_path: Path, remote: Path) -> Run:
    """What runs a program on a machine, with the shared folder as its remote cache."""
    return machine_at(tmp_path, remote)
