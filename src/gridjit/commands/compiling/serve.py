"""`gridjit serve`: compile for all programs that ask for it, in a process that has imported the compiler already."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import subprocess
import sys

from gridjit.commands import printing
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.runtime.environment.settings import usable_cores
from gridjit.runtime.pool.address import listening_process
from gridjit.runtime.process.session import session
from gridjit.runtime.workers.compile_server import become_server, listening

# A server that starts itself anew runs this text with the files of another version, so all else is in `begin`.
# Ctrl-C ends it silently, from its first line on; until then, become_server held it back.
_PROGRAM = """import signal, sys, time
began = time.time_ns()
if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
sys.path[:] = sys.argv[3:]
from gridjit.commands.compiling.serve import begin
begin(began)
"""


def run(given: argparse.Namespace) -> int:
    """Serve until this process is ended; returns only by raising."""
    settings = session().settings
    if not settings.cache:
        raise ConfigError("GRIDJIT_CACHE turns the cache off: a compile server hands over code through the cache")
    _have_streams()
    try:
        door = listening(settings.cache_dir)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise GridjitError(f"no socket to listen at: {error.strerror}") from None
        there = listening_process(settings.cache_dir)
        who = "a process of another user listens at the address" if there is None else f"process {there} is one already"
        raise GridjitError(f"no compile server for {settings.cache_dir}: {who}") from None
    printing.say(f"gridjit serve: for programs with GRIDJIT_COMPILE_SERVER=1 and {settings.cache_dir}; Ctrl-C ends it")
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
    become_server(door, [*flags, "-c", _PROGRAM, str(door.fileno()), str(given.jobs or usable_cores()), *_path()])


def _path() -> list[str]:
    """Return where the compiler is imported from: not from the folder of the command, which Python puts first."""
    is_safe = getattr(sys.flags, "safe_path", False) or sys.flags.isolated
    return [path for path in sys.path[0 if is_safe else 1 :] if os.path.isabs(path)]


def begin(began: int) -> None:
    """Be the server whose door and number of processes the command line names. began: when the process began."""
    if os.getpid() == 1:
        end_as_first_process()
    import gridjit.cuda  # noqa: F401  # it adds to numba-cuda, which is looked at as a whole: so it comes first
    from gridjit.commands.compiling.rehearsal import rehearse
    from gridjit.runtime.workers.compile_server import stand

    stand(int(sys.argv[1]), int(sys.argv[2]), rehearse, began)


def end_as_first_process() -> None:
    """End at SIGINT and SIGTERM, which the system does not let end the first process of a container by themselves."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os._exit(128 + number))


def _have_streams() -> None:
    """Open the null device in place of closed standard streams: a socket there would be taken for a stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
