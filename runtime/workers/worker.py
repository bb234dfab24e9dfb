"""A worker: a forked process that does tasks, one after the other, until its server is gone."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import socket
import sys

from gridjit.runtime.pool import packets
from gridjit.runtime.pool.environment import ProcessEnvironment
from gridjit.runtime.pool.packets import Inbox, Packet
from gridjit.runtime.process.session import begin_session
from gridjit.runtime.workers.conditions import Conditions
from gridjit.runtime.workers.forks import end_with


def work(tasks: socket.socket, parent: int, conditions: Conditions) -> None:
    """Do the tasks that come through a socket. The process ends with its parent, however its parent ends.

    conditions: of the compiler's import. Tasks of a program with other conditions are lost.
    """
    end_with(parent)
    gathering = Inbox()
    while received := tasks.recv(packets.MOST):
        packet = Packet.read(received)
        if (message := gathering.add(packet)) is None:
            continue
        if packet.kind == packets.SURROUNDINGS:
            wanted: ProcessEnvironment = pickle.loads(message)
            begin_session(wanted.settings, compiles_declared=False)
            _enter(wanted)
            why = conditions.difference(Conditions.now())
        elif why:
            tasks.send(packets.short(packets.LOST, packet.number, why))
        else:
            _enter(wanted)
            tasks.send(_done(packet.number, message))


def _done(number: int, task: bytes) -> bytes:
    """Do a task, a function's name and its arguments; return the packet of its result, or of its error."""
    try:
        name, arguments = pickle.loads(task)
        module, _, attribute = name.partition(":")
        function = getattr(importlib.import_module(module), attribute)
        (packet,) = packets.packets(packets.DONE, number, pickle.dumps(function(*arguments)))
        return packet
    except BaseException as error:  # a user's module may raise anything when it is imported, SystemExit too
        return packets.short(packets.LOST, number, f"{type(error).__name__}: {error}")


def _enter(wanted: ProcessEnvironment) -> None:
    """Give this process the program's surroundings, whatever an earlier task did to them."""
    _set_environ(dict(wanted.environ))
    sys.path[:] = wanted.path
    writes, sys.pycache_prefix = wanted.bytecode
    sys.dont_write_bytecode = not writes
    if wanted.umask is not None:
        os.umask(wanted.umask)
    with contextlib.suppress(OSError):  # it may be gone
        if wanted.folder is not None:
            os.chdir(wanted.folder)


def _set_environ(wanted: dict[str, str]) -> None:
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    # Setting a variable sets it for C too, so only changed variables are set.
    os.environ.update({name: text for name, text in wanted.items() if os.environ.get(name) != text})
