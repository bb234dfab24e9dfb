"""`gridjit certify`: what a certificate covers is served without a compile, and what it does not is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.commands import main
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.specializations.certificate import Certificate
from tests.programs import run_python

KERNELS = """
import gridjit
from gridjit import cuda

THRESHOLD = 3


@gridjit.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size and x[i] > THRESHOLD:
        x[i] *= factor


@gridjit.jit(launches=[(8, 64), {"grid": 4, "block": 256}])
def sized(x):
    x[0] = gridjit.static.blockDim.x


@gridjit.jit("void(float32[::1])")
def plain(x):
    x[0] = 1


@gridjit.jit("void(int64[::1])")
def of_launch(x):
    x[0] = gridjit.static.gridDim.x


@gridjit.jit(cache=False)
def unkept(x):
    x[0] = 1
"""
READS_AN_ARGUMENT = """
import gridjit
from gridjit import cuda
from gridjit.launchconfig import ensure_current_launch_config


def tile():
    pass


@cuda.extending.overload(tile)
def overload_tile():
    size = ensure_current_launch_config().args[1]
    return (lambda: 2) if size == 2 else (lambda: 1)


@gridjit.jit(launches=[(1, 32), (1, 64)])
def tiled(x, size):
    x[0] = tile() * gridjit.static.blockDim.x
"""
RUN = """
import numpy as np
import certified

certified.scale[1, 32](np.ones(4, np.float32), 2.0)
for block in (64, 128):
    certified.sized[3, block](np.ones(4, np.float32))
"""
# Grids, arrays at odd addresses and values that the recorded run had not.
SERVE = """
import sys
import numpy as np
import certified

whole = np.full(4097, 5, np.float32)
for grid in range(2, 1002):
    certified.scale[grid, 32](whole[grid % 7 :], grid / 3)
    certified.sized[grid, (64, 128)[grid % 2]](whole)
    assert whole[0] == (64, 128)[grid % 2]
print(certified.scale.stats.compiles, certified.sized.stats.compiles)
assert "gridjit.runtime.specializations.certificate" not in sys.modules
"""
# Launches sized with a block, and tells of the error.
LAUNCH = """
import sys
import numpy as np
import certified

try:
    certified.sized[1, int(sys.argv[1])](np.ones(4, sys.argv[2]))
except Exception as error:
    print(type(error).__name__, error)
"""
# Whoever is asked for code, or waited for, ends the program.
NOBODY = """
import sys
from gridjit.runtime.specialize import cold

cold._served = cold._lock_for = cold._made = lambda *asked: sys.exit("asked")
"""
OTHER_TOOLCHAIN = """
from gridjit.compiler import job

