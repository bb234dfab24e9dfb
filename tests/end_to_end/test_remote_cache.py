"""Remote caches and whole programs: a machine finds the code that another compiled, and no remote spoils a program.

Each cache folder is a machine of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_new_python, run_python

PROGRAM = """
import json, sys
import numpy as np
import gridjit
from gridjit import cuda

FACTOR = 3

@gridjit.jit(device=True)
def scaled(value):
    return value * FACTOR

@gridjit.jit
def scale(x, out):
    tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        out[i] = scaled(tile[cuda.threadIdx.x]) * gridjit.static.blockDim.x

@gridjit.jit
def plain(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + 1

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
right = []

def launches():
    for block in (32, 64):
        scale[4, block](x, out)
        right.append(bool((out == FACTOR * block * x).all()))
    plain[4, 32](x, out)
    right.append(bool((out == x + 1).all()))

launches()
"""
TELLS = """
found = [*scale.specializations, *plain.specializations]
tier = gridjit.runtime.process.session.session().remote
flushed = tier is None or tier.flush(60.0)
print(json.dumps({
    "right": all(right), "flushed": flushed,
    "story": plain.explain(),
    "origins": sorted(one.origin for one in found),
    "compiles": scale.stats.compiles + plain.stats.compiles,
    "remotes": [] if tier is None else [remote.told() for remote in tier.remotes],
}))
"""
COMPILED, FOUND, STORED = ["compiled"] * 3, ["remote"] * 3, ["disk"] * 3


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A folder that machines share."""
    return tmp_path / "remote"


@pytest.fixture
def machine(tmp_path: Path, remote: Path) -> Callable[..., dict[str, Any]]:
    """What runs a program on a machine, and returns the JSON that it prints.

    url: its remotes; the shared folder, unless it is given. Warnings are errors, unless there is one to be found.
    """

    def run(
        name: str, program: str = PROGRAM, *, url: str | None = None, warns: str = "", new: bool = False, **more: str
    ) -> dict[str, Any]:
        folder = tmp_path / "programs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.py").write_text(textwrap.dedent(program + TELLS))
        remotes = f"file://{remote}?unsigned" if url is None else url
        settings = {
            "GRIDJIT_TARGET": "host",
            "GRIDJIT_CACHE_DIR": str(tmp_path / name),
            "GRIDJIT_CACHE_REMOTE": remotes,
        }
        options = [] if warns else ["-W", "error"]
        done = (run_new_python if new else run_python)(
            *options, "main.py", cwd=folder, env={**os.environ, **settings, **more}, timeout=200.0
        )
        assert done.returncode == 0, done.stderr
        assert (warns in done.stderr) if warns else not done.stderr, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert printed["right"] and printed["flushed"]
        return printed

    return run


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_machine_finds_the_code_that_another_compiled(machine: Callable[..., dict[str, Any]], remote: Path) -> None:
    first = machine("one")
    assert first["origins"] == COMPILED
    assert first["remotes"][0]["written"] == 3
    assert machine("two")["origins"] == FOUND
    shutil.rmtree(remote)
    assert machine("two", url="file:///nowhere/at/all?unsigned")["origins"] == STORED
    assert machine("two", url="")["origins"] == STORED


@pytest.mark.parametrize(
    ("old", "new", "origins"),
    [
        ("(32, 64)", "(64, 96)", ["compiled", "remote", "remote"]),
        ("FACTOR = 3", "FACTOR = 4", ["compiled", "compiled", "remote"]),
        ("return value * FACTOR", "return FACTOR * value + 0", ["compiled", "compiled", "remote"]),
        ("dtype=np.float32", "dtype=np.float64", COMPILED),
    ],
    ids=["block", "global", "callee", "types"],
)
def test_no_code_of_another_launch_or_world_is_taken(
    machine: Callable[..., dict[str, Any]], old: str, new: str, origins: list[str]
) -> None:
    machine("one")
    assert old in PROGRAM
    assert machine("two", PROGRAM.replace(old, new))["origins"] == origins


def test_a_read_only_remote_stays_as_it_is(machine: Callable[..., dict[str, Any]], remote: Path) -> None:
    machine("one", PROGRAM.replace("(32, 64)", "(32, 32)"))
    before = content(remote)
    assert machine("two", url=f"file://{remote}?unsigned&read-only")["origins"] == ["compiled", "remote", "remote"]
    assert content(remote) == before
    assert machine("two", url="")["origins"] == STORED


