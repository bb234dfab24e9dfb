"""Servers that are gone, hung, slow, wrong or full, and whole programs: they run as without a remote cache."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.end_to_end.machines import COMPILED, STORED, Run


class Server:
    """A server that fails as it is told, and counts connections."""

    def __init__(self, answer: Callable[[socket.socket], object]) -> None:
        self.connections = 0
        self._answer = answer
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/cache?unsigned"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while client.recv(1 << 16):
                self._answer(client)

    def end(self) -> None:
        self._listening.close()
        for client in self._open:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()


def _drip(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        client.sendall(b"x")


def _answers(status: str, body: bytes = b"") -> Callable[[socket.socket], object]:
    data = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    return lambda client: client.sendall(data)


SERVERS: dict[str, Callable[[socket.socket], object]] = {
    "hung": bool,
    "dripping": _drip,
    "closing": lambda client: client.close(),
    "lying": _answers("200 OK", b"an entry of nobody"),
    "nonsense": lambda client: client.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n"),
    "wrong length": lambda client: client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789 and more"),
    "forbidden": _answers("403 Forbidden"),
    "full": _answers("507 Insufficient Storage"),
    "failing": _answers("500 Internal Server Error"),
    "astray": lambda client: client.sendall(
        b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    ),
}


@pytest.fixture(params=SERVERS)
def bad_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that is of no use."""
    server = Server(SERVERS[request.param])
    yield server
    server.end()


def test_a_bad_server_spoils_nothing(machine: Run, bad_server: Server) -> None:
    done = machine("one", url=bad_server.url, hurries=True)
    assert done["origins"] == COMPILED
    (told,) = done["remotes"]
    assert told["hits"] == told["written"] == 0
    assert told["why"] or told["refused"]
    assert told["failed"] <= 1
    assert 0 < bad_server.connections <= 4
    before = bad_server.connections
    assert machine("one", url=bad_server.url, hurries=True)["origins"] == STORED
    assert bad_server.connections == before


@pytest.mark.parametrize("answer", ["hung", "forbidden", "closing"])
def test_a_bad_server_is_asked_for_no_lease(machine: Run, answer: str) -> None:
    connections = []
    for lease in ("", "&lease"):
        server = Server(SERVERS[answer])
        assert machine(f"one{lease}", url=server.url + lease, hurries=True)["origins"] == COMPILED
        connections.append(server.connections)
        server.end()
    assert connections[0] == connections[1]


def test_no_server_spoils_nothing(machine: Run) -> None:
    done = machine("one", url="http://127.0.0.1:9/cache?unsigned", hurries=True)
    assert done["origins"] == COMPILED
    (told,) = done["remotes"]
    assert (told["failed"], told["silent"], told["dropped"]) == (1, 2, 3)


def test_a_remote_that_nobody_is_trusted_for_is_named_once(machine: Run) -> None:
    done = machine("one", url="file:///nowhere", warns="nobody is trusted to write there", HOME="/nowhere")
    assert (done["origins"], done["remotes"]) == (COMPILED, [])