ours = job.toolchain
job.toolchain = lambda kind: tuple({**dict(ours(kind)), "llvmlite": "0.0.1"}.items())
"""


class Project:
    """A folder with the module of kernels, a cache and what a run recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.needs = folder / "needs.jsonl"
        self.certificate = folder / "certificate.json"

    def write(self, source: str) -> None:
        """Write the module."""
        (self.folder / "certified.py").write_text(source)

    def run(self, program: str, *words: str, **settings: str) -> str:
        """Run a program in a process of its own; return its output."""
        done = run_python("-W", "error", "-B", "-c", program, *words, env={**os.environ, **settings}, cwd=self.folder)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def certify(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Return the status of `gridjit certify ... --json`, in a process of its own, and the certificate."""
        done = run_python("-W", "error", "-B", "-m", "gridjit", "certify", *words, "--json", "--jobs", "1")
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    def launch(self, block: int, dtype: str = "f4", before: str = "", **settings: str) -> str:
        """Return the error of a launch of sized under the certificate; "" if the cache has its code.

        before: a program's first lines.
        """
        settings = {"GRIDJIT_ASSERT_NO_COMPILE": "1", "GRIDJIT_CERTIFICATE": str(self.certificate), **settings}
        return self.run(before + LAUNCH, str(block), dtype, **settings)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project after a run that was recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    made = Project(tmp_path)
    made.write(KERNELS)
    made.run(RUN, GRIDJIT_RECORD=str(made.needs))
    return made


def missing(told: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Return the kernel, facts and reason of each missing specialization."""
    found = ((one["kernel"], code) for one in told["kernels"] for code in one["specializations"])
    return [(kernel, code["facts"], code["why"]) for kernel, code in found if code["artifact"] is None]


def test_a_certified_program_serves_unseen_grids_addresses_and_values_without_a_compile(project: Project) -> None:
    status, told = project.certify(str(project.needs), "--fill", "--output", str(project.certificate))
    assert (status, told["complete"], missing(told)) == (0, True, [])
    assert {one["kernel"]: one["any"] for one in told["kernels"]} == {
        "certified:scale": True,
        "certified:sized": False,
        "certified:plain": True,
        "certified:of_launch": False,
    }
    settings = {"GRIDJIT_ASSERT_NO_COMPILE": "1", "GRIDJIT_CERTIFICATE": str(project.certificate)}
    assert project.run(SERVE, **settings) == "0 0\n"


def test_each_specialization_that_the_cache_loses_is_named(project: Project, cache_dir: Path) -> None:
    words = (str(project.needs), "--output", str(project.certificate))
    status, told = project.certify(*words, "--fill")
    stored = [(one["kernel"], code) for one in told["kernels"] for code in one["specializations"]]
    assert (status, len(stored)) == (0, 6)
    before = project.certificate.read_bytes()
    for kernel, code in stored:
        store = DiskStore(cache_dir)
        data, suffix = store.get(code["artifact"]), store.find(code["artifact"]).suffix  # type: ignore[union-attr]
        assert data is not None
        store.remove(code["artifact"])
        store.close()
        status, told = project.certify(*words)
        (lost,) = missing(told)
        assert (status, lost[0]) == (1, kernel)
        assert lost[2] == "its code is no longer in the cache, or is damaged"
        assert {**code["facts"], **lost[1]} == code["facts"]
        store = DiskStore(cache_dir)
        store.put(code["artifact"], data, suffix=suffix)
        store.close()
    assert (project.certify(*words)[0], project.certificate.read_bytes()) == (0, before)


def test_a_declared_launch_that_no_run_made_is_missing_until_it_is_filled(project: Project) -> None:
    status, told = project.certify(str(project.needs))
    assert status == 1
    assert ("certified:sized", {"blockdim.x": 256}) in [(kernel, facts) for kernel, facts, _ in missing(told)]
    (sized,) = (one for one in told["kernels"] if one["kernel"] == "certified:sized")
    facts = sized["facts"]["blockdim.x"]
    assert (facts["recorded"], facts["declared"], facts["covered"]) == ([64, 128], [64, 256], [64, 128])
    assert facts["read_at"] == "certified.py:17"
    assert project.certify(str(project.needs), "--fill")[0] == 0
    assert project.launch(256) == ""


def test_the_page_says_what_is_seen_declared_and_missing(project: Project) -> None:
    done = run_python("-B", "-m", "gridjit", "certify", str(project.needs))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-5:] == [
        "certified:scale (float32[1d C], float64) for host: in the cache, for any launch",
        "certified:sized (float32[1d C]) for host: 2 of 3 in the cache",
        "  blockdim.x, read at certified.py:17: seen: 64, 128; declared: 64, 256",
        "  missing: blockdim.x = 256: blockdim.x 128 -> 256, read at certified.py:17",
        "incomplete: 5 in the cache, 1 missing",
    ]


def test_a_launch_outside_of_the_certificate_is_refused_by_the_fact_before_anybody_is_asked(project: Project) -> None:
    project.certify(str(project.needs), "--output", str(project.certificate))
    said = project.launch(512, before=NOBODY, GRIDJIT_COMPILE_SERVER="1")
    assert said.startswith("CompileDisabledError certified.sized(float32[1d C]) for host is not in the cache")
    assert f"outside of the certificate {project.certificate}: blockdim.x 512 is not covered (covered: 64, 128)" in said
    assert "type of argument 0 (x) int64[1d C] is not covered (covered: float32[1d C])" in project.launch(64, "i8")
    project.write(KERNELS.replace("x[0] = gridjit.static.blockDim.x", "x[0] = gridjit.static.blockDim.x + 1"))
    said = project.launch(64)
    assert "not in the cache (certified.sized code " in said and "outside of the certificate" in said
    assert "job " in said.partition("outside of")[2]


def test_a_covered_launch_whose_code_is_gone_says_that_the_cache_lacks_it(project: Project, cache_dir: Path) -> None:
    told = project.certify(str(project.needs), "--output", str(project.certificate))[1]
    (sized,) = (one for one in told["kernels"] if one["kernel"] == "certified:sized")
    store = DiskStore(cache_dir)
    for code in sized["specializations"]:
        if code["artifact"]:
            store.remove(code["artifact"])
    store.close()
    said = project.launch(64)
    assert "is not in the cache (its code is no longer in the cache, or is damaged), " in said
    assert f"though the certificate {project.certificate} covers it, and GRIDJIT_ASSERT_NO_COMPILE forbids" in said