def test_the_second_of_two_remotes_answers_and_both_are_written_to(
    machine: Callable[..., dict[str, Any]], remote: Path, tmp_path: Path
) -> None:
    machine("one", PROGRAM.replace("(32, 64)", "(32, 32)"))
    other = tmp_path / "other"
    done = machine("two", url=f"file://{other}?unsigned file://{remote}?unsigned")
    assert done["origins"] == ["compiled", "remote", "remote"]
    assert [one["written"] for one in done["remotes"]] == [1, 1]
    assert machine("three", url=f"file://{other}?unsigned")["origins"] == ["compiled", "compiled", "remote"]


@pytest.mark.parametrize("place", ["", "/inside"])
def test_a_remote_in_the_cache_folder_itself_does_no_harm(
    machine: Callable[..., dict[str, Any]], tmp_path: Path, place: str
) -> None:
    url = f"file://{tmp_path}/one{place}?unsigned"
    assert machine("one", url=url)["origins"] == COMPILED
    assert machine("one", url=url)["origins"] == STORED
    assert machine("two", url=url)["origins"] == FOUND


KEEPS_NOTHING = """
from gridjit.cache.disk import DiskStore

DiskStore.put_all = lambda self, entries, suffix: None
"""


def test_a_folder_that_keeps_nothing_takes_and_gives_nothing_away(
    machine: Callable[..., dict[str, Any]], remote: Path
) -> None:
    assert machine("one", KEEPS_NOTHING + PROGRAM)["origins"] == COMPILED
    assert machine("two", KEEPS_NOTHING + PROGRAM)["origins"] == FOUND
    assert machine("two", url="")["origins"] == COMPILED


