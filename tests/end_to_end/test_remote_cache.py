"""Remote caches and whole programs: a machine finds the code that another compiled, and no remote spoils a program.

Each cache folder is a machine of its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gridjit.cache.remote import key_lines
from gridjit.cache.remote.trust_file import Writer, change_writers
from gridjit.cache.remote.writers import SigningKey
from tests.end_to_end.machines import COMPILED, FOUND, PROGRAM, STORED, Run, content
from tests.programs import run_python


def test_a_machine_finds_the_code_that_another_compiled(machine: Run, remote: Path) -> None:
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
def test_no_code_of_another_launch_or_world_is_taken(machine: Run, old: str, new: str, origins: list[str]) -> None:
    machine("one")
    assert old in PROGRAM
    assert machine("two", PROGRAM.replace(old, new))["origins"] == origins


def test_a_read_only_remote_stays_as_it_is(machine: Run, remote: Path) -> None:
    machine("one", PROGRAM.replace("(32, 64)", "(32, 32)"))
    before = content(remote)
    assert machine("two", url=f"file://{remote}?unsigned&read-only")["origins"] == ["compiled", "remote", "remote"]
    assert content(remote) == before
    assert machine("two", url="")["origins"] == STORED


def test_the_second_of_two_remotes_answers_and_both_are_written_to(machine: Run, remote: Path, tmp_path: Path) -> None:
    machine("one", PROGRAM.replace("(32, 64)", "(32, 32)"))
    other = tmp_path / "other"
    other.mkdir()
    done = machine("two", url=f"file://{other}?unsigned file://{remote}?unsigned")
    assert done["origins"] == ["compiled", "remote", "remote"]
    assert [one["written"] for one in done["remotes"]] == [1, 1]
    assert machine("three", url=f"file://{other}?unsigned")["origins"] == ["compiled", "compiled", "remote"]


@pytest.mark.parametrize("place", ["", "/inside"])
def test_a_remote_in_the_cache_folder_itself_does_no_harm(machine: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / f"one{place}").mkdir(parents=True, mode=0o700)
    (tmp_path / "one").chmod(0o700)
    url = f"file://{tmp_path}/one{place}?unsigned"
    assert machine("one", url=url)["origins"] == COMPILED
    assert machine("one", url=url)["origins"] == STORED
    assert machine("two", url=url)["origins"] == FOUND


KEEPS_NOTHING = """
from gridjit.cache.disk import DiskStore

DiskStore.put_all = lambda self, entries, suffix: None
"""


def test_a_folder_that_keeps_nothing_takes_and_gives_nothing_away(machine: Run, remote: Path) -> None:
    assert machine("one", KEEPS_NOTHING + PROGRAM)["origins"] == COMPILED
    assert machine("two", KEEPS_NOTHING + PROGRAM)["origins"] == FOUND
    assert machine("two", url="")["origins"] == COMPILED


def test_a_cache_folder_that_cannot_be_made_is_warned_about_once(machine: Run, tmp_path: Path) -> None:
    machine("one")
    (tmp_path / "two").write_bytes(b"a file")
    assert machine("two", warns="CacheWarning")["origins"] == FOUND


def test_without_a_cache_no_remote_is_used(machine: Run, remote: Path) -> None:
    for more in (
        {"GRIDJIT_CACHE": "0"},
        {"GRIDJIT_CACHE": "0", "GRIDJIT_CACHE_REMOTE": "http://127.0.0.1:9/x?unsigned"},
    ):
        done = machine("one", **more)
        assert (done["origins"], done["remotes"]) == (COMPILED, [])
    assert content(remote) == {}


def test_a_kernel_without_a_cache_is_neither_written_nor_looked_for(machine: Run, remote: Path) -> None:
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
        {does}
        return False
"""


@pytest.mark.parametrize("does", ["unseen.line", "block.body[0].loc.col"], ids=["known", "found out"])
def test_code_that_stays_in_memory_is_written_nowhere(machine: Run, remote: Path, does: str) -> None:
    for name in ("one", "two"):
        assert machine(name, UNSEEN.format(does=does) + PROGRAM, new=True)["origins"] == COMPILED
    assert content(remote) == {}


@pytest.mark.parametrize("keeps", ["", KEEPS_NOTHING], ids=["folder", "no folder"])
def test_a_pack_has_the_code_of_a_whole_program(machine: Run, remote: Path, tmp_path: Path, keeps: str) -> None:
    machine("one", url="")
    url = f"file://{remote}?unsigned"
    pack = ["-m", "gridjit", "cache", "pack", "program", "--remote", url, "--dir", tmp_path / "one"]
    assert run_python(*pack).returncode == 0
    assert [path.name for path in remote.rglob("*") if path.is_file()] == ["program"]
    done = machine("two", keeps + PROGRAM, url=f"{url}&pack=program")
    counts = done["remotes"][0]
    assert (done["origins"], counts["packs"], counts["hits"], counts["misses"]) == (FOUND, 1, len(FOUND), 0)
    assert machine("two", url="")["origins"] == (COMPILED if keeps else STORED)


