"""`gridjit warm`: what was asked for or recorded is in the cache afterwards, in other processes too."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console

from gridjit.commands import main
from gridjit.commands.compiling.warm import follow
from gridjit.commands.progress import shown
from gridjit.commands.warm_work import WarmTask
from gridjit.runtime.pool.pool import Task
from tests.programs import run_python

FLOATS = "void(float32[::1])"


@pytest.fixture
def warm(kernels: Any, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Return what runs `gridjit warm ... --json` and gives its status and what it says. jobs: processes at once.

    new: in this process, whose processes are started and not forked.
    """

    def run(*words: str, jobs: int = 1, new: bool = False) -> tuple[int, Any]:
        words = ("warm", *words, "--json", "--jobs", str(jobs))
        if not new:
            done = run_python("-W", "error", "-m", "gridjit", *words)
            assert done.stderr == ""
            return done.returncode, json.loads(done.stdout)
        capsys.readouterr()
        return main([*words]), json.loads(capsys.readouterr().out)

    return run


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: folder.mkdir() or folder.chmod(0o777), "is not used: it can be written by other users"),
        (lambda folder: folder.write_text(""), "cannot be read: Not a directory"),
    ],
)
def test_a_folder_that_is_not_used_is_named_before_anything_is_compiled(
    kernels: Any, cache_dir: Path, capsys: pytest.CaptureFixture[str], spoil: Any, why: str
) -> None:
    shutil.rmtree(cache_dir, ignore_errors=True)
    spoil(cache_dir)
    assert main(["warm", "opstats:declared"]) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1) and why in error


def test_code_that_the_folder_does_not_keep_fails_with_the_reason(warm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", "/proc/none")
    status, told = warm("opstats:declared", "--target", "host")
    assert status == 1
    assert re.fullmatch("cache folder /proc/none cannot be written: .* Set GRIDJIT.*", told["failed"][0]["error"])


def test_code_that_makes_room_for_later_code_fails(warm: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / "small"))
    monkeypatch.setenv("GRIDJIT_CACHE_ENTRIES", "3")
    launches = [word for block in (32, 64, 96) for word in ("--config", f"grid=1,block={block}")]
    status, told = warm("opstats:sized", "--signature", FLOATS, *launches, "--target", "host")
    assert (status, told["compiled"] + len(told["failed"])) == (1, 3)
    assert told["failed"][0]["error"].startswith(
        f"the cache folder {tmp_path}/small has no room for all code: set GRID"
    )