def test_a_cache_folder_that_cannot_be_made_is_warned_about_once(
    machine: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    machine("one")
    (tmp_path / "two").write_bytes(b"a file")
    assert machine("two", warns="CacheWarning")["origins"] == FOUND


def test_without_a_cache_no_remote_is_used(machine: Callable[..., dict[str, Any]], remote: Path) -> None:
    for more in (
        {"GRIDJIT_CACHE": "0"},
        {"GRIDJIT_CACHE": "0", "GRIDJIT_CACHE_REMOTE": "http://127.0.0.1:9/x?unsigned"},
    ):
        done = machine("one", **more)
        assert (done["origins"], done["remotes"]) == (COMPILED, [])
    assert content(remote) == {}


def test_a_kernel_without_a_cache_is_neither_written_nor_looked_for(
    machine: Callable[..., dict[str, Any]], remote: Path
) -> None:
    apart = PROGRAM.replace("@gridjit.jit\ndef plain", "@gridjit.jit(cache=False)\ndef plain")
    machine("one", apart)
    assert len(content(remote / "entries")) == 2
    machine("one", url=f"file://{remote}?unsigned")
    assert machine("two", apart)["origins"] == ["compiled", "remote", "remote"]


UNSEEN = """
import gridjit
from numba.cuda.core.rewrites import Rewrite, register_rewrite

class Unseen:
    line = None

unseen = Unseen()

@register_rewrite("before-inference")
class Reads(Rewrite):
    def match(self, func_ir, block, typemap, calltypes):
        unseen.line
        return False
"""


def test_code_that_stays_in_memory_is_written_nowhere(machine: Callable[..., dict[str, Any]], remote: Path) -> None:
    for name in ("one", "two"):
        assert machine(name, UNSEEN + PROGRAM, new=True)["origins"] == COMPILED
    assert content(remote) == {}


def test_a_declared_kernel_that_another_process_compiled_is_written_and_found(
    machine: Callable[..., dict[str, Any]], remote: Path
) -> None:
    declaration = '@gridjit.jit("void(float32[::1], float32[::1])", background=True)\ndef plain'
    declared = PROGRAM.replace("@gridjit.jit\ndef plain", declaration)
    first = machine("one", declared, GRIDJIT_COMPILE_PROCESSES="1")
    assert (first["origins"], first["compiles"]) == (["compiled", "compiled", "disk"], 2)
    assert first["remotes"][0]["written"] == 3
    second = machine("two", declared, GRIDJIT_COMPILE_PROCESSES="1")
    assert (second["compiles"], second["remotes"][0]["hits"]) == (0, 3)
    assert "another process" not in second["story"]


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


def test_a_bad_server_spoils_nothing(machine: Callable[..., dict[str, Any]], bad_server: Server) -> None:
    done = machine("one", url=bad_server.url)
    assert done["origins"] == COMPILED
    (told,) = done["remotes"]
    assert told["hits"] == told["written"] == 0
    assert told["why"] or told["refused"]
    assert told["failed"] <= 1
    assert 0 < bad_server.connections <= 4
    before = bad_server.connections
    assert machine("one", url=bad_server.url)["origins"] == STORED
    assert bad_server.connections == before


def test_no_server_spoils_nothing(machine: Callable[..., dict[str, Any]]) -> None:
    done = machine("one", url="http://127.0.0.1:9/cache?unsigned")
    assert done["origins"] == COMPILED
    (told,) = done["remotes"]
    assert (told["failed"], told["silent"], told["dropped"]) == (1, 2, 3)


def test_a_remote_that_nobody_is_trusted_for_is_named_once(machine: Callable[..., dict[str, Any]]) -> None:
    done = machine("one", url="file:///nowhere", warns="nobody is trusted to write there", HOME="/nowhere")
    assert (done["origins"], done["remotes"]) == (COMPILED, [])


THREADS = """
import threading

start = threading.Barrier(8)
results = []

def launched():
    mine = np.zeros_like(x)
    start.wait()
    for block in (32, 64):
        scale[4, block](x, mine)
        results.append(bool((mine == FACTOR * block * x).all()))
    plain[4, 32](x, mine)
    results.append(bool((mine == x + 1).all()))

def launches():
    threads = [threading.Thread(target=launched) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right.extend([len(results) == 24, *results])

launches()
"""


def test_threads_that_launch_at_once_find_it_all(machine: Callable[..., dict[str, Any]]) -> None:
    program = PROGRAM.removesuffix("launches()\n") + THREADS
    first = machine("one", program)
    assert first["compiles"] == 3
    second = machine("two", program)
    assert second["compiles"] == 0
    assert "remote" in second["origins"]


FORKS = """
import os, threading
from gridjit.runtime.process.session import session

begun, go = threading.Event(), threading.Event()
(remote,) = session().remote.remotes
asked = remote._askers.ask

def ask(work, seconds):
    def waits():
        begun.set()
        go.wait()
        return work()
    return asked(waits, 60.0 if os.getpid() == parent else seconds)

parent, remote._askers.ask = os.getpid(), ask
other = threading.Thread(target=plain[4, 32], args=(x, np.zeros_like(x)))
other.start()
begun.wait()
child = os.fork()
if child == 0:
    right.append(not [thread for thread in threading.enumerate() if thread.name.startswith("gridjit")])
    go.set()
    launches()
    origins = sorted(one.origin for one in [*scale.specializations, *plain.specializations])
    os._exit(0 if all(right) and len(right) == 4 and origins == ["remote"] * 3 else 1)
right.append(os.waitpid(child, 0)[1] == 0)
go.set()
other.join()
launches()
"""


def test_a_child_forked_while_a_thread_waits_for_a_remote_asks_it_too(machine: Callable[..., dict[str, Any]]) -> None:
    machine("one")
    assert machine("two", PROGRAM.removesuffix("launches()\n") + FORKS)["origins"] == ["disk", "disk", "remote"]


LEAVES = """
import threading
from gridjit.cache.remote.over_files import FileTransport

puts, second = [], threading.Event()
put = FileTransport.put

def slow(self, name, data, *, new):
    puts.append(name)
    if len(puts) > 2:  # an entry and its shape are written
        second.set()
        threading.Event().wait()
    return put(self, name, data, new=new)

FileTransport.put = slow
"""
ENDS = """
second.wait()
print(json.dumps({"right": all(right), "flushed": True, "origins": [one.origin for one in scale.specializations]}))
sys.exit()
"""


def test_a_program_ends_though_entries_wait_to_be_written(machine: Callable[..., dict[str, Any]], remote: Path) -> None:
    assert machine("one", LEAVES + PROGRAM + ENDS)["origins"] == COMPILED[:2]
    assert len(content(remote)) == 2
    assert sorted(machine("two")["origins"]) == ["compiled", "compiled", "remote"]


def test_a_program_that_ends_at_once_has_written_its_entries(
    machine: Callable[..., dict[str, Any]], remote: Path
) -> None:
    ends = 'print(json.dumps({"right": all(right), "flushed": True}))\nsys.exit()\n'
    machine("one", PROGRAM + ends, new=True)
    assert machine("two")["origins"] == FOUND
