"""Fresh processes that compile a case: what each of its kernels took, as child.py tells it."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compile_times.cases import Case

_SCRIPTS = Path(__file__).resolve().parents[1]
# Whose compiler, and what it makes.
KINDS = (("numba", "cubin"), ("gridjit", "cubin"), ("gridjit", "host"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """A kernel's compile: seconds of wall and of CPU time (medians of processes); phases: milliseconds of CPU time."""

    wall: float
    cpu: float
    phases: dict[str, float]

    @classmethod
    def median(cls, told: list[dict[str, Any]]) -> Times:
        """Return the medians of what several processes told."""
        names = dict.fromkeys(name for one in told for name in one.get("phases", {}))
        return cls(
            wall=statistics.median(one["wall"] for one in told),
            cpu=statistics.median(one["cpu"] for one in told),
            phases={name: statistics.median(one["phases"].get(name, 0.0) for one in told) for name in names},
        )


def compiled(case: Case, peer: str, target: str, folder: Path, cache: Path | None = None) -> list[dict[str, Any]]:
    """Return what one process told of each kernel of a case. cache: where gridjit keeps results, None for nowhere."""
    if case.text:
        (folder / f"{case.module}.py").write_text(case.text)
    environment = environment_of(cache, folder / "bytecode")
    command = [sys.executable, "-m", "compile_times.child", peer, target, str(folder), case.signature, case.module]
    done = subprocess.run([*command, *case.kernels], stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def environment_of(cache: Path | None, bytecode: Path) -> dict[str, str]:
    """Return the environment of a process that keeps its results in a folder, or nowhere, and bytecode in another."""
    kept = (name for name in os.environ if not name.startswith(("GRIDJIT_", "NUMBA_", "PYTHONDONTWRITEBYTECODE")))
    return {
        **{name: os.environ[name] for name in kept},
        "PYTHONPATH": os.pathsep.join((str(_SCRIPTS), os.environ.get("PYTHONPATH", ""))),
        "PYTHONPYCACHEPREFIX": str(bytecode),
        **({"GRIDJIT_CACHE_DIR": str(cache)} if cache else {"GRIDJIT_CACHE": "0"}),
    }
