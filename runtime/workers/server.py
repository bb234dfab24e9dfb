"""The server: a process that imports the compiler once, and forks the workers that do a program's tasks.

It is started for one program and is alone in its process: only this thread forks or waits. It and its workers end when
the program's end of the socket is closed, as the system does for a program that is killed.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import os
import select
import signal
import socket
from collections.abc import Callable

from gridjit.compiler.process.collecting import freeze_for_good
from gridjit.runtime.pool import packets
from gridjit.runtime.pool.packets import Inbox, Outbox, Packet
from gridjit.runtime.workers.conditions import Conditions
from gridjit.runtime.workers.forks import fork
from gridjit.runtime.workers.worker import work

# Imports of every compile.
_PREPARED = (
    "gridjit.cache.bounds",
    "gridjit.cache.history",
    "gridjit.cache.index",
    "gridjit.compiler.compile",
    "gridjit.compiler.frontend.lower",
    "gridjit.compiler.frontend.bindings.types",
    "gridjit.compiler.values.signature",
    "gridjit.runtime.jit",
    "gridjit.runtime.launch.under_way",
    "gridjit.runtime.numba_names.replacements",
    "gridjit.runtime.workers.build",
    "gridjit.runtime.specialize.capture",
    "gridjit.runtime.specializations.explain",
    "gridjit.runtime.specialize.keep",
    "gridjit.runtime.specialize.kernel_view",
    "gridjit.runtime.specialize.unit_shelf",
)
# Further imports of every compile for a kind of target.
_PREPARED_FOR = {
    "host": ("gridjit.runtime.devices.host.device", "gridjit.runtime.simulated.under_numba"),
    "ptx": ("gridjit.runtime.devices.presence",),
}
# How many seconds it waits for more tasks; for a later task, the program starts another server.
_IDLE_S = 30.0
_MOST_DESCRIPTORS = 1 << 16
# How many of the last tasks, for each worker, begin by their size.
_LAST = 8


def serve(processes: int, target: str) -> None:
    """Serve the program at the other end of standard input, with at most so many workers.

    target: the kind of target to compile for, "" for any.
    """
    set_signals()
    os.closerange(3, _MOST_DESCRIPTORS)  # they are the program's, which may wait for their end
    control = socket.socket(fileno=os.dup(0))
    gc.disable()  # imported modules stay
    conditions = Conditions.now()
    try:
        prepare(target)
    except BaseException as error:
        control.send(packets.short(packets.BROKEN, 0, f"{type(error).__name__}: {error}"))
        return
    freeze_for_good()  # in memory that all workers share
    gc.enable()
    ProgramServer(control, processes, conditions).run()


def set_signals() -> None:
    """Leave interrupts to the program, and be told how children end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interrupt was meant for the program, which ends this process
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a program may ignore how its children end, a server does not


def prepare(target: str) -> None:
    """Do workers' common work once: import every compile's modules, and make numba-cuda read its registries.

    No user's module is imported, and no extension.
    """
    from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

    numba_cuda()
    for name in (*_PREPARED, *_PREPARED_FOR.get(target, ())):
        importlib.import_module(name)
    from gridjit.compiler.compile import generator
    from gridjit.compiler.frontend.isolated.isolation import import_all
    from gridjit.compiler.key.toolchain import toolchain

    if target:
        generator(target)
        toolchain(target)  # today's: another may be installed later
    import_all()
    look_at_what_is_there()


def look_at_what_is_there() -> None:
    """Survey numba's code and the registrations, so that the next survey is short.

    The first survey after a fork takes longer: it copies the memory that it reads.
    """
    from gridjit.compiler.key.registrations import registrations
    from gridjit.compiler.numba_state.changes import changes

    registrations()
    changes()


