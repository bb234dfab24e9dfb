"""Python programs in processes of their own, as subprocess has them, without numba's import in each.

Two servers, which the processes of a run share, fork them in turn, so that one program and the next have other hashes
of texts and other addresses, as two processes do that were started. A third server has compiled nothing.
tests/program_server.py says what only a process that is really started can show.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

# Read once, before a program could be asked for: by the interpreter, the loader or numba.
_AT_START = ("NUMBA", "LD_", "LLVM", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONWARNINGS", "PYTHONMALLOC", "CUDA")
_OF_THIS_RUN: dict[str, str] = {}
# Settings that a test made for itself: what they have imported would be there in programs of all tests to come.
_OF_A_TEST = (
    "GRIDJIT_CHECK_STREAMS",
    "GRIDJIT_TRACE",
    "GRIDJIT_RECORD",
    "GRIDJIT_HOST_STEP",
    "GRIDJIT_LOG",
    "GRIDJIT_HOST_PASSES",
)
_LEFT_OUT = (*_AT_START, *_OF_A_TEST)


# The variable that names the folder where the processes of a run of tests meet the servers.
MEETING = "TESTS_PROGRAM_SERVERS"


def note_environment() -> None:
    """Have programs find what the environment now says of what is read at a start."""
    _OF_THIS_RUN.clear()
    _OF_THIS_RUN.update({name: value for name, value in os.environ.items() if name.startswith(_AT_START)})


class _Server:
    """A process that programs are forked from, shared by the processes of a run: it ends when none is connected.

    has: what it did before, "compiled" or only "imported".
    """

    def __init__(self, meeting: Path, name: str, has: str = "compiled") -> None:
        self._lock = threading.Lock()
        with open(meeting / f"{name}.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # so that one process starts it
            self._control = _connected(meeting / name) or _started(meeting / name, has)

    def end(self) -> None:
        """Leave it; it ends what it has running for this process, and itself if nobody else is there."""
        self._control.close()

    def start(self, request: dict[str, Any], streams: list[int]) -> IO[str]:
        """Start a program; return what tells of it."""
        theirs = request["environment"]
        for name in sorted(_OF_THIS_RUN.keys() | theirs.keys()):
            if name.startswith(_AT_START) and _OF_THIS_RUN.get(name) != theirs.get(name):
                raise ValueError(f"{name} is read at the start of a process: start a real one")
        told, telling = os.pipe()
        with tempfile.TemporaryFile("w+") as file:
            json.dump(request, file)
            file.flush()
            file.seek(0)
            with self._lock:
                socket.send_fds(self._control, [b"."], [file.fileno(), *streams, telling])
        os.close(telling)
        return open(told)


def _connected(path: Path) -> socket.socket | None:
    """Return a connection to the server there, once it greets; None if there is no server, or one that is ending."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(FileNotFoundError, ConnectionError):
        connection.connect(str(path))
        if connection.recv(1):
            return connection
    connection.close()
    return None


def _started(path: Path, has: str) -> socket.socket:
    """Start a server that listens there, and return a connection to it."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        os.set_inheritable(listener.fileno(), True)
        command = [sys.executable, str(Path(__file__).with_name("program_server.py")), str(listener.fileno()), has]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        os.posix_spawn(sys.executable, command, environment | _OF_THIS_RUN, file_actions=[nothing])
    connection = _connected(path)
    assert connection is not None, "the server of programs ended"
    return connection


_servers: list[_Server] = []
_with_imports: list[_Server] = []


def end_servers() -> None:
    """Leave the servers, if any were met."""
    for servers in (_servers, _with_imports):
        while servers:
            servers.pop().end()


def _server_with_imports() -> _Server:
    if not _with_imports:
        _with_imports.append(_Server(Path(os.environ[MEETING]), "imported", "imported"))
    return _with_imports[0]


def _next_server() -> _Server:
    if len(_servers) < 2:
        _servers.append(_Server(Path(os.environ[MEETING]), str(len(_servers))))
    else:
        _servers.append(_servers.pop(0))
    return _servers[-1]


class Program:
    """A running program: what subprocess.Popen has of one, in text."""

    def __init__(
        self,
        *command: object,
        streams: tuple[int, int, int],
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        compiles_first: bool = False,
    ) -> None:
        arguments, options = [str(part) for part in command], []
        while arguments[0] in ("-W", "-B"):
            options += [arguments.pop(1)] if arguments[0] == "-W" else []
            del arguments[0]
        self.args, self.returncode = ["python", *map(str, command)], None
        environment = dict(os.environ if env is None else env)
        request = {"arguments": arguments, "warnings": options, "environment": environment}
        server = _server_with_imports() if compiles_first else _next_server()
        self._told = server.start(request | {"folder": os.fspath(cwd or os.getcwd())}, list(streams))
        self.pid = int(self._told.readline())

    returncode: int | None

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; it is killed if it does not in time."""
        late = threading.Event()
        timer = threading.Timer(timeout or 280.0, lambda: (late.set(), self.kill()))
        timer.start()
        if self.returncode is None:
            with self._told:
                self.returncode = int(self._told.readline())
        timer.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(self.args, timeout or 280.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, if it has not ended."""
        self.send_signal(signal.SIGKILL)


class PipedProgram(Program):
    """A running program that is talked to."""

    def __init__(self, *command: object, **how: Any) -> None:
        (stdin, ours), (told, stdout), (errors, stderr) = os.pipe(), os.pipe(), os.pipe()
        self.stdin, self.stdout, self.stderr = open(ours, "w"), open(told), open(errors)  # noqa: SIM115
        super().__init__(*command, streams=(stdin, stdout, stderr), **how)
        for theirs in (stdin, stdout, stderr):
            os.close(theirs)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return the rest of what it says, little on standard error, once it has ended."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def __enter__(self) -> PipedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.communicate()
        self.stdout.close()
        self.stderr.close()


def run_python(
    *command: object,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    compiles_first: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Return how `python *command` ended and what it said: subprocess.run's answer, for a forked process.

    command: `-W` and `-B` options, then `-c code`, `-m module` or a script, and its arguments. compiles_first: the
    process that is forked has imported numba, as always, but has neither compiled nor made numba's contexts.
    """
    with open(os.devnull) as nothing, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        streams = (nothing.fileno(), output.fileno(), errors.fileno())
        program = Program(*command, streams=streams, env=env, cwd=cwd, compiles_first=compiles_first)
        status = program.wait(timeout)
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode(errors="surrogateescape"))
    return subprocess.CompletedProcess(program.args, status, *said)


def python_path(*folders: object) -> str:
    """Return a PYTHONPATH on which folders come before those of this process, wherever a program is started."""
    own = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join([*map(str, folders), *map(os.path.abspath, own)])


def run_new_python(
    *command: object,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = 280.0,
) -> subprocess.CompletedProcess[str]:
    """Return the same of an interpreter that is started for it: slow, and the truth about starts and imports."""
    arguments = [sys.executable, *map(str, command)]
    return subprocess.run(arguments, env=env, cwd=cwd, timeout=timeout, capture_output=True, text=True, check=False)
