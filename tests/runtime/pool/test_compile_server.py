"""A compile server that somebody started: programs need not import the compiler, and get the code that they would make.

One server serves the tests of this file: a real one, started as people start it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.commands.compiling.rehearsal import rehearse
from gridjit.compiler.targets.ptx import link, nvvm
from gridjit.compiler.values.errors import CompileError
from gridjit.runtime.devices import presence
from gridjit.runtime.pool import address, packets
from gridjit.runtime.process.session import session
from gridjit.runtime.specialize.request import Outcome, Warned
from gridjit.runtime.workers import build
from tests.programs import run_new_python, run_python
from tests.runtime.pool.conftest import wait_for_end

SCRIPT = """
import sys
import numpy as np
import gridjit
from gridjit import cuda


@gridjit.jit(device=True)
def twice(x):
    return 2 * x


@gridjit.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = twice(x[i]) * factor


x = np.arange(4, dtype=np.float32)
scale[1, 4](x, 3)
print(x.tolist(), scale.stats.compiles, "numba" in sys.modules, scale.specializations[0].origin)
"""


def new_script(number: int) -> str:
    """Return the script with other code for the same result, which the cache does not have yet."""
    return SCRIPT.replace("2 * x", f"2 * (x + {number}) - {2 * number}")


class Server:
    """A compile server for a cache folder, and what it says."""

    def __init__(self, cache: Path, **environment: str) -> None:
        self.cache = cache
        command = [sys.executable, "-m", "gridjit", "serve", "--jobs", "2"]
        self.running = subprocess.Popen(
            command,
            env={**os.environ, "GRIDJIT_CACHE_DIR": str(cache), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def line(self, said: str) -> str:
        """Return the next line that has these words; fails if the server ends before."""
        assert self.running.stdout is not None
        lines = []
        while line := self.running.stdout.readline():
            lines.append(line)
            if said in line:
                return line
        raise AssertionError(f"the server said only {''.join(lines)!r}")

    def end(self) -> None:
        self.running.kill()
        self.running.wait()
        assert self.running.stdout is not None
        self.running.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of this file's tests."""
    made = Server(tmp_path_factory.mktemp("served"))
    made.line("ready after")
    yield made
    made.end()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """What starts a server for a test alone, which may end it."""
    made = []

    def start(**environment: str) -> Server:
        made.append(Server(tmp_path / "cache", **environment))
        made[-1].line("ready after")
        return made[-1]

    yield start
    for one in made:
        one.end()


