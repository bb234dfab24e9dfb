"""Runs Python programs in processes of their own that need not import numba anew: each is forked from this one.

A message brings five descriptors: of a request in JSON, three for the program, and one that is told "pid" and how it
ended, a line each. As a new interpreter would, a program finds an environment, options, sys.path, standard streams and
__main__ of its own, and what it registered at exit is run. What no fork can give it is a start without numba: what a
program has imported, settings that only an interpreter's start or numba's import reads, and streams that were closed
before, are for real processes to show.

`program_server.py DESCRIPTOR compiled|imported`: where it has compiled a kernel, programs compile at once; where it has
only imported the compiler, their first compile is the process's first.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import linecache
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
import warnings
from typing import Any, NoReturn

import numpy as np

from gridjit import cuda
from gridjit.base import forking
from gridjit.compiler.frontend.bindings import bootstrap
from gridjit.compiler.frontend.narrow import contexts
from gridjit.compiler.key import entry_points, installed

# What a first compile imports.
PREPARED = (
    "gridjit.commands",
    "gridjit.cuda",
    "gridjit.cache.history",
    "gridjit.cache.index",
    "gridjit.cache.lock",
    "gridjit.compiler.compile",
    "gridjit.compiler.frontend.lower",
    "gridjit.compiler.frontend.bindings.types",
    "gridjit.compiler.frontend.bindings.vocabulary",
    "gridjit.compiler.hooks.description",
    "gridjit.compiler.targets.host.generate",
    "gridjit.launchconfig",
    "gridjit.runtime.devices.host.device",
    "gridjit.runtime.devices.host.launch",
    "gridjit.runtime.devices.host.load",
    "gridjit.runtime.simulated.under_numba",
    "gridjit.runtime.specializations.explain",
    "gridjit.runtime.specialize.keep",
    "gridjit.runtime.specialize.kernel_view",
    "gridjit.runtime.specialize.unit_shelf",
    "numba.cuda.extending",
)

# What the interpreter itself calls of these at its start and end has no public name.
PRIVATE: dict[types.ModuleType, Any] = {module: module for module in (threading, warnings)}
DEFAULT_FILTERS = list(warnings.filters)


def begin() -> None:
    """Import the compiler, without a compile."""
    bootstrap.numba_cuda()
    for name in PREPARED:
        importlib.import_module(name)


def prepare() -> None:
    """Have numba-cuda read its registries, and lower a kernel; nothing is kept of it."""
    from gridjit.compiler.frontend.bindings.types import parse_signature
    from gridjit.compiler.frontend.isolated.isolation import import_all
    from gridjit.compiler.frontend.lower import lower
    from gridjit.compiler.key import registrations
    from gridjit.compiler.numba_state.changes import changes
    from gridjit.compiler.numba_state.mark import numbas_own_text
    from gridjit.compiler.targets.host.generate import generate
    from gridjit.compiler.targets.host.llvm.libllvm import host_target
    from gridjit.compiler.values.options import Options
    from gridjit.compiler.view.config import ConfigView

    import_all()
    registrations.registrations()
    # What a process learns in its first compile of numba and LLVM, and finds as it was in each that follows. Only the
    # second one looks at what surrounds them: a first one has nothing that was kept.
    for items in ("float64", "float32"):
        signature = parse_signature(f"void({items}[::1], {items}[::1], int64)")
        lowered, _ = lower(first, signature, Options(), host_target(), (), ConfigView(None))
        generate(lowered, host_target(), Options())
    # What a first compile looks at, and later ones only where it changed.
    changes()
    numbas_own_text()


def settle() -> None:
    """Be as a process that begins, and leave alone what was imported."""
    from gridjit.runtime.process.session import end_session

    end_session()
    join_the_run()
    gc.freeze()


def join_the_run() -> None:
    """Have programs use the run's objects and make code for its processor; they do not see the package that does it."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from tests import known_objects, processors

    del sys.path[0], sys.modules["tests.known_objects"], sys.modules["tests.processors"], sys.modules["tests"]
    known_objects.use_known_objects()
    processors.use_named_processor()


def first(x, y, n):
    """Be compiled before all programs: it has what kernels of tests use most."""
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared = cuda.shared.array(32, np.float32)
    shared[t] = y[i]
    cuda.syncthreads()
    if i < n and i < x.size:
        x[i] = shared[31 - t] * 2 + y[i]
    for k in range(cuda.blockDim.x):
        x[k] += 1
    cuda.atomic.add(x, 0, 1)


# The pipe that is told how a program ended, and the connection that it was asked for on.
Started = dict[int, tuple[int, socket.socket]]


def serve(listener: socket.socket) -> None:
    """Start a program for each message of those that connect, until all have gone; say how each ended."""
    started: Started = {}

    def reap(*_: object) -> None:
        for pid in list(started):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # it ended while another was told of, and a signal within that one's told of it
                continue
            if ended:
                tell(started.pop(pid)[0], os.waitstatus_to_exitcode(status))

    signal.signal(signal.SIGCHLD, reap)
    connections = [greeted(listener)]
    while connections:
        for ready in select.select([listener, *connections], [], [])[0]:
            if ready is listener:
                connections.append(greeted(listener))
            elif not start(ready, started, [listener, *connections]):
                connections.remove(ready)
                end(ready, started)


def greeted(listener: socket.socket) -> socket.socket:
    """Return the next connection, after a word to it."""
    connection, _ = listener.accept()
    with contextlib.suppress(BrokenPipeError):
        connection.send(b".")
    return connection


