"""Pools of processes whose servers are forked from one that has imported the compiler, in place of interpreters."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from gridjit.runtime.pool import pool
from tests.programs import Program

_STARTED = pool._spawned, pool._ended


def start_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pools start their servers as they do elsewhere."""
    monkeypatch.setattr(pool, "_spawned", _STARTED[0])
    monkeypatch.setattr(pool, "_ended", _STARTED[1])


def fork_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the servers of a test's pools, unless another program is to serve."""
    executable, program, forked = sys.executable, pool._SERVER, dict[int, Program]()

    def spawned(control: socket.socket, processes: int, target: str) -> int:
        if (sys.executable, pool._SERVER) != (executable, program):
            return _STARTED[0](control, processes, target)
        with open(os.devnull, "w") as nothing:
            streams = (control.fileno(), nothing.fileno(), nothing.fileno())
            made = Program("-c", program, processes, target, *sys.path, streams=streams)
        forked[made.pid] = made
        return made.pid

    def ended(pid: int) -> None:
        if (made := forked.get(pid)) is None:
            _STARTED[1](pid)
        else:
            made.kill()
            made.wait()

    monkeypatch.setattr(pool, "_spawned", spawned)
    monkeypatch.setattr(pool, "_ended", ended)