@pytest.fixture
def served(server: Server, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    """Have this process ask the server."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(server.cache))
    monkeypatch.setenv("GRIDJIT_COMPILE_SERVER", "1")
    restart()


def environment(server: Server, **more: str) -> dict[str, str]:
    """Return the environment of a program that asks a server."""
    return {
        **os.environ,
        "GRIDJIT_TARGET": "host",
        "GRIDJIT_COMPILE_SERVER": "1",
        "GRIDJIT_CACHE_DIR": str(server.cache),
        **more,
    }


def launched(kernel: Any, block: int = 4) -> list[float]:
    x = np.ones(4, np.float32)
    kernel[1, block](x)
    found: list[float] = x.tolist()
    return found


def origins(kernel: Any) -> list[str]:
    return [one.origin for one in kernel.specializations]


# -- what a program gets ---------------------------------------------------------------------------------------------


def test_a_script_gets_its_kernel_without_numba(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    first = run_new_python(script, env=environment(server))
    assert (first.stdout, first.stderr) == ("[0.0, 6.0, 12.0, 18.0] 0 False served\n", "")
    second = run_new_python(script, env=environment(server))
    assert second.stdout == "[0.0, 6.0, 12.0, 18.0] 0 False disk\n"


def test_an_edited_function_counts_in_the_next_process(server: Server, tmp_path: Path) -> None:
    module = tmp_path / "edited.py"
    module.write_text(SCRIPT)
    run = ["-B", "-c", "import edited"]
    assert run_python(*run, env=environment(server), cwd=tmp_path).stdout.startswith("[0.0, 6.0, 12.0, 18.0] 0 ")
    module.write_text(SCRIPT.replace("2 * x", "5 * x"))
    edited = run_python(*run, env=environment(server), cwd=tmp_path).stdout
    assert edited.startswith("[0.0, 15.0, 30.0, 45.0] 0 ") and edited.endswith(" served\n")


def test_what_a_server_compiled_goes_to_the_remote_caches_of_the_program(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(new_script(77))
    (tmp_path / "remote").mkdir()
    given = environment(server, GRIDJIT_CACHE_REMOTE=f"file://{tmp_path}/remote?unsigned")
    assert run_python(script, env=given).stdout.endswith(" served\n")
    elsewhere = given | {"GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    assert run_python(script, env=elsewhere).stdout == "[0.0, 6.0, 12.0, 18.0] 0 True remote\n"


@pytest.mark.usefixtures("served")
def test_each_launch_gets_the_code_that_its_configuration_needs() -> None:
    @gridjit.jit
    def block_size(x):
        x[cuda.grid(1)] = gridjit.static.blockDim.x

    assert [launched(block_size, block) for block in (4, 2, 4)] == [[4.0] * 4, [2.0, 2.0, 1.0, 1.0], [4.0] * 4]
    assert origins(block_size) == ["served", "served"]
    assert block_size.stats.compiles == 0
    assert "blockdim.x 4 -> 2" in block_size.explain()


@pytest.mark.usefixtures("served")
def test_threads_that_launch_at_once_are_served_together() -> None:
    makers = [gridjit.jit(made(number)) for number in range(4)]
    ready, found = threading.Barrier(4), {}

    def launch(number: int) -> None:
        ready.wait()
        found[number] = launched(makers[number])

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [number + 1.0] * 4 for number in range(4)}
    assert [origins(kernel) for kernel in makers] == [["served"]] * 4


def made(number: int) -> Callable[[Any], None]:
    """Return a function whose number is a variable of its closure."""

    def add(x):
        x[cuda.grid(1)] += number

    return add


@pytest.mark.usefixtures("served")
def test_what_is_compiled_ahead_is_served_too() -> None:
    @gridjit.jit
    def three(x):
        x[cuda.grid(1)] = 3

    assert three.compile("void(float32[::1])", target="host").target.kind == "host"
    assert origins(three) == ["served"]


@pytest.mark.usefixtures("served")
def test_declared_kernels_are_compiled_by_the_server() -> None:
    @gridjit.jit("void(float32[::1])", background=True)
    def four(x):
        x[cuda.grid(1)] = 4

    assert launched(four) == [4.0] * 4
    assert "compiled in another process, in" in four.explain()
    pool = session()._pool
    assert pool is not None and pool._server is None  # none was started


def test_that_a_declared_kernel_needs_a_launch_is_found_out_by_the_server(server: Server, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import sys
import gridjit
from gridjit import cuda

@gridjit.jit("void(float32[::1])")
def sized(x):
    x[cuda.grid(1)] = gridjit.static.blockDim.x

print("numba" in sys.modules, sized.stats.compiles, sized.stats.launches_needed)
""")
    said = "gridjit: needs a launch sized(float32[1d C]) for host, read at script.py:8: in the cache\n"
    for _ in range(2):
        done = run_new_python(tmp_path / "script.py", env=environment(server, GRIDJIT_LOG="compiles"))
        assert (done.stdout, done.stderr) == ("False 0 1\n", said)


@pytest.mark.usefixtures("served")
def test_it_is_said_what_was_served() -> None:
    @gridjit.jit
    def five(x):
        x[cuda.grid(1)] = 5

    launched(five)
    assert re.search(
        r"for host.*, served in \d+ ms\n *why: first use in this process, nothing in the cache", five.explain()
    )
    assert (five.stats.disk_hits, five.stats.disk_misses) == (0, 1)


@pytest.mark.usefixtures("served")
def test_a_module_that_was_edited_while_the_program_runs_is_imported_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "import gridjit\nfrom gridjit import cuda\n@gridjit.jit\ndef put(x):\n    x[cuda.grid(1)] = 7\n"
    (tmp_path / "reloaded.py").write_text(text)
    module = importlib.import_module("reloaded")
    assert launched(module.put) == [7.0] * 4
    (tmp_path / "reloaded.py").write_text(text.replace("7", "8"))
    assert launched(importlib.reload(module).put) == [8.0] * 4
    assert origins(module.put) == ["served"]
    sys.modules.pop("reloaded")


def test_warnings_of_a_compile_are_given_in_the_program(server: Server, tmp_path: Path) -> None:
    (tmp_path / "warning.py").write_text(WARNING)
    run = "import warning; warning.main()"
    found = run_python("-c", run, env=environment(server), cwd=tmp_path)
    assert (found.stdout, found.returncode) == ("[9.0, 9.0] served\n", 0)
    assert "warning.py:13: UserWarning: said while it is compiled" in found.stderr
    (tmp_path / "warning.py").write_text(WARNING.replace("9", "5"))
    strict = run_python("-W", "error", "-c", run, env=environment(server), cwd=tmp_path)
    assert strict.returncode == 1 and "said while it is compiled" in strict.stderr