def test_a_pack_that_is_damaged_is_warned_about(machine: Run, remote: Path) -> None:
    (remote / "packs").mkdir(parents=True)
    (remote / "packs" / "program").write_bytes(b"no bundle")
    url = f"file://{remote}?unsigned&pack=program"
    assert machine("one", url=url, warns="a pack in a remote cache is not used")["origins"] == COMPILED


def test_specialized_code_of_a_tiered_kernel_is_written_and_found(machine: Run, remote: Path) -> None:
    declaration = '@gridjit.jit(specialize="blockdim", tiered=True)\ndef plain'
    tiered = PROGRAM.replace("@gridjit.jit\ndef plain", declaration) + "plain.wait_for_compiles()\nlaunches()\n"
    first = machine("one", tiered)
    assert "generic code served 1 launch" in first["story"]
    assert first["remotes"][0]["written"] == 4
    second = machine("two", tiered)
    assert second["origins"] == FOUND
    assert second["compiles"] == 0


def test_only_entries_of_trusted_writers_are_run(machine: Run, remote: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    trust, url = tmp_path / "writers.json", f"file://{remote}?prefix=main"
    key = SigningKey.new("ci", tmp_path / "key")
    public = key_lines.read(key_lines.WRITER, key.public)[1]

    def run(name: str, withdrawn: str | None = None, **more: str) -> list[str]:
        writer = Writer(name="ci", key=public, prefixes=("main",), withdrawn=withdrawn)
        change_writers(trust, lambda _: (writer,))
        found: list[str] = machine(name, url=url, GRIDJIT_CACHE_WRITERS=str(trust), **more)["origins"]
        return found

    assert run("one", GRIDJIT_CACHE_SIGNING_KEY=str(tmp_path / "key")) == COMPILED
    before = content(remote)
    assert run("two") == FOUND
    assert run("three", withdrawn="2026-01-31", warns="none of the trusted writers may write there") == COMPILED
    assert content(remote) == before
    for path in (remote / "main" / "entries").iterdir():
        path.write_bytes(path.read_bytes().replace(b"ELF", b"elf"))
    assert run("four") == COMPILED


def test_a_declared_kernel_that_another_process_compiled_is_written_and_found(machine: Run, remote: Path) -> None:
    declaration = '@gridjit.jit("void(float32[::1], float32[::1])", background=True)\ndef plain'
    declared = PROGRAM.replace("@gridjit.jit\ndef plain", declaration)
    first = machine("one", declared, GRIDJIT_COMPILE_PROCESSES="1")
    assert (first["origins"], first["compiles"]) == (["compiled", "compiled", "disk"], 2)
    assert first["remotes"][0]["written"] == 3
    second = machine("two", declared, GRIDJIT_COMPILE_PROCESSES="1")
    assert (second["compiles"], second["remotes"][0]["hits"]) == (0, 3)
    assert "another process" not in second["story"]


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


def test_threads_that_launch_at_once_find_it_all(machine: Run) -> None:
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


def test_a_child_forked_while_a_thread_waits_for_a_remote_asks_it_too(machine: Run) -> None:
    machine("one")
    assert machine("two", PROGRAM.removesuffix("launches()\n") + FORKS)["origins"] == FOUND


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


def test_a_program_ends_though_entries_wait_to_be_written(machine: Run, remote: Path) -> None:
    assert machine("one", LEAVES + PROGRAM + ENDS, hurries=True)["origins"] == COMPILED[:2]
    assert len(content(remote)) == 2
    assert sorted(machine("two")["origins"]) == ["compiled", "compiled", "remote"]


PUTS_OFF = """
import atexit, threading
from gridjit.cache.remote.over_files import FileTransport

ends, put = threading.Event(), FileTransport.put
atexit.register(ends.set)
FileTransport.put = lambda self, name, data, *, new: ends.wait() and put(self, name, data, new=new)
"""


def test_a_program_that_ends_writes_its_entries_first(machine: Run) -> None:
    ends = 'print(json.dumps({"right": all(right), "flushed": True}))\nsys.exit()\n'
    machine("one", PUTS_OFF + PROGRAM + ends, new=True)
    assert machine("two")["origins"] == FOUND
