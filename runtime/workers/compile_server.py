"""The compile server: a process that imports the compiler once, for all programs of a user, until it is ended.

It is not started by a program, but by `gridjit serve`. For each program that connects, it forks a server: the same
process that a program may start for itself, with the compiler imported already. It forks the server, and a first worker
with its own copy of the memory that a compile writes to, before the program comes. When a file that it has imported
changes on disk, it starts itself anew before it accepts the next program.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from gridjit.compiler.process.collecting import freeze_for_good
from gridjit.compiler.source.libraries import file_of
from gridjit.runtime.pool import address
from gridjit.runtime.pool.environment import ALONE
from gridjit.runtime.workers import server
from gridjit.runtime.workers.conditions import Conditions
from gridjit.runtime.workers.forks import end_with, fork
from gridjit.runtime.workers.touched import Stretch, copy_ahead, touched_by

# The targets that programs are expected to compile for.
_TARGETS = ("host", "ptx")
# The next program is prepared for after so many seconds: just then, the last is being served.
_MOMENT_S = 0.25

Stamps = dict[str, tuple[int, ...]]


def listening(cache: Path) -> socket.socket:
    """Return a socket at which programs of a cache folder find this process; OSError if another process has it."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        made.bind(address.address(cache))
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made


def become_server(door: socket.socket, command: Sequence[str]) -> NoReturn:
    """Replace this process by a new interpreter, which calls `stand` with the inherited door, and unblocks Ctrl-C."""
    os.set_inheritable(door.fileno(), True)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # an interpreter that starts would print where it was
    os.execve(sys.executable, [sys.executable, *command], {**os.environ, **ALONE})


def stand(listener: int, processes: int, rehearse: Callable[[str], None], began: int) -> None:
    """Serve all programs that come, with at most so many workers each, until this process is ended.

    rehearse: compiles something for a kind of target, so that the first compile's extra work is done before a fork.
    began: when this process began to import, in nanoseconds.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # how a program's server ended does not matter
    started = time.perf_counter()
    gc.disable()  # imported modules stay
    conditions = Conditions.now()
    for target in _TARGETS:
        server.prepare(target)
        rehearse(target)
    there = {path: _stamp(path) for path in _paths()}
    freeze_for_good()  # in memory that all workers share
    gc.enable()
    touched = touched_by(lambda: [*map(rehearse, _TARGETS)])
    with socket.socket(fileno=listener) as door:
        if _is_mixed(there, began):
            _start_anew(door)
        _say(f"ready after {time.perf_counter() - started:.1f} s")
        moment = 0.0
        while True:
            ahead = None
            if not select.select([door], [], [], moment)[0]:
                ahead = _forked(door, processes, conditions, touched)
                select.select([door], [], [])
            if any(_stamp(path) != stamp for path, stamp in there.items()):
                _start_anew(door)
            _let_in(door, ahead or _forked(door, processes, conditions, touched))
            moment = _MOMENT_S


def _start_anew(door: socket.socket) -> NoReturn:
    _say("what is installed has changed: starting anew")
    become_server(door, sys.orig_argv[1:])


def _is_mixed(there: Stamps, began: int) -> bool:
    """Return whether a file changed during this process's imports: it may have the old file, and the new file's key.

    A time in the future is of a file system with another clock, and says nothing.
    """
    now = time.time_ns()
    return any(stamp and began <= stamp[-1] <= now and os.path.isfile(path) for path, stamp in there.items())


def _let_in(door: socket.socket, ahead: socket.socket | None) -> None:
    """Hand the program at the door to its forked server; without a server, the program is sent away."""
    with contextlib.suppress(OSError):  # the program or its server is gone
        program, _ = door.accept()
        with program:
            if ahead is not None and address.is_this_user(program):
                socket.send_fds(ahead, [b"."], [program.fileno()])
    if ahead is not None:
        ahead.close()


def _forked(
    door: socket.socket, processes: int, conditions: Conditions, touched: tuple[Stretch, ...]
) -> socket.socket | None:
    """Return a socket to a process that will serve the next program; None if there is no room for it."""
    parent, (ours, theirs) = os.getpid(), socket.socketpair()
    with theirs:
        try:
            if fork():
                return ours
        except OSError:
            ours.close()
            return None
        try:
            end_with(parent)
            ours.close()
            door.close()
            server.set_signals()
            _serve(theirs, processes, conditions, touched)
        finally:
            os._exit(1)


def _serve(told: socket.socket, processes: int, conditions: Conditions, touched: tuple[Stretch, ...]) -> None:
    """Wait for a program, with a worker that waits for its first task, and serve it; ends this process."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    place, beside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    beside.close()
    serving = server.ProgramServer(place, processes, conditions)
    serving.fork_ahead(lambda: _make_ready(touched))
    _, programs, _, _ = socket.recv_fds(told, 1, 1)
    if programs:
        os.dup2(programs[0], place.fileno(), inheritable=False)
        os.close(programs[0])
        serving.run()


def _make_ready(touched: tuple[Stretch, ...]) -> None:
    """Do a first task's common work."""
    copy_ahead(touched)
    server.look_at_what_is_there()


def _paths() -> set[str]:
    """Return each file that this process has imported or mapped, and each folder that it searched."""
    files = {file_of(module) for module in list(sys.modules.values())}
    return {path for path in {*files, *_mapped(), *sys.path} if isinstance(path, str) and path}


def _stamp(path: str) -> tuple[int, ...]:
    """Return a file's or folder's version; () if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _mapped() -> Iterator[str]:
    """Yield the paths of the libraries that this process has loaded."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if "r-x" in line and (start := line.find("/")) > 0:
                yield line[start:].rstrip("\n")


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # no reader
        print(f"gridjit serve: {text}", flush=True)