def test_a_reason_is_the_first_difference_from_the_code_that_is_stored(project: Project) -> None:
    project.write(KERNELS.replace("THRESHOLD = 3", "THRESHOLD = 4"))
    told = project.certify(str(project.needs))[1]
    assert [(kernel, why) for kernel, _, why in missing(told) if kernel == "certified:scale"] == [
        ("certified:scale", "global certified.THRESHOLD 3 -> 4")
    ]
    told = project.certify(str(project.needs), "--kernels", "certified:plain", "--signature", "void(float64[::1])")[1]
    assert "signature (float32[1d C]) -> (float64[1d C])" in {why for _, _, why in missing(told)}
    (none,) = missing(project.certify("--kernels", "certified:unkept", "--signature", "void(float32[::1])")[1])
    assert none[2] == "the kernel is made with jit(cache=False)"


def test_code_of_another_toolchain_or_target_is_missing_for_that_reason(project: Project, cache_dir: Path) -> None:
    told = project.certify(str(project.needs), "--target", "sm_90")[1]
    assert {one["target"] for one in told["kernels"]} == {"sm_90"}
    assert {why.partition(" (")[0].rpartition(" ")[2] for _, _, why in missing(told)} == {"sm_90"}
    shutil.rmtree(cache_dir)
    project.run(OTHER_TOOLCHAIN + RUN)
    told = project.certify(str(project.needs))[1]
    assert len(missing(told)) == 6
    assert {why.partition(" -> ")[0] for _, _, why in missing(told)} == {"llvmlite 0.0.1"}


@pytest.mark.cuda_toolkit
def test_a_certificate_for_a_gpu_is_made_without_one(project: Project) -> None:
    status, told = project.certify(str(project.needs), "--target", "sm_90", "--fill")
    assert (status, {one["target"] for one in told["kernels"]}, missing(told)) == (0, {"sm_90"}, [])


def test_filling_goes_on_until_new_code_reads_nothing_new(project: Project) -> None:
    """New code of scale reads a field that the recorded code had not: each declared launch is then code of its own."""
    launches = project.folder / "launches.json"
    launches.write_text(json.dumps({"certified:scale": [{"grid": grid, "block": 32} for grid in (1, 2, 3)]}))
    words = (str(project.needs), "--launches", str(launches))
    assert len(missing(project.certify(*words)[1])) == 1
    project.write(KERNELS.replace("> THRESHOLD", "> gridjit.static.gridDim.x"))
    assert [facts for kernel, facts, _ in missing(project.certify(*words)[1]) if kernel == "certified:scale"] == [{}]
    status, told = project.certify(*words, "--fill")
    (scale,) = (one for one in told["kernels"] if one["kernel"] == "certified:scale")
    assert (status, scale["facts"]["griddim.x"]["covered"]) == (0, [1, 2, 3])


def test_declared_signatures_need_launches_where_their_code_does(project: Project) -> None:
    status, told = project.certify("--kernels", "certified")
    assert (status, [kernel for kernel, _, _ in missing(told)]) == (1, ["certified:of_launch"])
    assert missing(told)[0][2].startswith("its code depends on the launch: declare launches")
    words = ("--kernels", "certified:of_launch", "--config", "grid=2,block=1", "--fill")
    assert project.certify(*words)[0] == 0
    launches = project.folder / "launches.json"
    launches.write_text('{"certified:of_launch": [[2, 1], [5, 1]]}')
    (lost,) = missing(project.certify("--kernels", "certified", "--launches", str(launches))[1])
    assert lost[:2] == ("certified:of_launch", {"griddim.x": 5})


