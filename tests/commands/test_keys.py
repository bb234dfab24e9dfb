"""`gridjit keys`: keys are made, trusted, listed and withdrawn; nothing is overwritten, and no change is lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from gridjit.cache.remote.key_lines import SIGNING_KEY, WRITER, written
from gridjit.cache.remote.trust_file import read_writers
from gridjit.cache.remote.writers import Refused, SigningKey, Trust
from gridjit.commands import main

pytest.importorskip("cryptography", reason="cryptography is not installed")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Path:
    """The folder of a user who has no keys yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    restart()
    return tmp_path / "gridjit"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs `gridjit keys` with words, and returns its status, its output and its error."""

    def run_keys(*words: str) -> tuple[int, str, str]:
        status = main(["keys", *words])
        return (status, *capsys.readouterr())

    return run_keys


def line(name: str, number: int = 1) -> str:
    return written(WRITER, name, bytes([number]) * 32)


def trust_file(home: Path) -> Path:
    return home / "trusted-writers.json"


def test_a_new_key_signs_for_those_who_trust_its_line(run: Run, home: Path) -> None:
    status, public, said = run("new", "ci")
    assert (status, said) == (
        0,
        f"wrote {home / 'ci.key'}: set GRIDJIT_CACHE_SIGNING_KEY to it where entries are written\n",
    )
    assert run("trust", public.strip(), "--prefix", "main", "--prefix", "pr/*") == (
        0,
        "entries of ci are run here from now on, under main, pr/*\n",
        "",
    )
    signed = SigningKey.read(home / "ci.key").sign("pr/7", "name", b"data")
    assert Trust.read(trust_file(home)).open("pr/7", "name", signed) == (b"data", "ci")
    assert stat.S_IMODE((home / "ci.key").stat().st_mode) == 0o400
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_withdrawn_writer_is_listed_and_refused(run: Run, home: Path) -> None:
    public = run("new", "ci")[1]
    run("trust", public.strip())
    assert run("withdraw", "ci")[0] == 0
    ((found,), today) = json.loads(run("list", "--json")[1]), date.today()
    assert (found["name"], found["prefixes"]) == ("ci", ["*"])
    assert abs((date.fromisoformat(found["withdrawn"]) - today).days) <= 1
    assert found["withdrawn"] in run("list")[1] and found["fingerprint"] in run("list")[1]
    with pytest.raises(Refused, match="withdrawn on"):
        Trust.read(trust_file(home)).open("main", "name", SigningKey.read(home / "ci.key").sign("main", "name", b""))
    said = f"gridjit: ci was withdrawn on {found['withdrawn']} already\n"
    assert run("withdraw", "ci", "--prefix", "main") == (1, "", said)
    assert run("trust", public.strip())[2].startswith(f"gridjit: this key is ci's, withdrawn on {found['withdrawn']}")


def test_a_writer_is_withdrawn_once_however_often_it_is_said(run: Run, home: Path) -> None:
    run("trust", run("new", "ci")[1].strip())
    said, before = run("withdraw", "ci"), trust_file(home).read_bytes()
    assert run("withdraw", "ci") == said and said[0] == 0
    assert trust_file(home).read_bytes() == before


def test_a_trusted_writer_is_given_prefixes_and_loses_them(run: Run, home: Path) -> None:
    def prefixes() -> dict[str, tuple[str, ...]]:
        return {one.name: one.prefixes for one in read_writers(trust_file(home))}

    run("trust", line("ci"), "--prefix", "main")
    run("trust", line("other", 2))
    said = "entries of ci are run here from now on, under main, pr/*, old\n"
    assert run("trust", "ci", "--prefix", "pr/*", "--prefix", "old") == (0, said, "")
    assert run("trust", line("ci"), "--prefix", "main")[0] == 0  # as a script does each time
    assert prefixes() == {"ci": ("main", "pr/*", "old"), "other": ("*",)}
    status, out, _ = run("withdraw", "ci", "--prefix", "main", "--prefix", "old")
    assert (status, out.partition(":")[0]) == (0, "entries of ci are not run here any more under main, old")
    assert prefixes() == {"ci": ("pr/*",), "other": ("*",)}
    assert all(one.withdrawn is None for one in read_writers(trust_file(home)))


def test_a_line_comes_as_one_word_as_three_or_in_a_file(run: Run, home: Path) -> None:
    Path("public").write_text(f"{line('c', 3)}\n")
    assert [run("trust", *words)[0] for words in ([line("a", 1)], line("b", 2).split(), ["public"])] == [0, 0, 0]
    assert [one.name for one in read_writers(trust_file(home))] == ["a", "b", "c"]


def test_a_key_goes_where_it_is_told_and_takes_the_place_of_nothing(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    Path("mine").write_text("mine")
    status, out, said = run("new", "ci", "--file", "mine")
    assert (status, out) == (1, "") and "mine is there already, and a key is never overwritten" in said
    assert Path("mine").read_text() == "mine"
    assert "cannot be written (No such file or directory)" in run("new", "ci", "--file", "none/key")[2]
    monkeypatch.setenv("GRIDJIT_CACHE_SIGNING_KEY", "chosen")
    restart()
    assert run("new", "ci")[0] == 0
    assert SigningKey.read(Path("chosen")).name == "ci"
    assert not home.exists()


def test_without_a_trust_file_no_writer_is_listed(run: Run, home: Path) -> None:
    assert run("list") == (0, f"{trust_file(home)} names no writer; `gridjit keys trust` adds one\n", "")
    assert run("list", "--json")[1] == "[]\n"
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["new", "../ci"], 2, "'../ci' cannot be a writer's name: give letters, digits and"),
        (["new", ""], 2, "'' cannot be a writer's name"),
        (["new", "a b"], 2, "'a b' cannot be a writer's name"),
        (
            ["trust", "nofile"],
            2,
            "nofile is neither a line gridjit-writer NAME KEY nor a file that can be read (No such",
        ),
        (["trust", "a\0b"], 2, "nor a file that can be read (it cannot be a file's name)"),
        (["trust", f"{line('x')}x"], 2, "the key of x is damaged: copy the whole line gridjit-writer x KEY again"),
        (["trust", f"{WRITER} x"], 2, "it has 2 words instead of 3"),
        (["trust", written(SIGNING_KEY, "x", bytes(32))], 2, "it is a private key, which stays where it is"),
        (["trust", line("x", 2), "--prefix", "../main"], 2, "--prefix: '../main' is not a pattern of prefixes: give a"),
        (["trust", line("x", 2), "--prefix", "ma*"], 2, "--prefix: 'ma*' is not a pattern of prefixes"),
        (["trust", line("alice")], 1, "this key is there already, as alice's"),
        (["trust", line("bob")], 1, "this key is there already, as alice's"),
        (
            ["trust", line("alice", 2)],
            1,
            "alice is there already, with another key: give the new key a name of its own",
        ),
        (["trust", "alice"], 1, "as alice's, under main: `gridjit keys trust alice --prefix PREFIX` adds a prefix"),
        (["trust", line("bob"), "--prefix", "pr/*"], 1, "this key is there already, as alice's"),
        (["withdraw", "alice", "--prefix", "pr"], 1, "alice is trusted under main, and pr is not one of these"),
        (["withdraw", "alice", "--prefix", "main"], 1, "for nothing else: `gridjit keys withdraw alice` withdraws it"),
        (["withdraw", "alise"], 1, "names no writer alise; did you mean alice?"),
        (["withdraw", "nobody"], 1, "names no writer nobody; `gridjit keys list` shows the writers"),
        (["withdraw", "no body"], 2, "'no body' cannot be a writer's name"),
    ],
)
def test_wrong_words_change_nothing_and_say_the_way_on(
    run: Run, home: Path, words: list[str], status: int, said: str
) -> None:
    run("trust", line("alice"), "--prefix", "main")
    before = trust_file(home).read_bytes()
    found = run(*words)
    assert (found[:2], found[2].count("\n")) == ((status, ""), 1) and said in found[2]
    assert trust_file(home).read_bytes() == before
    assert sorted(os.listdir(home)) == [".trusted-writers.json.lock", "trusted-writers.json"]


def test_a_refused_trust_file_is_a_line_and_is_left_as_it_is(run: Run, home: Path) -> None:
    run("trust", line("alice"))
    trust_file(home).chmod(0o666)
    for words in (["list"], ["trust", line("bob", 2)], ["withdraw", "alice"]):
        status, out, said = run(*words)
        assert (status, out) == (1, "") and "can be written by other users (mode 666)" in said
    trust_file(home).chmod(0o644)
    trust_file(home).write_text('{"schema": 1, "writers": [{"name": "alice"}]}')
    assert "is not valid: an object with key, name, prefixes, withdrawn is expected" in run("withdraw", "alice")[2]
    assert trust_file(home).read_text().endswith('"alice"}]}')


def test_a_command_that_needs_an_action_completes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash", "--", "keys", ""]) == 0
    assert capsys.readouterr().out.split() == ["list", "new", "trust", "withdraw"]


PROGRAM = """
import sys
from pathlib import Path
from gridjit.cache.remote.trust_file import Writer, change_writers

path, first = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, first + 60):
    one = Writer(name=f"w{number}", key=number.to_bytes(32, "big"), prefixes=("main",))
    change_writers(path, lambda known: (*known, one))
"""


def test_two_processes_at_once_lose_no_change_and_show_no_half_file(home: Path) -> None:
    path = trust_file(home)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path, str(first)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for first in (0, 60)
    ]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    seen = [0]
    while any(process.poll() is None for process in both):
        seen.append(len(read_writers(path)) if path.exists() else 0)
    assert seen == sorted(seen)
    for process in both:
        assert (process.communicate()[0], process.returncode) == ("", 0)
    assert {one.name for one in read_writers(path)} == {f"w{number}" for number in range(120)}
    assert sorted(os.listdir(home)) == [".trusted-writers.json.lock", "trusted-writers.json"]