def test_a_script_that_extends_the_compiler_compiles_itself(server: Server, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WARNING.replace("9", "6"))
    found = run_python(tmp_path / "script.py", env=environment(server, GRIDJIT_LOG="compiles"))
    assert found.stdout == "[6.0, 6.0] compiled\n"
    assert "warned: not compiled by the compile server: CompileError" in found.stderr


WARNING = """
import numpy as np
import gridjit
from gridjit import cuda
from numba.cuda.extending import overload
import warnings

def nine():
    return 9

@overload(nine)
def of_nine():
    warnings.warn("said while it is compiled")
    return lambda: 9

@gridjit.jit
def warned(x):
    x[cuda.grid(1)] = nine()

def main():
    x = np.ones(2, np.float32)
    warned[1, 2](x)
    print(x.tolist(), warned.specializations[0].origin)

if __name__ == "__main__":
    main()
"""


# -- where the program compiles itself -------------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
def test_an_error_is_the_one_of_this_process() -> None:
    @gridjit.jit
    def wrong(x):
        x[cuda.grid(1)] = nothing_of_this_name  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(CompileError, match="nothing_of_this_name"):
        launched(wrong)


@pytest.mark.usefixtures("served")
def test_what_one_kernel_refers_to_in_vain_does_not_keep_others_from_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_here = ModuleType("only_here")
    only_here.VALUE = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "only_here", only_here)

    @gridjit.jit
    def seven(x):
        x[cuda.grid(1)] = only_here.VALUE

    assert (launched(seven), origins(seven)) == ([7.0] * 4, ["compiled"])
    eight = gridjit.jit(made(7))
    assert (launched(eight), origins(eight)) == ([8.0] * 4, ["served"])