def test_signatures_and_launches_are_compiled_in_every_combination_and_then_found(
    warm: Any, kernels: Any, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    words = ["opstats:sized", "--signature", FLOATS, "--signature", "void(int64[::1])"]
    words += ["--config", "grid=1,block=32", "--config", "grid=1,block=64", "--target", "host"]
    status, told = warm(*words, jobs=2, new=True)
    assert (status, told["compiled"], told["cached"], told["failed"]) == (0, 4, 0, [])
    assert warm(*words)[1]["cached"] == 4
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    for dtype in (np.float32, np.int64):
        out = np.zeros(1, dtype)
        kernels.sized[7, 64](out)
        assert out[0] == 64
    assert kernels.sized.stats.disk_hits == 2


def test_a_module_is_warmed_by_the_signatures_that_its_kernels_declare(warm: Any) -> None:
    status, told = warm("opstats:declared", "--target", "host")
    assert (status, told["compiled"] + told["cached"], told["failed"]) == (0, 1, [])


def test_of_a_module_the_kernels_without_signatures_are_left_out(warm: Any) -> None:
    status, told = warm("opstats", "--target", "host")
    assert (status, told["compiled"] + told["cached"], told["failed"]) == (0, 1, [])


def test_nothing_is_compiled_that_was_not_asked_for(warm: Any, kernels: Any, cache_dir: Path, tmp_path: Path) -> None:
    kernel = "@gridjit.jit('void(float32[::1])')\ndef kernel{0}(x):\n    x[0] = {0}\n\n"
    (tmp_path / "several.py").write_text("import gridjit\n\n" + "".join(map(kernel.format, range(3))))
    before = set(cache_dir.glob("??/*.o"))
    assert warm("several:kernel1", "--target", "host")[1]["compiled"] == 1
    assert len({*cache_dir.glob("??/*.o")} - before) == 1


def test_a_run_shows_what_is_compiled_and_how_long_the_rest_may_take() -> None:
    tasks = [(WarmTask(kernel=f"m:k{n}", signature=FLOATS, config=None, target="host"), Task(n)) for n in range(1, 5)]
    console = Console(file=io.StringIO(), width=100)
    progress = shown(console)
    seen = []

    class Steps:
        """What happens to the tasks, one turn after the other."""

        def __init__(self) -> None:
            self.left = ["1 begun", "2 begun", "1 over", "3 begun", "2 over", "3 over", "4 begun", "4 over"]

        def turn(self) -> None:
            with console.capture() as captured:
                console.print(progress.get_renderable())
            seen.append(captured.get().rpartition("━ ")[2].strip())
            number, what = self.left.pop(0).split()
            task = tasks[int(number) - 1][1]
            task.begun, task.lost = True, "it is over" if what == "over" else ""

    ticks = itertools.count(step=20)  # seconds
    follow(cast("Any", Steps()), tasks, progress, lambda: next(ticks))
    assert seen[:4] == ["0/4 starting", "0/4 m:k1", "0/4 m:k1, m:k2", "1/4 about 4:00 left: m:k2"]
    assert seen[-1] == "3/4 about 0:53 left: m:k4"


def test_ctrl_c_ends_what_is_being_compiled(kernels: Any, tmp_path: Path) -> None:
    for pipe in ("begun", "goes on"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / "endless.py").write_text(
        "import os, sys, opstats\n"
        "if 'gridjit.runtime.workers.worker' in sys.modules:\n"
        "    with open('begun', 'w') as pipe:\n        pipe.write(str(os.getpid()))\n"
        "    open('goes on').close()\n"
        "scale = opstats.scale\n"
    )
    words = ["warm", "endless:scale", "--signature", "void(float32[::1], float32)", "--target", "host", "--json"]
    command = [sys.executable, "-m", "gridjit", *words]
    running = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(tmp_path / "begun") as said:
        worker = os.pidfd_open(int(said.read()))
    os.killpg(running.pid, signal.SIGINT)
    assert (*running.communicate(), running.returncode) == (b"", b"", 130)
    assert select.select([worker], [], [], 60.0)[0]
    os.close(worker)


def test_a_process_that_dies_fails_its_kernel_and_no_other(warm: Any, kernels: Any, tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os, sys, opstats\n"
        "if 'gridjit.runtime.workers.worker' in sys.modules:\n    os._exit(3)\n"
        "scale = opstats.scale\n"
    )
    words = ["deadly:scale", "opstats:scale", "--signature", "void(float32[::1], float32)", "--target", "host"]
    status, told = warm(*words)
    assert (status, told["compiled"], len(told["failed"])) == (1, 1, 1)
    assert "the process that compiled it ended, with status 3" in told["failed"][0]["error"]


def test_what_a_run_recorded_is_built_and_nothing_else(
    warm: Any, kernels: Any, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], tmp_path: Path
) -> None:
    record = tmp_path / "needs.jsonl"
    monkeypatch.setenv("GRIDJIT_RECORD", str(record))
    restart()
    for block in (32, 64):
        kernels.sized[3, block](np.ones(4, np.float32))
    kernels.scale[1, 32](np.ones(4, np.float32), 2.0)
    assert len(record.read_text().splitlines()) == 3
    monkeypatch.delenv("GRIDJIT_RECORD")
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    restart()
    status, told = warm("--from", str(record))
    assert (status, told["compiled"], told["failed"]) == (0, 3, [])
    assert len(record.read_text().splitlines()) == 3
    assert main(["cache", "ls", "--json", "--kernel", "sized"]) == 0


def test_a_declared_signature_that_was_found_to_need_a_launch_is_warmed_as_recorded(
    warm: Any, kernels: Any, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], tmp_path: Path
) -> None:
    record = tmp_path / "needs.jsonl"
    monkeypatch.setenv("GRIDJIT_RECORD", str(record))
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    restart()
    kernels.sized.declare(FLOATS)
    monkeypatch.delenv("GRIDJIT_RECORD")
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GRIDJIT_COMPILE_PROCESSES", "0")
    restart()
    for compiled in (1, 0):
        status, told = warm("--from", str(record))
        assert (status, told["compiled"], told["cached"], told["failed"]) == (0, compiled, 1 - compiled, [])