class _Worker:
    """A server's record of a worker. task: its task's number. surroundings: the last that it was sent.

    end: a descriptor that is ready once the process has ended, even if a process that it forked keeps its socket open;
    None where the system has no such descriptors.
    """

    def __init__(self, pid: int, tasks: socket.socket) -> None:
        self.pid = pid
        self.tasks = tasks
        self.end: int | None = None
        with contextlib.suppress(OSError):
            self.end = os.pidfd_open(pid)
        self.task: int | None = None
        self.surroundings: bytes | None = None

    def begin(self, number: int, surroundings: bytes, task: bytes) -> None:
        """Begin a task."""
        self.task = number
        self.enter(number, surroundings)
        self._send(packets.TASK, number, task)

    def enter(self, number: int, surroundings: bytes) -> None:
        """Send surroundings, unless they are the last that were sent."""
        if surroundings is not self.surroundings:
            self._send(packets.SURROUNDINGS, number, surroundings)
            self.surroundings = surroundings

    def _send(self, kind: bytes, number: int, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it has died, which is found next
            for packet in packets.packets(kind, number, data):
                self.tasks.send(packet)

    def heard(self) -> bytes | None:
        """Return its packet; None if there is none yet, nothing if it has ended."""
        try:
            return self.tasks.recv(packets.MOST, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return b"" if self._has_ended() else None
        except OSError:
            return b""

    def _has_ended(self) -> bool:
        return self.end is not None and bool(select.select([self.end], [], [], 0)[0])

    def ended(self) -> str:
        """End it if only its socket is closed, and return its cause of death."""
        self.tasks.close()
        if self.end is not None:
            os.close(self.end)
        os.kill(self.pid, signal.SIGKILL)  # harmless to a process that has ended, which is not reaped yet
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        what = f"by signal {-status}" if status < 0 else f"with status {status}"
        return f"{packets.ENDED}, {what}"


class _Waiting:
    """A task without a worker yet. is_wanted: whether the program waits for it."""

    __slots__ = ("is_wanted", "size", "surroundings", "task")

    def __init__(self, size: int, surroundings: bytes, task: bytes) -> None:
        self.size = size
        self.surroundings = surroundings
        self.task = task
        self.is_wanted = False


class ProgramServer:
    """Serves one program: its tasks, in the order in which they are wanted, and the workers that do them.

    conditions: of the compiler's import.
    """

    def __init__(self, control: socket.socket, processes: int, conditions: Conditions) -> None:
        self._control = control
        self._processes = processes
        self._conditions = conditions
        self._workers: list[_Worker] = []
        self._waiting: collections.OrderedDict[int, _Waiting] = collections.OrderedDict()
        self._newest = 0
        self._surroundings = b""
        self._gathering = Inbox()
        self._outbox = Outbox()

    def fork_ahead(self, begin: Callable[[], object]) -> None:
        """Fork a first worker before there is a task, if there is room. begin: its work until then."""
        with contextlib.suppress(OSError):
            self._fork(begin)

    def run(self) -> None:
        """Serve until the program is gone, or idle for a while; then end the workers."""
        try:
            while self._turn():
                pass
        except OSError:  # the program is gone
            pass
        finally:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)  # before this process's memory is freed, which takes a while
            for worker in self._workers:
                os.kill(worker.pid, signal.SIGKILL)
            os._exit(0)  # an orderly exit would take a second, for numba

    def _turn(self) -> bool:
        """Wait for an event, and act on it; return whether to go on."""
        ready = dict(self._poll().poll(None if self._is_busy() else _IDLE_S * 1e3))
        if self._outbox:
            self._outbox.flush(self._control)
        for worker in [*self._workers]:
            if worker.tasks.fileno() in ready or worker.end in ready:
                self._hear(worker)
        if ready.get(self._control.fileno(), 0) & ~select.POLLOUT and not self._read():
            return False
        self._hand_out()
        return bool(ready) or self._is_busy()

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._control, select.POLLIN | (select.POLLOUT if self._outbox else 0))
        for worker in self._workers:
            for descriptor in (worker.tasks.fileno(), worker.end):
                if descriptor is not None:
                    poll.register(descriptor, select.POLLIN)
        return poll

    def _is_busy(self) -> bool:
        return bool(self._waiting) or any(worker.task is not None for worker in self._workers)

    def _read(self) -> bool:
        """Read a packet of the program's; return whether the program is still there."""
        received = self._control.recv(packets.MOST)
        if not received:
            return False
        packet = Packet.read(received)
        if packet.kind == packets.FIRST:
            if packet.number in self._waiting:
                self._waiting[packet.number].is_wanted = True
                self._waiting.move_to_end(packet.number, last=False)
        elif (message := self._gathering.add(packet)) is not None:
            self._note(packet, message)
        return True

    def _note(self, packet: Packet, message: bytes) -> None:
        if packet.kind == packets.HELLO:
            self._processes = min(self._processes, packets.size_and_data(message)[0])
            self._tell(*packets.packets(packets.HELLO, 0))
        elif packet.kind == packets.SURROUNDINGS:
            self._surroundings = message
            for worker in self._workers:
                if worker.task is None:  # a busy worker has entered surroundings with its task
                    worker.enter(packet.number, message)
        elif packet.number > self._newest:  # not a repeated packet
            self._newest = packet.number
            size, task = packets.size_and_data(message)
            self._waiting[packet.number] = _Waiting(size, self._surroundings, task)

    def _hand_out(self) -> None:
        while self._waiting and (worker := self._free()) is not None:
            number = self._next()
            waiting = self._waiting.pop(number)
            self._tell(packets.short(packets.BEGUN, number, str(worker.pid)))
            worker.begin(number, waiting.surroundings, waiting.task)

    def _next(self) -> int:
        """Return the number of the task to begin: the next in order, but of the last tasks the largest.

        So no worker is busy for long when the other workers have no task left. A task that is waited for comes first.
        """
        number, first = next(iter(self._waiting.items()))
        if first.is_wanted or len(self._waiting) > _LAST * self._processes:
            return number
        return max(self._waiting, key=lambda one: self._waiting[one].size)

    def _free(self) -> _Worker | None:
        """Return an idle worker, forked now if there may be more; None if all are busy."""
        idle = next((worker for worker in self._workers if worker.task is None), None)
        return idle or (self._one_more() if len(self._workers) < self._processes else None)

    def _hear(self, worker: _Worker) -> None:
        """Pass on a worker's message: it is done, or dead."""
        if (received := worker.heard()) is None:
            return
        number, worker.task = worker.task, None
        if not received:
            self._workers.remove(worker)
            why = worker.ended()
            received = b"" if number is None else packets.short(packets.LOST, number, why)
        if received:
            self._tell(received)

    def _tell(self, *messages: bytes) -> None:
        self._outbox.add(*messages)
        self._outbox.flush(self._control)

    def _one_more(self) -> _Worker | None:
        """Return a new worker; None if the system has no room for it, and other workers do the tasks.

        Raises OSError if there are none.
        """
        try:
            return self._fork()
        except OSError as error:
            if not self._workers:
                self._tell(packets.short(packets.BROKEN, 0, f"{type(error).__name__}: {error}"))
                raise
            self._processes = len(self._workers)
            return None

    def _fork(self, begin: Callable[[], object] = lambda: None) -> _Worker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server = os.getpid()
        try:
            pid = fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if not pid:
            self._become_worker(ours, theirs, server, begin)
        theirs.close()
        self._workers.append(_Worker(pid, ours))
        return self._workers[-1]

    def _become_worker(
        self, ours: socket.socket, theirs: socket.socket, server: int, begin: Callable[[], object]
    ) -> None:
        try:
            for socket_of_the_server in (ours, self._control, *(worker.tasks for worker in self._workers)):
                socket_of_the_server.close()
            for end in filter(None, (worker.end for worker in self._workers)):
                os.close(end)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)  # the program's socket
            begin()
            work(theirs, server, self._conditions)
        finally:
            os._exit(1)  # the server is gone, or else it is told of this end
