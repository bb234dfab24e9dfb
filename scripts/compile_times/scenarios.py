"""Scenarios of several kernels: ten in one process, and one function of many edited before the next process."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from compile_times.cases import Case
from compile_times.chains import ten, wide
from compile_times.fifty import pooled_and_sum
from compile_times.processes import compiled, environment_of

_FLOATS = "void(float64[::1], float64[::1])"
_TEN = tuple(f"kernel_{number}" for number in range(10))
SHARED = Case(name="shared", module="compile_times.kernels.shared", kernels=_TEN, signature=_FLOATS)
VOCABULARY = Case(name="vocabulary", module="made_vocabulary", kernels=_TEN, signature=_FLOATS, text=ten())
_MANY = 32


def ten_sharing(folder: Path, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds of ten kernels that share a device function: gridjit's, and numba-cuda's."""
    ours, theirs = _interleaved(SHARED, folder, repeats)
    return statistics.median(map(sum, ours)), statistics.median(map(sum, theirs))


def tenth(folder: Path, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds of the tenth kernel of a process: gridjit's, and numba-cuda's."""
    ours, theirs = _interleaved(VOCABULARY, folder, repeats)
    return statistics.median(times[-1] for times in ours), statistics.median(times[-1] for times in theirs)


def one_edited(folder: Path, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds of the process after one of 32 device functions was edited, and of the whole compile."""
    before = Case(name="edited", module="made_edited", kernels=("kernel",), signature=_FLOATS, text=wide(_MANY))
    after = replace(before, text=wide(_MANY, edited=_MANY // 2))
    whole, part = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            whole.append(compiled(before, "gridjit", "cubin", folder, Path(cache))[0]["cpu"])
            part.append(compiled(after, "gridjit", "cubin", folder, Path(cache))[0]["cpu"])
    return statistics.median(part), statistics.median(whole)


def fifty_declared(repeats: int) -> tuple[float, float]:
    """Return the wall seconds until fifty declared kernels are ready with a pool of two, and the sum of their compiles.

    For the host.
    """
    return pooled_and_sum(2, "host", repeats)


def first_tiered(repeats: int) -> tuple[float, float]:
    """Return the milliseconds, of wall and CPU time, of a huge tiered kernel's first launch on the host.

    Generic code is in the cache. Each process is a new one, with a copy of the cache: specialized code may get there.
    """
    with tempfile.TemporaryDirectory() as folder:
        bytecode, prepared = Path(folder, "bytecode"), Path(folder, "prepared")
        _first_launch("prepare", prepared, bytecode)
        told = []
        for number in range(-1, repeats):  # the first only writes the modules' bytecode
            cache = shutil.copytree(prepared, Path(folder, str(number)))
            told.append(json.loads(_first_launch("launch", cache, bytecode)))
    return statistics.median(one["wall"] for one in told[1:]), statistics.median(one["cpu"] for one in told[1:])


def _first_launch(what: str, cache: Path, bytecode: Path) -> str:
    environment = environment_of(cache, bytecode) | {"GRIDJIT_TARGET": "host"}
    command = [sys.executable, "-m", "compile_times.first_launch", what]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True).stdout


def _interleaved(case: Case, folder: Path, repeats: int) -> tuple[list[list[float]], list[list[float]]]:
    """Return the CPU seconds of each kernel in each process: gridjit's, and numba-cuda's, by turns."""
    found: dict[str, list[list[float]]] = {"gridjit": [], "numba": []}
    for _ in range(repeats):
        for peer, times in found.items():
            times.append([one["cpu"] for one in compiled(case, peer, "cubin", folder)])
    return found["gridjit"], found["numba"]
