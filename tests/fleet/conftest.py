"""A program's recorded needs, and hosts: processes with caches of their own, where an engine's workers run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import LAUNCHES, SOURCE
from tests.programs import python_path, run_new_python, run_python

NEEDS = 4

# Two modules whose import on a host does something: the first such import waits until the test has done something to
# its process, or each ends its process and leaves a line.
HELD = """
import os
import opstats

here = os.path.dirname(__file__)
if "FLEET_HOST" in os.environ:
    try:
        os.close(os.open(f"{here}/first", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        with open(f"{here}/begun", "w") as pipe:
            pipe.write(os.environ["FLEET_HOST"])
        open(f"{here}/goes on").close()
scale = opstats.scale
"""
DEADLY = """
import os, sys
import opstats

if os.environ.get("FLEET_HOST", "a rank") != "a rank" or "gridjit.runtime.workers.worker" in sys.modules:
    with open(f"{os.path.dirname(__file__)}/deaths", "a") as file:
        file.write("died\\n")
    os._exit(3)
scale = opstats.scale
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a program, the current one, with the needs that it recorded in needs.jsonl."""
    (tmp_path / "opstats.py").write_text(SOURCE)
    (tmp_path / "held.py").write_text(HELD)
    (tmp_path / "deadly.py").write_text(DEADLY)
    monkeypatch.chdir(tmp_path)
    settings = os.environ | {"GRIDJIT_RECORD": str(tmp_path / "needs.jsonl"), "GRIDJIT_TARGET": "host"}
    done = run_python("-c", LAUNCHES, env=settings | {"GRIDJIT_CACHE_DIR": str(tmp_path / "recorded")})
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path


def with_kernel(program: Path, kernel: str, *others: str) -> Path:
    """Return a file with the need of opstats:scale under another kernel's name, and the needs of other kernels."""
    needs = [json.loads(line) for line in (program / "needs.jsonl").read_text().splitlines()]
    scale = next(need for need in needs if need["kernel"] == "opstats:scale")
    lines = [scale | {"kernel": kernel}, *(need for need in needs if need["kernel"] in others)]
    file = program / "changed.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def warm(place: str, needs: Path, cache: Path) -> tuple[int, Any]:
    """Return the status of `gridjit warm --on PLACE` with a cache of its own, and what it prints."""
    words = ("-m", "gridjit", "warm", "--from", needs, "--on", place, "--json")
    done = run_new_python(*words, env={**os.environ, "GRIDJIT_CACHE_DIR": str(cache)})
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def launches_without_compiling(cache: Path) -> bool:
    """Return whether the recorded program finds all its code in a cache."""
    settings = {"GRIDJIT_CACHE_DIR": str(cache), "GRIDJIT_TARGET": "host", "GRIDJIT_ASSERT_NO_COMPILE": "1"}
    done = run_python("-c", LAUNCHES, env=os.environ | settings)
    return (done.returncode, done.stderr) == (0, "")


class Hosts:
    """Processes that stand for hosts: each has its own cache, and the program's modules."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: object, **settings: str) -> None:
        """Start a Python process as a host of a name. settings: variables of its environment."""
        place = {
            "PYTHONPATH": python_path(self._folder),
            "GRIDJIT_CACHE_DIR": str(self.cache(name)),
            "FLEET_HOST": name,
        }
        (folder := self._folder / f"host {name}").mkdir()
        with open(folder / "log", "wb") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, *map(str, command)],
                env={**os.environ, "PYTHONPATH": python_path(self._folder), **place, **settings},
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def cache(self, name: str) -> Path:
        """Return the folder of a host's cache."""
        return self._folder / f"host {name}" / "cache"

    def compiled(self) -> int:
        """Return how many results the hosts have compiled."""
        return sum(len([*self.cache(name).glob("??/*.o")]) for name in self.running)

    def kill(self, name: str) -> None:
        """Kill a host."""
        self.running[name].kill()
        self.running[name].wait()

    def end(self) -> None:
        """End all hosts, with the processes that they started."""
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def hosts(program: Path) -> Iterator[Hosts]:
    """Hosts that end with the test."""
    made = Hosts(program)
    yield made
    made.end()
