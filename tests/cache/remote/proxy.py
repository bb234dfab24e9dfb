"""Proxy: a TCP proxy whose test decides how the network fails, by fields that may change while it runs.

It passes bytes on as they come, so that a change of an answer is one of a short text that arrives in one piece.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

Change = Callable[[bytes], bytes]
_PAUSE_S = 0.002


class Proxy:
    """A proxy to a server on this machine.

    drops: connections are reset as soon as they stand. go: bytes of answers wait for this event, which is set at first.
    drips: answers are passed on a byte at a time, and an HTTP header without end follows them. requests, answers: what
    becomes of bytes on their way; an OSError ends the connection. cut: the connection ends after this part of an
    answer. connections: how many there have been. asked: set when a request arrives.
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self.drops = self.drips = False
        self.go, self.asked = threading.Event(), threading.Event()
        self.go.set()
        self.requests: Change = bytes
        self.answers: Change = bytes
        self.cut: bytes | None = None
        self.connections = 0
        self._ended = threading.Event()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Proxy:
        self._begin(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.go.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.break_off()
        for thread in [*self._threads]:
            thread.join()
        for one in self._open:
            one.close()

    def break_off(self) -> None:
        """End all connections, as a server does that restarts."""
        for one in [*self._open]:
            _end(one)

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            if self.drops:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                continue
            server = socket.create_connection(self._server)
            self._open += [client, server]
            self._begin(self._pass_requests, client, server)
            self._begin(self._pass_answers, server, client)

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                self.asked.set()
                server.sendall(self.requests(data))
        _end(server)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                self.go.wait()
                if not self._pass_on(self.answers(data), client):
                    break
        _end(client)

    def _pass_on(self, data: bytes, client: socket.socket) -> bool:
        """Send a part of an answer; return whether more may follow."""
        if self.drips:
            self._drip(client)
            return False
        if self.cut is not None and self.cut in data:
            client.sendall(data[: data.index(self.cut) + len(self.cut)])
            return False
        client.sendall(data)
        return True

    def _drip(self, client: socket.socket) -> None:
        """Send an endless line of a header, a byte at a time: each byte ends a silence, none of them the answer."""
        client.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self._ended.wait(_PAUSE_S):
            client.sendall(b"x")


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
