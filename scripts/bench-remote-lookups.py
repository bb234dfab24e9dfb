#!/usr/bin/env python3
"""Measure look-ups in a remote cache over HTTP on this machine: bad servers, hits, and a pack from far away.

1. Look-ups of one process against servers that refuse, are silent, drip or lie: the first look-up, the slowest of the
   others, and their median.
2. The first launches of kernels whose code a server has, less those from the folder.
3. The first launch of a program whose pack is behind a proxy that delays each direction.

python scripts/bench-remote-lookups.py [--lookups 100000] [--kernels 50] [--round-trip 0.03] [--repeats 3]
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import os
import queue
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import Remote
from gridjit.cache.remote.transport import open_transport

KERNEL = """
@gridjit.jit
def kernel_{0}(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * {0} + 1
"""
PROGRAM = """
x = np.ones(64, np.float32)
took = []
for kernel in kernels:
    started = time.perf_counter()
    kernel[1, 64](x)
    took.append((time.perf_counter() - started) * 1e3)
print(json.dumps(took))
"""


def main() -> None:
    """Print the three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lookups", type=int, default=100_000)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--round-trip", type=float, default=0.03, help="seconds to the pack and back")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    for name, answer in (("silent", bool), ("dripping", _drip), ("lying", _lie)):
        look_up(name, _server(answer), given.lookups)
    look_up("refused", 9, given.lookups)
    with tempfile.TemporaryDirectory() as top, _store(Path(top)) as port:
        folder = Path(top)
        (folder / "program.py").write_text(_program(given.kernels))
        url = f"http://127.0.0.1:{port}/c"
        launches(folder, "compiled", f"{url}?unsigned")
        command = [sys.executable, "-m", "gridjit", "cache", "pack", "program", "--remote", f"{url}?unsigned"]
        subprocess.run(command, env=_environment(folder, "compiled", ""), check=True, stdout=subprocess.DEVNULL)
        far = f"http://127.0.0.1:{_proxy(port, given.round_trip / 2)}/c?unsigned&pack=program"
        for number in range(given.repeats):
            hits(folder, f"hits{number}", f"{url}?unsigned&read-only")
            pack(folder, f"pack{number}", f"{far}&read-only")


def look_up(name: str, port: int, count: int) -> None:
    """Print how long look-ups of jobs take that a server does not have."""
    (address,) = addresses(f"http://127.0.0.1:{port}/c?unsigned")
    remote = Remote(address, Sealing(prefix="", trust=None), lambda limits: open_transport(address, limits))
    took = []
    for number in range(count):
        started = time.perf_counter()
        assert not list(remote.find(f"{number:032x}", lambda shape: "0" * 40))
        took.append((time.perf_counter() - started) * 1e3)
    first, *rest = took
    print(
        f"{name}: first {first:.1f} ms, then {statistics.median(rest):.4f} ms, at most {max(rest):.1f} ms", flush=True
    )


def hits(folder: Path, cache: str, remote: str) -> None:
    """Print how much longer kernels take from a server than from the folder; without the first, which imports."""
    there, here = launches(folder, cache, remote)[1:], launches(folder, cache, "")[1:]
    print(f"hits: {statistics.mean(there) - statistics.mean(here):.2f} ms more than from the folder", flush=True)


def pack(folder: Path, cache: str, remote: str) -> None:
    """Print how long a program's launches take from a far pack, and from the folder."""
    there, here = launches(folder, cache, remote), launches(folder, cache, "")
    print(
        f"pack: first launch {there[0]:.0f} ms, all {sum(there):.0f} ms; from the folder {sum(here):.0f} ms", flush=True
    )


def launches(folder: Path, cache: str, remote: str) -> list[float]:
    """Return the milliseconds of each kernel's first launch in a new process."""
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder, cache, remote), check=True, capture_output=True, text=True
    )
    took: list[float] = json.loads(done.stdout)
    return took


def _environment(folder: Path, cache: str, remote: str) -> dict[str, str]:
    target = os.environ.get("GRIDJIT_TARGET", "host")
    own = {"GRIDJIT_CACHE_DIR": str(folder / cache), "GRIDJIT_TARGET": target, "GRIDJIT_CACHE_REMOTE": remote}
    return {**os.environ, **own}


def _program(count: int) -> str:
    head = "import json, time\nimport numpy as np\nimport gridjit\nfrom gridjit import cuda\n"
    kernels = "".join(KERNEL.format(number) for number in range(count))
    return f"{head}{kernels}kernels = [{', '.join(f'kernel_{number}' for number in range(count))}]\n{PROGRAM}"


def _drip(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        client.sendall(b"x")
        time.sleep(0.005)


def _lie(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnonsense")


def _server(answer: Callable[[socket.socket], object]) -> int:
    """Return the port of a server that gives each request an answer."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while client.recv(1 << 16):
                answer(client)

    _serve_all(listening, serve)
    return int(listening.getsockname()[1])


def _serve_all(listening: socket.socket, serve: Callable[[socket.socket], object]) -> None:
    def accept() -> None:
        while True:
            client, _ = listening.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _proxy(port: int, delay: float) -> int:
    """Return the port of a proxy to another, which delays the bytes of each direction."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", port))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=_copy, args=(source, sink, delay), daemon=True).start()

    _serve_all(listening, serve)
    return int(listening.getsockname()[1])


def _copy(source: socket.socket, sink: socket.socket, delay: float) -> None:
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def send() -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = waiting.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)

    threading.Thread(target=send, daemon=True).start()
    data = b"-"
    while data:
        data = b""
        with contextlib.suppress(OSError):
            data = source.recv(1 << 16)
        waiting.put((time.monotonic() + delay, data))


@contextlib.contextmanager
def _store(top: Path) -> Iterator[int]:
    """Run a server with GET, HEAD and PUT over a folder, and yield its port."""
    (top / "server").mkdir()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            found = self._file.read_bytes() if self._file.exists() else None
            self._answer(200 if found is not None else 404, found or b"")

        do_HEAD = do_GET  # noqa: N815

        def do_PUT(self) -> None:
            self._file.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(201, b"")

        @property
        def _file(self) -> Path:
            return top / "server" / self.path.strip("/").replace("/", "_")

        def _answer(self, code: int, data: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


if __name__ == "__main__":
    main()
