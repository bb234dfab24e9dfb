"""MPI and torch.distributed: each process compiles a share, and then each has all."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gridjit.fleet.jobs import Job
from gridjit.fleet.ranks import owner
from tests.fleet.conftest import NEEDS, launches_without_compiling, with_kernel
from tests.programs import python_path

RANKS = 3
needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs MPI: apt-get install openmpi-bin, pip install mpi4py",
)
# It gives each process a cache of its own, and lets the process of a rank differ.
START = """
import os, sys

rank = os.environ["OMPI_COMM_WORLD_RANK"]
os.environ["GRIDJIT_CACHE_DIR"] = f"rank {rank}"
if rank == "1":
    os.environ.update(dict([word.split("=") for word in os.environ.get("OF_RANK_1", "").split()]))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def run_ranks(program: Path, needs: Path, **settings: str) -> tuple[int, Any]:
    """Return the status of `gridjit warm --on mpi` on RANKS processes, and what it prints."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(RANKS), sys.executable, "-c", START]
    words = ["-m", "gridjit", "warm", "--from", str(needs), "--on", "mpi", "--json"]
    environment = {**os.environ, "PYTHONPATH": python_path(program), **settings}
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, timeout=200)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout[: done.stdout.rindex("}") + 1])


@needs_mpi
@pytest.mark.slow
def test_each_rank_compiles_a_share_and_then_has_all(program: Path) -> None:
    status, told = run_ranks(program, program / "needs.jsonl")
    assert (status, told["compiled"], told["failed"], told["notes"]) == (0, NEEDS, [], [])
    assert all(launches_without_compiling(program / f"rank {rank}") for rank in range(RANKS))


@needs_mpi
@pytest.mark.slow
def test_a_rank_with_another_toolchain_compiles_for_itself(program: Path) -> None:
    status, told = run_ranks(program, program / "needs.jsonl", OF_RANK_1="NUMBA_OPT=1")
    assert (status, told["compiled"]) == (0, NEEDS)
    assert told["notes"] == ["rank 1 shares nothing: NUMBA_OPT is 1 there, not not set"]
    assert [launches_without_compiling(program / f"rank {rank}") for rank in range(RANKS)] == [True, False, True]


@needs_mpi
@pytest.mark.slow
def test_a_job_that_ends_its_processes_fails_on_no_other_rank(program: Path) -> None:
    needs = with_kernel(program, "deadly:scale", "opstats:sized")
    status, told = run_ranks(program, needs, FLEET_HOST="a rank")
    assert (status, told["compiled"]) == (1, 2)
    (failed,) = told["failed"]
    assert "2 workers ended while they compiled it" in failed["error"]


@needs_mpi
@pytest.mark.slow
def test_a_file_that_one_rank_cannot_read_is_an_error_on_all(program: Path) -> None:
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", MISSING]
    environment = {**os.environ, "PYTHONPATH": python_path(program)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.stdout.splitlines() == ["nowhere cannot be read: No such file or directory"] * 2, done.stderr


MISSING = """
from mpi4py import MPI
import gridjit.fleet

comm = MPI.COMM_WORLD
try:
    gridjit.fleet.warm(comm, "nowhere" if comm.rank else "needs.jsonl")
except gridjit.GridjitError as error:
    print(error, flush=True)
"""


def job(number: int, toolchain: str) -> Job:
    return Job(digest=f"{number:064x}", need="", key="", toolchain=(("numpy", toolchain),))


def test_the_owner_of_a_job_is_the_same_seen_from_each_process_with_its_toolchain() -> None:
    new, old = job(0, "2.0").toolchain, job(0, "1.0").toolchain
    assert [owner(job(n, "2.0"), [[new], [old], [new]]) for n in range(4)] == [0, 2, 0, 2]
    assert [owner(job(n, "1.0"), [[new], [old], [old, new]]) for n in range(4)] == [1, 2, 1, 2]


TORCH = """
import sys
import torch.distributed as dist
import gridjit.fleet
from gridjit.fleet.ranks import TorchComm

dist.init_process_group("gloo")
done = gridjit.fleet.warm(TorchComm(), "needs.jsonl")
print(len(done.builds), len(done.failed), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_processes_of_torch_have_all_too(program: Path) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "WORLD_SIZE": "2", "PYTHONPATH": python_path(program)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TORCH],
            env={**os.environ, **place, "RANK": str(rank), "GRIDJIT_CACHE_DIR": f"rank {rank}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    assert [process.communicate(timeout=200)[0] for process in running] == [f"{NEEDS} 0\n"] * 2
    assert all(launches_without_compiling(program / f"rank {rank}") for rank in range(2))