def start(control: socket.socket, started: Started, ours: list[socket.socket]) -> bool:
    """Start the program that a connection asks for; returns False if it has gone."""
    message, given, _, _ = socket.recv_fds(control, 1, 5)
    if not message:
        return False
    request, *streams, told = given
    with open(request) as file:
        wanted = json.load(file)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    pid = os.fork()
    if not pid:
        for connection in ours:
            connection.close()
        for other in (*(other for other, _ in started.values()), told):
            os.close(other)
        become(wanted, streams)
    with contextlib.suppress(BrokenPipeError):
        os.write(told, f"{pid}\n".encode())
    started[pid] = told, control
    for stream in streams:
        os.close(stream)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return True


def end(control: socket.socket, started: Started) -> None:
    """End what a connection that has gone left running."""
    for pid in [pid for pid, (_, asked) in list(started.items()) if asked is control]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    control.close()


def tell(told: int, status: int) -> None:
    """Say how a program ended to who may still be there to hear it."""
    with contextlib.suppress(BrokenPipeError):
        os.write(told, f"{status}\n".encode())
    os.close(told)


def become(wanted: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the program, to its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    status = 1
    try:
        set_up(wanted, streams)
        if wanted["arguments"][:3] == ["-m", "gridjit", "warm"]:
            have_a_server()
        status = ended(wanted["arguments"])
        PRIVATE[threading]._shutdown()
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status if flushed(sys.stderr) & flushed(sys.stdout) else status or 120)


def flushed(stream: Any) -> bool:
    """Return whether a stream took all that was written to it; if not, Python ends with status 120."""
    try:
        stream.flush()
    except Exception:
        return stream is None or stream.closed
    return True


def set_up(wanted: dict[str, Any], streams: list[int]) -> None:
    """Make the process look like one that was started for the program."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for opened in streams:
        os.close(opened)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = standard(0, "r", encoding, errors or "strict")
    sys.stdout = standard(1, "w", encoding, errors or "strict")
    sys.stderr = standard(2, "w", encoding, "backslashreplace", buffering=1)
    sys.dont_write_bytecode = True  # an edit within a second is not seen otherwise
    sys.warnoptions[:] = wanted["warnings"]
    warnings.resetwarnings()
    PRIVATE[warnings].filters[:] = DEFAULT_FILTERS
    PRIVATE[warnings]._processoptions(wanted["warnings"])
    importlib.invalidate_caches()
    # What was installed after a process began, it may have imported before: this one begins now.
    forking.IMPORTED_NS = time.time_ns()
    installed.began.cache_clear()
    # A program loads its own extensions; where the server is, there are none.
    for noted in (bootstrap._begun, bootstrap._loaded, entry_points._loaded):
        noted.clear()
    # A fork may cut a compile of another thread short; the server has no other.
    contexts.contexts_are_whole()


def have_a_server() -> None:
    """Fork what serves the program's first pool now, before the program imports what is its user's."""
    from gridjit.runtime.pool import pool

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        ours.close()
        serve_a_pool(theirs)
    theirs.close()
    started, unused = pool._spawned, [pid]

    def spawned(control: socket.socket, processes: int, target: str) -> int:
        if not unused:
            return started(control, processes, target)
        pool_of = {"processes": processes, "target": target}
        where = {"environment": dict(os.environ), "path": sys.path, "folder": os.getcwd(), **pool_of}
        socket.send_fds(ours, [json.dumps(where).encode()], [control.fileno()])
        return unused.pop()

    pool._spawned = spawned


def serve_a_pool(asked: socket.socket) -> NoReturn:
    """Be the server of a pool, if the program has one."""
    from gridjit.runtime.workers.server import serve as serve_program

    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    message, given, _, _ = socket.recv_fds(asked, 1 << 20, 1)
    if not message:  # it has ended
        os._exit(0)
    where = json.loads(message)
    os.dup2(given[0], 0)
    os.environ.clear()
    os.environ.update(where["environment"])
    os.chdir(where["folder"])
    sys.path[:] = where["path"]
    serve_program(where["processes"], where["target"])
    os._exit(1)


def standard(number: int, mode: str, encoding: str, errors: str, buffering: int = -1) -> Any:
    """Return a standard stream."""
    return open(number, mode, encoding=encoding, errors=errors, closefd=False, buffering=buffering)


def ended(arguments: list[str]) -> int:
    """Run `-c code`, `-m module` or a script, each with its arguments; return the status it ended with."""
    try:
        run(*arguments)
    except SystemExit as end:
        if isinstance(end.code, (int, type(None))):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


def run(first: str, *others: str) -> None:
    """Run the program as __main__."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in given if path and path not in sys.path]
    if first == "-m":
        sys.argv[:] = list(others)
        sys.path.insert(0, os.getcwd())
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    if first == "-c":
        sys.argv[:] = ["-c", *others[1:]]
        sys.path.insert(0, "")
        text, name = others[0].encode(), "<string>"
        if sys.version_info >= (3, 13):  # whose tracebacks show these lines, too
            linecache.cache[name] = len(text), None, others[0].splitlines(keepends=True), name
    else:
        sys.argv[:] = [first, *others]
        sys.path.insert(0, os.path.dirname(os.path.realpath(first)))
        main.__file__ = name = first
        with open(first, "rb") as file:
            text = file.read()
    exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    del sys.path[0]
    begin()
    if sys.argv[2] == "compiled":
        prepare()
    settle()
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # taking numba apart would take a second
