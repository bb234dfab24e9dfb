"""Programs that tests fork are like programs that were started, in all that tests go by."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import programs
from tests.programs import PipedProgram, run_new_python, run_python

SHOWS = """
import atexit, json, os, sys, warnings
atexit.register(print, "at exit")
try:
    warnings.warn("told")
except UserWarning:
    sys.argv.append("an error")
print(json.dumps([
    sys.argv[1:], __name__, sys.path[0], os.getcwd(), os.environ.get("GIVEN"), sys.modules["__main__"].SELF,
    sys.stdin.read(), sys.stdout.encoding, sys.stderr.errors, [name for name in globals() if name[:2] != "__"],
]))
""".replace("atexit.register", "SELF = 1; atexit.register", 1)


@pytest.mark.parametrize("how", ["-c", "-m", "script"])
@pytest.mark.parametrize("options", [(), ("-W", "error")])
def test_a_forked_program_finds_what_a_started_one_finds(tmp_path: Path, how: str, options: tuple[str, ...]) -> None:
    (tmp_path / "script.py").write_text(SHOWS)
    command = {"-c": ("-c", SHOWS), "-m": ("-m", "script"), "script": (tmp_path / "script.py",)}[how]
    environment = {**os.environ, "GIVEN": "value", "PYTHONIOENCODING": "utf-8"}
    said = [
        run(*options, *command, "one", "two", cwd=tmp_path, env=environment) for run in (run_python, run_new_python)
    ]
    forked, started = ((done.returncode, done.stdout) for done in said)
    assert forked == started
    assert forked[1].endswith("at exit\n") and json.loads(forked[1].splitlines()[0])[1] == "__main__"


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('words')", 1),
        ("1 / 0", 1),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import threading; threading.Thread(target=lambda: print('thread')).start()", 0),
    ],
)
def test_a_forked_program_ends_as_a_started_one_ends(program: str, status: int) -> None:
    forked, started = (run("-c", program) for run in (run_python, run_new_python))
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert (forked.returncode, forked.stderr) == (status, started.stderr)


def test_one_program_and_the_next_have_other_hashes_and_share_nothing() -> None:
    program = "import sys; print(hash('text'), hasattr(sys, 'left')); sys.left = True"
    said = [run_python("-c", program).stdout.split() for _ in range(4)]
    assert said[0][0] == said[2][0] != said[1][0] == said[3][0]
    assert {left for _, left in said} == {"False"}


def test_processes_share_a_server_which_ends_what_each_leaves_and_itself_with_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_servers", servers := [programs._Server(tmp_path, "0") for _ in range(2)])
    (server,) = {int(run_python("-c", "import os; print(os.getppid())").stdout) for _ in range(2)}
    ends = os.pidfd_open(server)
    with PipedProgram("-c", "import sys; sys.stdin.read()") as left:
        servers.pop().end()
        assert left.wait() == -signal.SIGKILL
    servers *= 2
    assert run_python("-c", "").returncode == 0
    servers.pop().end()
    assert select.select([ends], [], [], 60)[0], "the server goes on"
    os.close(ends)


def test_what_only_a_new_interpreter_reads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PYTHONHASHSEED", "NUMBA_OPT"):
        with pytest.raises(ValueError, match=f"{variable} is read at the start"):
            run_python("-c", "", env={**os.environ, variable: "1"})


def test_a_program_can_be_talked_to_and_killed() -> None:
    with PipedProgram("-c", "import sys; print(sys.stdin.readline(), flush=True); sys.stdin.read()") as program:
        program.stdin.write("a word\n")
        program.stdin.flush()
        assert program.stdout.readline() == "a word\n"
        program.send_signal(signal.SIGKILL)
        assert program.wait() == -signal.SIGKILL


@pytest.mark.parametrize("run", [run_python, run_new_python])
def test_a_program_that_does_not_end_in_time_is_killed(run: Callable[..., object]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("-c", "import signal; signal.pause()", timeout=0.5)


@pytest.mark.parametrize("compiles_first", [False, True])
def test_only_the_first_to_compile_finds_numba_without_contexts(compiles_first: bool) -> None:
    program = "import numba.cuda.descriptor as d; print(*vars(d.cuda_target).values())"
    assert ("None None" in run_python("-c", program, compiles_first=compiles_first).stdout) is compiles_first


@pytest.mark.parametrize("compiles_first", [False, True])
def test_a_forked_program_loads_the_extensions_that_are_installed_where_it_looks(
    tmp_path: Path, compiles_first: bool
) -> None:
    (tmp_path / "late-1.dist-info").mkdir()
    (tmp_path / "late-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1\n")
    (tmp_path / "late-1.dist-info" / "entry_points.txt").write_text("[numba_extensions]\ninit = late:init\n")
    (tmp_path / "late.py").write_text("def init():\n    print('loaded')\n")
    program = "import gridjit; gridjit.jit(lambda x: None).compile('void(int8)', target='host')"
    environment = {**os.environ, "PYTHONPATH": programs.python_path(tmp_path)}
    done = run_python("-c", program, env=environment, compiles_first=compiles_first)
    assert (done.stdout, done.stderr) == ("loaded\n", "")