@pytest.mark.usefixtures("served")
def test_after_three_kernels_in_a_row_that_were_asked_for_in_vain_no_more_are() -> None:
    session().in_vain = 2
    kernels = [gridjit.jit(made(number)) for number in (21, 22)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NUMBA_OPT", "2")
        launched(kernels[0])
    assert session().no_server.endswith("the last time: NUMBA_OPT is '2' in this program, and not set there")
    launched(kernels[1])
    assert [origins(kernel) for kernel in kernels] == [["compiled"], ["compiled"]]


@pytest.mark.usefixtures("served")
def test_a_call_that_is_lost_before_anything_is_asked_keeps_no_kernel_from_the_server() -> None:
    here = session()
    here.call_server(here.target("host"))
    assert here._served is not None and here._served._socket is not None
    os.close(here._served._socket.fileno())  # as a program that closes all descriptors
    kernels = [gridjit.jit(made(number)) for number in (31, 32)]
    assert [launched(kernel) for kernel in kernels] == [[32.0] * 4, [33.0] * 4]
    assert ([origins(kernel) for kernel in kernels], here.no_server) == ([["served"], ["served"]], "")


@pytest.mark.usefixtures("served")
def test_nobody_is_called_for_a_kernel_that_is_compiled_here_anyway(restart: Callable[[], None]) -> None:
    kernel = gridjit.jit(cache=False)(made(33))
    assert (launched(kernel), origins(kernel), session()._served) == ([34.0] * 4, ["compiled"], None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
        restart()
        with pytest.raises(gridjit.CompileDisabledError):
            launched(gridjit.jit(made(34)))
        assert session()._served is None


@pytest.mark.usefixtures("served")
def test_new_processes_of_the_server_leave_others_to_what_threads_wait_for(tasks: Path) -> None:
    target = session().target("host")
    before = session().server(target)
    blocked = before.submit("pooltasks:block", str(tasks / "pipe"))
    session().renew_server()
    after = session().server(target)
    assert after is not before
    serving = after.wait(after.submit("pooltasks:who")).result
    open(tasks / "pipe", "w").close()
    assert before.wait(blocked).result == "done"
    assert after.wait(after.submit("pooltasks:who")).result == serving


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("debug", [False, True])
def test_messages_name_the_file_of_a_kernel_that_travelled(debug: bool) -> None:
    @gridjit.jit(debug=debug, opt=not debug)
    def raises(x):
        if x[0] > 0:
            raise ValueError("no more")

    with pytest.raises(ValueError, match=f"file {Path(__file__).name}, line"):
        launched(raises)
    assert origins(raises) == ["served"]


def test_a_warning_that_means_nothing_here_is_not_given() -> None:
    of_no_module = b"cnothing_of_this_name\nWarning\n."
    meant = Warned(pickled=pickle.dumps(UserWarning("meant")), file="there.py", line=3)
    outcome = Outcome(warned=(Warned(pickled=of_no_module, file="there.py", line=2), meant))
    with pytest.warns(UserWarning, match="meant") as given:
        outcome.warn_again()
    assert len(given) == 1


def test_more_warnings_than_go_back_at_once_are_left_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with build._noting() as noted:
            for number in range(100):
                warnings.warn(f"{number}{'!' * 1000}", stacklevel=1)
    assert len(noted) > 5
    assert len(pickle.dumps(Outcome(warned=tuple(noted)))) < packets.MOST


@pytest.mark.usefixtures("served")
def test_a_capture_sees_its_compile() -> None:
    @gridjit.jit
    def six(x):
        x[cuda.grid(1)] = 6

    with gridjit.launchconfig.capture_compile_config(six) as capture:
        launched(six)
    assert capture["config"] is not None and capture["config"].blockdim == (4, 1, 1)
    assert origins(six) == ["compiled"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("NUMBA_OPT", "2", "NUMBA_OPT is '2' in this program, and not set there"),
        ("LD_LIBRARY_PATH", "/nothing", "LD_LIBRARY_PATH is '/nothing' in this program, and "),
    ],
)
def test_a_program_whose_compiler_would_be_another_compiles_itself(
    server: Server, tmp_path: Path, variable: str, value: str, said: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(new_script(len(variable)))
    found = run_new_python(script, env=environment(server, GRIDJIT_LOG="compiles", **{variable: value}))
    assert found.stdout == "[0.0, 6.0, 12.0, 18.0] 1 True compiled\n"
    assert f"scale: not compiled by the compile server: {said}" in found.stderr


def test_a_program_with_another_numba_compiles_itself(server: Server, tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('not this one')")
    (tmp_path / "script.py").write_text(new_script(1))
    found = run_new_python(tmp_path / "script.py", env=environment(server, GRIDJIT_LOG="compiles"))
    assert f"this program has numba in {tmp_path}/numba/__init__.py, not in " in found.stderr


def test_without_a_server_programs_compile(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    asked = {**os.environ, "GRIDJIT_TARGET": "host", "GRIDJIT_COMPILE_SERVER": "1", "GRIDJIT_LOG": "compiles"}
    found = run_python(script, env=asked)
    assert found.stdout == "[0.0, 6.0, 12.0, 18.0] 1 True compiled\n"
    assert "scale: not compiled by the compile server: no compile server is there for " in found.stderr
    assert "`gridjit serve`" in found.stderr


def test_other_users_are_not_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as squatter:
        squatter.bind(address.address(tmp_path))
        squatter.listen()
        assert address.connected(tmp_path) is None
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.connect(address.address(tmp_path))
            assert not address.is_this_user(other)


@pytest.mark.cuda_toolkit
def test_where_there_is_a_driver_nothing_is_linked_before_a_fork(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    def started(*_: object) -> None:
        pytest.fail("nvJitLink starts the driver")

    compiled: list[str] = []
    monkeypatch.setattr(presence, "may_be_asked", lambda: False)
    monkeypatch.setattr(link, "_linker", started)
    monkeypatch.setattr(nvvm, "_verify", lambda *given, verify=nvvm._verify: compiled.append("") or verify(*given))
    rehearse("ptx")
    assert compiled


def test_info_names_the_server(server: Server) -> None:
    found = json.loads(run_python("-m", "gridjit", "info", "--json", env=environment(server)).stdout)
    assert found["compile_server"] == server.running.pid


# -- the server's life -----------------------------------------------------------------------------------------------


def test_a_second_server_says_that_there_is_one(server: Server) -> None:
    found = run_python("-m", "gridjit", "serve", env=environment(server))
    said = f"gridjit: no compile server for {server.cache}: process {server.running.pid} is one already\n"
    assert (found.returncode, found.stderr) == (1, said)


def test_without_a_cache_there_is_nothing_to_serve(server: Server) -> None:
    found = run_python("-m", "gridjit", "serve", env=environment(server, GRIDJIT_CACHE="0"))
    assert found.returncode == 2
    assert "a compile server hands over code through the cache" in found.stderr


ASKING = """
from gridjit.runtime.process.session import session

pool = session().server(session().target("host"))
worker, serving = pool.wait(pool.submit("pooltasks:who")).result
print(worker, serving, flush=True)
print("lost:", pool.wait(pool.submit("pooltasks:block", "pipe")).lost)
"""


def asking(server: Server, tasks: Path) -> tuple[subprocess.Popen[str], IO[str], list[int]]:
    """Return a program that waits for a task, what it says, and the worker and the server that it has."""
    program = subprocess.Popen(
        [sys.executable, "-c", ASKING],
        env=environment(server, PYTHONPATH=os.pathsep.join([str(tasks), *filter(None, sys.path)])),
        cwd=tasks,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    return program, program.stdout, [*map(int, program.stdout.readline().split())]


@pytest.mark.some(2)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_the_first_process_of_a_container_ends_at_a_signal(end: signal.Signals) -> None:
    own_namespaces = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with contextlib.suppress(OSError):
        if subprocess.run([*own_namespaces, "true"], capture_output=True).returncode == 0:
            program = (
                "import os, signal\n"
                "from gridjit.commands.compiling.serve import end_as_first_process\n"
                "assert os.getpid() == 1\n"
                "end_as_first_process()\n"
                f"os.kill(1, {int(end)})\n"
                "os._exit(1)\n"
            )
            assert subprocess.run([*own_namespaces, sys.executable, "-c", program]).returncode == 128 + end
            return
    pytest.skip("this system gives nobody a namespace of processes")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_with_the_server_all_of_its_processes_end(
    own_server: Callable[..., Server], tasks: Path, end: signal.Signals
) -> None:
    server = own_server(PYTHONPATH=str(tasks))
    program, said, pids = asking(server, tasks)
    server.running.send_signal(end)
    for pid in pids:
        wait_for_end(pid)
    assert said.read() == "lost: the processes that compile have ended\n"
    assert program.wait() == 0
    said.close()
    if end is signal.SIGINT:
        assert server.running.wait() == -signal.SIGINT


def test_ctrl_c_while_the_server_imports_ends_it_silently(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gridjit", "serve"]
    variables = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables) as serving:
        assert serving.stdout is not None and serving.stdout.readline().startswith("gridjit serve: for programs")
        serving.send_signal(signal.SIGINT)
        assert serving.communicate() == ("", "")
    assert serving.returncode == -signal.SIGINT


def test_with_a_program_the_processes_that_serve_it_end(server: Server, tasks: Path) -> None:
    program, said, pids = asking(server, tasks)
    program.kill()
    program.wait()
    said.close()
    for pid in pids:
        wait_for_end(pid)


def test_a_server_whose_installation_has_changed_starts_anew(own_server: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "installed").mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    server = own_server(PYTHONPATH=str(tmp_path / "installed"))
    (tmp_path / "installed" / "more.py").write_text("")
    asked = environment(server, PYTHONPATH=str(tmp_path / "installed"))
    assert run_python(script, env=asked).stdout.startswith("[0.0, 6.0, 12.0, 18.0] 0 ")
    server.line("what is installed has changed: starting anew")
    server.line("ready after")


CHANGES_WHILE_IMPORTED = """
import os, sys, changing


class Changing:
    def find_spec(name, path=None, target=None):
        if name == "gridjit.runtime.workers.compile_server" and not os.path.exists({marker!r}):
            open({marker!r}, "w").close()
            open(changing.__file__, "w").close()


if "begin(" in " ".join(sys.orig_argv):
    sys.meta_path.insert(0, Changing)
"""


@pytest.mark.slow
def test_a_server_whose_installation_changes_while_it_starts_starts_anew(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "changing.py").write_text("VALUE = 1")
    (installed / "sitecustomize.py").write_text(CHANGES_WHILE_IMPORTED.format(marker=str(tmp_path / "marker")))
    server = Server(tmp_path / "cache", PYTHONPATH=str(installed))
    try:
        server.line("what is installed has changed: starting anew")
        server.line("ready after")
    finally:
        server.end()


def test_a_server_that_has_no_standard_streams_serves(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(new_script(9))
    cache = tmp_path / "cache"
    server = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {sys.executable} -m gridjit serve <&- >&- 2>&-"],
        env={**os.environ, "GRIDJIT_CACHE_DIR": str(cache)},
    )
    try:
        while (there := address.connected(cache)) is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"the server ended with {server.wait(timeout=0.05)}")
        there.close()
        asked = {**os.environ, "GRIDJIT_TARGET": "host", "GRIDJIT_COMPILE_SERVER": "1", "GRIDJIT_CACHE_DIR": str(cache)}
        assert run_new_python(script, env=asked).stdout == "[0.0, 6.0, 12.0, 18.0] 0 False served\n"
    finally:
        server.kill()
        server.wait()
