"""plan: a job for each need, once, with its toolchain; a difference of toolchains is named."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import gridjit
from gridjit import fleet
from gridjit.fleet.compiling import compile_job
from gridjit.fleet.jobs import Job, refusal
from tests.fleet.conftest import NEEDS, launches_without_compiling, with_kernel
from tests.programs import run_new_python, run_python


@pytest.fixture
def importable(program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the program, whose module can be imported here."""
    monkeypatch.syspath_prepend(program)
    monkeypatch.delitem(sys.modules, "opstats", raising=False)
    return program


def test_each_need_is_one_job_whatever_its_lines(importable: Path) -> None:
    needs = importable / "needs.jsonl"
    once = fleet.plan(needs)
    needs.write_text(needs.read_text() * 2)
    assert fleet.plan(needs) == once
    assert (len({job.digest for job in once.jobs}), len({job.key for job in once.jobs}), once.failed) == (NEEDS, 3, ())
    assert str(once.jobs[0].work).startswith("opstats:")


def test_the_jobs_of_other_targets_have_other_toolchains(importable: Path) -> None:
    jobs = fleet.plan(importable / "needs.jsonl", targets=["host", "sm_80", "sm_90"]).jobs
    assert len(jobs) == 3 * NEEDS
    assert {dict(job.toolchain)["target.arch"] for job in jobs} > {"sm_80", "sm_90"}
    assert not any(refusal(job.toolchain) for job in jobs)


def test_needs_that_cannot_be_compiled_are_named(importable: Path) -> None:
    needs = with_kernel(importable, "opstats:missing", "opstats:sized")
    needs.write_text(needs.read_text() + "torn\n")
    found = fleet.plan(needs)
    assert len(found.jobs) == 2
    assert ["torn" in built.error or "not a recorded line" in built.error for built in found.failed] == [True, False]
    assert "opstats:missing is not a kernel" in found.failed[1].error


def test_a_file_that_is_not_of_needs_is_an_error(importable: Path) -> None:
    with pytest.raises(gridjit.GridjitError, match=r"opstats\.py is not a file of recorded needs"):
        fleet.plan(importable / "opstats.py")


@pytest.mark.parametrize(
    ("label", "value", "said"),
    [
        ("numpy", "0.1", "numpy is .* there, not 0.1"),
        ("target.features", "+none", r"target.features is .*\.\.\. there, not \+none"),
        ("of the future", "1", "of the future is not set there, not 1"),
    ],
)
def test_the_part_of_a_toolchain_that_differs_is_named(importable: Path, label: str, value: str, said: str) -> None:
    job = fleet.plan(importable / "needs.jsonl").jobs[0]
    toolchain = tuple((dict(job.toolchain) | {label: value}).items())
    changed = Job(digest=job.digest, need="torn", key=job.key, toolchain=toolchain)
    result = compile_job(changed)  # its need is not read
    assert (result.bundle, result.error) == (b"", "")
    assert re.fullmatch(said, result.refused), result.refused


def test_a_delivered_bundle_is_found_and_a_damaged_one_is_an_error(importable: Path, cache_dir: Path) -> None:
    bundle = importable / "kernels.gridjit"
    export = ("-m", "gridjit", "cache", "export", bundle)
    assert run_python(*export, env={**os.environ, "GRIDJIT_CACHE_DIR": str(importable / "recorded")}).returncode == 0
    damaged = bytearray(bundle.read_bytes())
    damaged[-40] ^= 1
    with pytest.raises(gridjit.GridjitError, match="cut short or altered"):
        fleet.deliver(bytes(damaged))
    assert not cache_dir.exists()
    first, again = (fleet.deliver(bundle.read_bytes()) for _ in range(2))
    assert (len(first.added) + len(first.merged), again.added, again.merged) == (len(again.known), (), ())
    assert launches_without_compiling(cache_dir)


IMPORTED = """
import sys
import gridjit
from gridjit import cuda

print({"gridjit.fleet", "distributed", "ray", "mpi4py"} & {*sys.modules})
import gridjit.fleet
print({"distributed", "ray", "mpi4py", "torch"} & {*sys.modules})
"""


def test_a_program_imports_neither_fleets_nor_engines() -> None:
    assert run_new_python("-c", IMPORTED).stdout == "set()\nset()\n"


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_without_the_engine_the_extra_is_named(engine: str) -> None:
    library = {"dask": "distributed", "ray": "ray"}[engine]
    program = f"import sys; sys.modules[{library!r}] = None; import gridjit.fleet.{engine}"
    assert f"pip install '.[{engine}]' in a checkout" in run_new_python("-c", program).stderr