def test_values_of_arguments_that_a_compile_read_are_covered_one_by_one(project: Project) -> None:
    project.write(READS_AN_ARGUMENT)
    program = "import sys, numpy as np, certified\ncertified.tiled[1, int(sys.argv[1])](np.ones(4), int(sys.argv[2]))\n"
    project.needs.unlink()
    for size in ("2", "3"):
        project.run(program, "32", size, GRIDJIT_RECORD=str(project.needs))
    status, told = project.certify(str(project.needs), "--output", str(project.certificate))
    assert told["kernels"][0]["facts"]["argument 1"]["covered"] == ["int 2", "int 3"]
    lost = [{"argument 1": f"int {size}", "blockdim.x": 64} for size in (2, 3)]
    assert (status, [facts for _, facts, _ in missing(told)]) == (1, lost)
    strict = {"GRIDJIT_ASSERT_NO_COMPILE": "1", "GRIDJIT_CERTIFICATE": str(project.certificate)}
    project.run(program, "32", "3", **strict)
    failing = f"try:\n    {program.replace(chr(10), chr(10) + '    ')}\nexcept Exception as error:\n    print(error)"
    assert "argument 1 int 5 is not covered (covered: int 2, int 3)" in project.run(failing, "32", "5", **strict)
    why = "its compile read the value of argument 1, which only a launch has"
    assert {why for _, _, why in missing(project.certify(str(project.needs), "--fill")[1])} == {why}
    for size in ("2", "3"):
        project.run(program, "64", size)
    assert project.certify(str(project.needs))[0] == 0


def test_a_certificate_is_the_same_bytes_in_whatever_order_needs_are_given(project: Project) -> None:
    lines = project.needs.read_text().splitlines(keepends=True)
    (first, second, other) = (project.folder / name for name in ("first", "second", "other.json"))
    first.write_text("".join(lines[::2]))
    second.write_text("".join(reversed(lines[1::2])))
    project.certify(str(project.needs), "--output", str(project.certificate))
    project.certify(str(second), str(first), "--output", str(other))
    assert other.read_bytes() == project.certificate.read_bytes()
    told = json.loads(other.read_text())
    assert told["toolchains"]["host"]["numba-cuda"] and told["schema"] == 1


def test_needs_that_cannot_be_read_leave_a_certificate_incomplete(project: Project) -> None:
    line = project.needs.read_text().splitlines()[0]
    project.needs.write_text(f"{line}\n{line.replace('certified:', 'nowhere:')}\nnot JSON\n")
    status, told = project.certify(str(project.needs))
    assert (status, told["complete"], len(told["unknown"])) == (1, False, 2)
    errors = [one["error"] for one in told["unknown"]]
    assert "this is not a recorded line" in errors[0] and "module nowhere cannot be imported" in errors[1]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "give files of recorded needs, or --kernels"),
        (["needs.jsonl", "--signature", "void(int64)"], 2, "give --kernels MODULE:KERNEL with it"),
        (["missing.jsonl"], 1, "missing.jsonl cannot be read: No such file or directory"),
        (["empty.jsonl"], 1, "empty.jsonl: nothing is recorded there"),
        (["needs.jsonl", "--launches", "missing.json"], 1, "--launches missing.json cannot be read"),
        (["needs.jsonl", "--launches", "needs.jsonl"], 2, "--launches needs.jsonl: not JSON"),
        (["needs.jsonl", "--launches", "list.json"], 2, "--launches list.json: give launches by kernel"),
        (["needs.jsonl", "--launches", "lost.json"], 2, "certified:seized is neither recorded nor given; known: "),
        (
            ["needs.jsonl", "--launches", "wrong.json"],
            2,
            "--launches wrong.json: certified:sized, launch 2: blockdim.x is 2000",
        ),
        (["needs.jsonl", "--output", "nowhere/c.json"], 1, "--output nowhere/c.json cannot be written"),
    ],
)
def test_words_that_make_no_sense_are_one_line(project: Project, words: list[str], status: int, said: str) -> None:
    (project.folder / "empty.jsonl").write_text("")
    (project.folder / "list.json").write_text("[]")
    (project.folder / "lost.json").write_text('{"certified:seized": []}')
    (project.folder / "wrong.json").write_text('{"certified:sized": [[8, 64], [8, 2000]]}')
    done = run_python("-B", "-m", "gridjit", "certify", *words)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("", "not JSON"),
        ("[]", "an object with complete, gridjit"),
        ('{"schema": 2}', "it has schema 2, of another version of gridjit"),
    ],
)
def test_a_file_that_is_not_a_certificate_is_a_wrong_setting(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "c.json").write_text(text)
    with pytest.raises(ConfigError, match=f"GRIDJIT_CERTIFICATE=.*c.json: {said}.*gridjit certify --output FILE"):
        Certificate.at(tmp_path / "c.json")


def test_a_cache_that_is_off_cannot_be_certified(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE", "0")
    restart()
    assert main(["certify", "needs.jsonl"]) == 2
