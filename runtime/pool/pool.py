"""ProcessPool: processes that do tasks for this one. They start with the first task and end with this process.

A pool has no thread here: a task's end is noticed when a thread waits for it. If anything goes wrong, a task is *lost*,
with a reason, and its caller does without it. Forked children do not share their parent's pool. Processes are given up
once they have neither answered nor used a processor for as long as the settings allow.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

from gridjit.base.forking import in_child, lock, section
from gridjit.runtime.environment.settings import Settings
from gridjit.runtime.pool import packets
from gridjit.runtime.pool.address import connected, process_of
from gridjit.runtime.pool.environment import ALONE, ProcessEnvironment
from gridjit.runtime.pool.packets import Outbox, Packet

# A server that a program did not start has imported everything: its first answer may take this part of the patience.
_AT_FIRST, _NO_LIMIT = 1 / 6, float("inf")
# With a process's number, the clock of its time on processors: clock_getcpuclockid(3) in the C library.
_PROCESS_CLOCK = 2
# Another waiting thread may read this thread's answer from the socket, so it looks again after so long.
_TURN_S = 0.05
# gridjit.cuda adds to numba-cuda, which is surveyed as a whole after each addition: so it comes first.
_SERVER = """import sys
sys.path[:] = sys.argv[3:]
import gridjit.cuda
from gridjit.runtime.workers.server import serve
serve(int(sys.argv[1]), sys.argv[2])
"""


class Task:
    """A handed-over task.

    begun: whether a process has it, the worker; result: its result; lost: why there is none.
    """

    __slots__ = ("begun", "lost", "number", "result", "worker")

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun = False
        self.worker: int | None = None
        self.result: Any = None
        self.lost = ""

    @property
    def is_over(self) -> bool:
        """Whether its result is there, or lost."""
        return self.result is not None or bool(self.lost)

    @property
    def died(self) -> bool:
        """Whether the process that did it ended."""
        return self.lost.startswith(packets.ENDED)


class ProcessPool:
    """At most so many processes that do tasks for this one, with its settings, folder, environment and sys.path.

    The compile server forks them, if the settings ask for it and it is there; else a server that the pool starts.
    target: the kind of target that most tasks compile for, "" for any. starts: whether the pool may start a server.
    no_use: why it is better not tried again, if so: a server could not serve, or no longer responds.
    """

    def __init__(self, settings: Settings, processes: int, target: str = "", *, starts: bool = True) -> None:
        self.no_use = ""
        self._settings = settings
        self._processes = processes
        self._target = target
        self._starts = starts
        self._lock = lock()
        self._last = 0
        self._socket: socket.socket | None = None
        self._identity: tuple[int, int] | None = None
        self._server: int | None = None
        self._door: int | None = None
        self._surroundings: ProcessEnvironment | None = None
        self._outbox = Outbox()
        self._open: dict[int, Task] = {}
        self._heard = self._ran = 0.0
        self._speaks = False
        self._ends = False
        _pools.add(self)

    def call(self) -> None:
        """Let a server get ready for later tasks; if it cannot, the first task says so."""
        with section(), self._lock, contextlib.suppress(OSError):
            self._start()
            self._surround(self._last)
            if self._socket is not None:
                self._take_in(self._socket)

    def submit(self, function: str, *arguments: Any, size: int = 0) -> Task:
        """Call a function ("module:name") in another process; its result must be small, and not None.

        size: the task's work, compared with other tasks. Arguments are pickled: raises pickle's errors. Raises OSError
        if no process can be started.
        """
        data = packets.sized(size, pickle.dumps((function, arguments)))
        with section(), self._lock:
            self._start()
            self._last += 1
            task = self._open[self._last] = Task(self._last)
            self._send(packets.TASK, task.number, data)
        return task

    def wait(self, task: Task) -> Task:
        """Wait for a task and return it; tasks that are waited for begin first."""
        with section(), self._lock:
            if not (task.is_over or task.begun):
                self._send(packets.FIRST, task.number)
        while not task.is_over:
            self.turn()
            if not task.is_over and task.number not in self._open:  # an interrupt came while tasks were lost
                task.lost = "the processes that compile were ended"
        return task

    def look(self, task: Task) -> bool:
        """Return whether a task is over, without waiting."""
        if not task.is_over:
            with section(), self._lock:
                if self._socket is not None:
                    self._take_in(self._socket)
        return task.is_over

    def turn(self) -> None:
        """Wait a moment for news of tasks, and take in the news."""
        server, outbox = self._socket, self._outbox
        if server is None:
            return
        poll = select.poll()
        poll.register(server, select.POLLIN | (select.POLLOUT if outbox else 0))
        news = poll.poll(_TURN_S * 1e3)
        with section(), self._lock:
            if self._socket is not server:
                return
            if news or not self._is_ours(server):
                self._take_in(server)
            elif self._silence() > (patience := self._patience):
                self.no_use = (
                    f"the processes that compile have neither run nor answered for {patience:g} s; "
                    "GRIDJIT_COMPILE_PATIENCE=SECONDS sets how long that may last; 0 sets no limit"
                )
                self._give_up(self.no_use)

    def _silence(self) -> float:
        """Return for how many seconds the processes have neither answered nor run."""
        processes = (self._server, self._door, *(task.worker for task in self._open.values()))
        ran, now = sum(_seconds_run(pid) for pid in processes if pid is not None), time.monotonic()
        if ran != self._ran:
            self._ran, self._heard = ran, now
        return now - self._heard

    def end(self) -> None:
        """End the processes, whatever they do; unfinished tasks are lost."""
        with section(), self._lock:
            self._give_up("the processes that compile were ended")

    def end_when_done(self) -> None:
        """End the processes as soon as no task is open."""
        with section(), self._lock:
            self._ends = True
            self._end_if_done()

    def _end_if_done(self) -> None:
        if self._ends and not self._open:
            self._give_up("")

    def _start(self) -> None:
        """Start a server, unless there is one."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._take_in(self._socket)
        if self._socket is not None:
            return
        if self.no_use and not self._starts:
            raise OSError(self.no_use)
        if self._joined_a_server():
            return
        if not self._starts:
            raise OSError(f"no compile server is there for {self._settings.cache_dir}: `gridjit serve` is one")
        if not sys.executable or hasattr(sys, "frozen"):
            raise OSError("there is no Python interpreter to start other processes with")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._server = _spawned(theirs, self._processes, self._target)
        except BaseException:
            ours.close()
            raise
        self._talk_through(ours)

    def _joined_a_server(self) -> bool:
        """Ask the compile server for processes, if there is a server."""
        there = connected(self._settings.cache_dir) if self._settings.compile_server else None
        if there is None:
            return False
        self._outbox.add(*packets.packets(packets.HELLO, 0, packets.sized(self._processes, b"")))
        self._talk_through(there)
        self._door = process_of(there)
        return True

    def _talk_through(self, new: socket.socket) -> None:
        self._identity, self._speaks = _identity(new), False
        self._heard = time.monotonic()
        self._socket = new

    def _is_ours(self, server: socket.socket) -> bool:
        """Return whether a socket is still this pool's: a program may close it, and open another of its number."""
        return self._identity is not None and _identity(server) == self._identity

    @property
    def _patience(self) -> float:
        patience = self._settings.compile_patience or _NO_LIMIT
        return patience if self._speaks or self._server is not None else patience * _AT_FIRST

    def _send(self, kind: bytes, number: int, data: bytes = b"") -> None:
        if self._socket is None:
            return
        if kind == packets.TASK:
            self._surround(number)
        self._outbox.add(*packets.packets(kind, number, data))
        self._take_in(self._socket)

    def _surround(self, number: int) -> None:
        """Send this thread's surroundings, unless they were sent before."""
        surroundings = ProcessEnvironment.of(self._settings)
        if surroundings != self._surroundings:
            # Noted once all packets wait to be sent: an interrupt may come at any call.
            self._outbox.add(*packets.packets(packets.SURROUNDINGS, number, surroundings.to_bytes()))
            self._surroundings = surroundings

    def _take_in(self, server: socket.socket) -> None:
        """Send waiting packets, and read received packets."""
        if not self._is_ours(server):
            self._give_up("this program has closed the socket to the processes that compile")
            return
        try:
            self._outbox.flush(server)
            # Noted before it leaves the socket, as an interrupt may come at any call.
            while received := server.recv(packets.MOST, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                self._note(Packet.read(received))
                server.recv(packets.MOST, socket.MSG_DONTWAIT)
            self._give_up("the processes that compile have ended")
        except BlockingIOError:
            pass
        except ConnectionError:  # they ended before they had read everything
            self._give_up("the processes that compile have ended")
        except OSError as error:
            self._give_up(f"the processes that compile have ended: {error.strerror}")

    def _note(self, packet: Packet) -> None:
        self._heard = time.monotonic()
        if packet.kind == packets.BROKEN:
            self.no_use = f"the processes that compile cannot start: {packet.data.decode()}"
            self._give_up(self.no_use)
            return
        self._speaks, self._door = True, None  # a child of the process at the door answers
        if (task := self._open.get(packet.number)) is None:
            return
        if packet.kind == packets.BEGUN:
            task.begun, task.worker = True, int(packet.data)
            return
        if packet.kind == packets.DONE:
            task.result = pickle.loads(packet.data)
        else:
            task.lost = packet.data.decode() or packets.ENDED
        del self._open[packet.number]
        self._end_if_done()

    def _give_up(self, why: str) -> None:
        """End the server, if there is one, and lose the open tasks."""
        server, pid, lost = self._socket, self._server, self._open
        self._socket = self._server = self._door = self._surroundings = None
        self._outbox, self._open = Outbox(), {}
        for task in lost.values():
            task.lost = why
        if lost and not self._speaks:
            self.no_use = self.no_use or why
        if server is not None:
            if self._is_ours(server):
                server.close()
            else:
                server.detach()
        if pid is not None:
            _ended(pid)

    def _forget_parent(self) -> None:
        """Drop the parent's processes in a forked child; the parent's copy of the socket keeps them."""
        self._server, self._speaks = None, True  # it is not known whether it serves
        self._give_up("the process was forked from the one that handed it over")


_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for pool in list(_pools):
        pool._forget_parent()


in_child(_after_fork_in_child)


def _end_all() -> None:
    for pool in list(_pools):
        pool.end()


weakref.finalize(ProcessPool, _end_all)  # at exit


def _identity(known: socket.socket) -> tuple[int, int] | None:
    """Return a socket's identity in the system; None if it is closed."""
    try:
        found = os.fstat(known.fileno())
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _seconds_run(pid: int) -> float:
    """Return how long a process and its children have run on processors; 0 if it is gone, or that is not known."""
    try:
        return time.clock_gettime(~pid << 3 | _PROCESS_CLOCK) + sum(map(_seconds_run, _children(pid)))
    except OSError:
        return 0.0


def _children(pid: int) -> Iterator[int]:
    """Yield a process's children, where the system lists them."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{thread}/children") as listed:
            yield from map(int, listed.read().split())


def _spawned(control: socket.socket, processes: int, target: str) -> int:
    """Start a server that has control as its standard input, and no other stream; return its number."""
    import signal  # a program with a compile server starts no process
    import subprocess

    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
    command = [sys.executable, *flags, "-c", _SERVER, str(processes), target, *map(str, sys.path)]
    return os.posix_spawn(
        sys.executable,
        command,
        {**os.environ, **ALONE},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, control.fileno(), 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        # Ctrl-C is for this process, also while the other process cannot say yet that it ignores it.
        setsigmask=[*signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.SIGINT],
    )


def _ended(pid: int) -> None:
    """End a server, and reap it."""
    import signal

    with contextlib.suppress(ChildProcessError):  # a program's own handler waits for all children
        if os.waitpid(pid, os.WNOHANG) == (0, 0):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