def test_failures_are_listed_and_do_not_stop_the_others(warm: Any, tmp_path: Path, kernels: Any) -> None:
    record = tmp_path / "needs.jsonl"
    good = _line(kernels)
    record.write_text(f"{good}not JSON\n\n{good.replace('opstats:sized', 'opstats:gone')}{good}")
    status, told = warm("--from", str(record), "--target", "host")
    assert (status, told["compiled"]) == (1, 1)
    errors = {failure["what"].partition(" ")[0]: failure["error"] for failure in told["failed"]}
    assert {failure["kernel"] for failure in told["failed"]} <= {*errors, None}
    assert all(failure["kernel"] is None or failure["signature"] for failure in told["failed"])
    assert errors.keys() == {f"{record}:2", "opstats:gone"}
    assert "is not a kernel" in errors["opstats:gone"]


@pytest.mark.usefixtures("kernels")
def test_code_goes_to_remote_caches_and_comes_from_there(tmp_path: Path) -> None:
    command = ["-m", "gridjit", "warm", "opstats:declared", "--target", "host"]

    def said(machine: str, remote: str = "remote") -> list[str]:
        places = {"DIR": tmp_path / machine, "REMOTE": f"file://{tmp_path}/{remote}?unsigned"}
        given = {f"GRIDJIT_CACHE_{name}": str(value) for name, value in places.items()}
        done = run_python(*command, env=os.environ | given)
        return [done.stdout.rpartition(", in ")[0], done.stderr]

    (tmp_path / "file").write_bytes(b"not a folder")
    (tmp_path / "remote").mkdir()
    assert said("one") == ["1 compiled, 0 in the cache already, 0 failed", ""]
    assert said("two") == ["0 compiled, 0 in the cache already, 1 from a remote cache, 0 failed", ""]
    assert said("two") == ["0 compiled, 1 in the cache already, 0 failed", ""]
    counted, error = said("three", "file")
    assert counted == "1 compiled, 0 in the cache already, 0 failed"
    assert error.startswith(f"not all is written: remote cache file://{tmp_path}/file: ")


@pytest.mark.usefixtures("kernels")
def test_a_kernel_that_does_not_compile_says_why_to_people() -> None:
    done = run_python("-m", "gridjit", "warm", "opstats:sized", "--signature", FLOATS, "--target", "host")
    assert done.returncode == 1
    assert "0 compiled, 0 in the cache already, 1 failed" in done.stdout
    assert "failed: opstats:sized void(float32[::1]) for host" in done.stderr
    assert "needs a launch configuration" in done.stderr
    assert "gridjit warm takes --config grid=4,block=128." in done.stderr
    assert "GRIDJIT_TRACEBACK" not in done.stderr


@pytest.mark.cuda_toolkit
def test_code_is_made_for_gpus_that_are_not_here(warm: Any) -> None:
    status, told = warm("opstats:scale", "--signature", "void(float32[::1], float32)", "--target", "sm_80,sm_90")
    assert (status, told["compiled"], told["failed"]) == (0, 2, [])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give kernels (module:kernel) or --from FILE"),
        (["opstats:scale", "--from", "x"], "give kernels (module:kernel) or --from FILE"),
        (["opstats:scale"], "declares no signature"),
        (["opstats:scale", "--signature", FLOATS, "--target", "gpu"], "--target gpu"),
        (["opstats:scale", "--signature", FLOATS, "--jobs", "0"], "--jobs 0"),
        (["opstats:scale", "--signature", FLOATS, "--config", "grid=1"], "blockdim missing"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "--from", "missing.jsonl"]) == 1
    assert capsys.readouterr().err == "gridjit: missing.jsonl cannot be read: No such file or directory\n"


def test_a_cache_that_is_off_cannot_be_warmed(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE", "0")
    restart()
    assert main(["warm", "--from", "missing.jsonl"]) == 2


def _line(kernels: Any) -> str:
    """Return the recorded line of sized for blocks of 32."""
    from gridjit.compiler.values.footprint import Fact
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.compiler.values.signature import ArrayType, Signature
    from gridjit.runtime.specializations.needs import Need

    return Need(
        kernel="opstats:sized",
        signature=Signature(arguments=(ArrayType(dtype="float32", ndim=1),)),
        config=LaunchConfig.of(1, 32),
        target="host",
        facts=(Fact(field="blockdim.x", value=32),),
    ).to_line()
