"""Sockets whose every wait is bounded: by the silence a server may keep, and by the end of the call."""

from __future__ import annotations

import io
import socket
import ssl
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.cache.remote.limits import Deadline, Limits, within

_CHUNK = 64 << 10


class TimedSocket:
    """A connected socket as http.client uses one: sendall, makefile, close. Its one reader keeps what it read ahead."""

    def __init__(self, connected: socket.socket, silence: float, deadline: Deadline) -> None:
        self._socket = connected
        self._silence = silence
        self._deadline = deadline
        self._raw = _Raw(self)
        self._reader = io.BufferedReader(self._raw)

    def begin(self, deadline: Deadline) -> None:
        """Have each wait from now on end with deadline."""
        self._deadline = deadline

    def receive_into(self, buffer: Any) -> int | None:
        """Receive bytes as a raw file does: 0 at the end, None if there are none and none are waited for."""
        try:
            return self._socket.recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None

    def wait_no_longer(self) -> None:
        """Set the socket's own timeout to the wait that is left; raises TimeoutError if none is."""
        self._socket.settimeout(self._deadline.left(self._silence))

    def sendall(self, data: Any) -> None:
        """Send all data; each part is waited for as long as a server may be silent."""
        view = memoryview(data).cast("B")
        while view:
            self.wait_no_longer()
            view = view[self._socket.send(view[:_CHUNK]) :]

    def makefile(self, mode: str, *ignored: Any) -> _Lent:
        """Return the reader for one answer; closing it closes nothing."""
        return _Lent(self._reader)

    def has_more(self) -> bool:
        """Return whether more has arrived than was read; waits for nothing."""
        self._raw.waits = False
        try:
            self._socket.settimeout(0)
            return bool(self._reader.peek(1))
        except OSError as error:
            let_through(error)
            self._raw.ended = True
            return False
        finally:
            self._raw.waits = True

    def is_quiet(self) -> bool:
        """Return whether the server has neither sent more than was read nor closed the connection."""
        return not self.has_more() and not self._raw.ended

    def close(self) -> None:
        """Do nothing: http.client closes it before it reads the last answer."""

    def end(self) -> None:
        """Close the connection, or this process's copy of a connection that was forked."""
        self._socket.close()


class _Raw(io.RawIOBase):
    """The bytes that a socket receives."""

    def __init__(self, timed: TimedSocket) -> None:
        self._timed = timed
        self.waits = True
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.waits:
            self._timed.wait_no_longer()
        count = self._timed.receive_into(buffer)
        self.ended = self.ended or count == 0
        return count


class _Lent:
    """A reader that is lent: http.client closes it after each answer."""

    def __init__(self, reader: io.BufferedReader[_Raw]) -> None:
        self.read, self.readline, self.readinto = reader.read, reader.readline, reader.readinto
        self.read1, self.peek = reader.read1, reader.peek

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def connect(host: str, port: int, limits: Limits, deadline: Deadline, context: ssl.SSLContext | None) -> TimedSocket:
    """Return a connection to a server; with TLS, if a context is given. Raises OSError."""
    connected = _connected(host, port, Deadline(deadline.left(limits.connect)))
    try:
        if context is not None:
            connected.settimeout(deadline.left(limits.silence))  # the handshake's end, not that of one wait in it
            connected = context.wrap_socket(connected, server_hostname=host)
        return TimedSocket(connected, limits.silence, deadline)
    except BaseException:
        connected.close()
        raise


def _connected(host: str, port: int, patience: Deadline) -> socket.socket:
    """Return a socket to the first of a host's numbers that answers; each has its share of the time."""
    failed: OSError | None = None
    numbers = _numbers(host, port, patience)
    for left, (family, kind, protocol, _, where) in zip(range(len(numbers), 0, -1), numbers, strict=True):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(patience.left() / left)
            made.connect(where)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            failed = error
            made.close()
        except BaseException:
            made.close()
            raise
    raise failed or OSError(f"{host} has no number")


def _numbers(host: str, port: int, patience: Deadline) -> list[Any]:
    """Return a host's numbers; a name server is waited for on another thread, as it may take any time."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return within(patience.left(), lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
