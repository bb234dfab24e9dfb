"""What commands print: names from a cache or a file stand there, and do nothing to a terminal."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import commands
from gridjit.base.printable import lines, printable
from gridjit.cache.disk import DiskStore
from gridjit.cache.history import PastJob, add_job
from gridjit.cache.manifest import Manifest, Shape
from gridjit.commands import main
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.footprint import Fact, Footprint
from gridjit.compiler.values.target import ExceptionEntry

EVIL = "evil\x1b[2J\x1b]0;title\x07\x7f\x9b31m\u202e\u2028\ud800\rname\nsecond line"
# What is printed of it: everything that is not seen is written out.
SHOWN = r"evil\x1b[2J\x1b]0;title\x07\x7f\x9b31m\u202e\u2028\ud800\rname\nsecond line"


def work(x):
    x[0] = gridjit.static.blockDim.x


@pytest.fixture
def evil(cache_dir: Path, restart: Callable[[], None]) -> DiskStore:
    """A cache whose every text is EVIL, as who may write there can make it."""
    gridjit.jit(work)[1, 32](np.zeros(1, np.int64))
    restart()
    store = DiskStore(cache_dir)
    for info in list(store.entries()):
        data = store.get(info.key) or b""
        if (found := Artifact.from_bytes(data)) is not None:
            store.put(info.key, altered(found).to_bytes(), suffix=info.suffix)
        elif (known := Manifest.from_bytes(data)).shapes:
            more = known.with_compile(Shape.of([EVIL], [("overload", EVIL)]), known.recent[0])
            store.put(info.key, more.to_bytes(), suffix=more.suffix)
            add_job(store, EVIL, PastJob.of(info.key, [(EVIL, EVIL), ("signature", EVIL), ("target.arch", EVIL)]))
    return store


def altered(found: Artifact) -> Artifact:
    """Return an artifact with EVIL for every text that may be anything."""
    return dataclasses.replace(
        found,
        kernel=EVIL,
        signature=EVIL,
        target=dataclasses.replace(found.target, features=EVIL),
        footprint=Footprint(facts=(Fact(field="blockdim.x", value=EVIL, place=EVIL),)),
        exceptions={1: ExceptionEntry(module="builtins", qualname="ValueError", arguments=(EVIL,), place=EVIL)},
        dependencies=(Dependency(kind="overload", name=EVIL, parts=((EVIL, "ab"),)),),
        resources={EVIL: 1},
        metadata={**found.metadata, "why": EVIL},
        assembly=EVIL,
    )


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command and return all that it printed, none of which does anything to a terminal."""
    capsys.readouterr()
    main(words)
    done = capsys.readouterr()
    text = done.out + done.err
    assert all(line.isprintable() for line in text.split("\n"))
    return text


def test_no_name_in_a_cache_does_anything_to_a_terminal(evil: DiskStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert r"\x1b[2J" in printed(capsys, "cache", "ls")
    for words in (("ls", "--all"), ("ls", "--json"), ("du",), ("du", "--json"), ("verify",), ("clear", "--dry-run")):
        assert printed(capsys, "cache", *words)
    for info in list(evil.entries()):
        assert printed(capsys, "cache", "show", info.key, "--asm")
        assert printed(capsys, "cache", "show", info.key)
        json.loads(printed(capsys, "cache", "show", info.key, "--json"))
    code = next(info.key for info in evil.entries() if Artifact.from_bytes(evil.get(info.key) or b""))
    assert f"kernel            {SHOWN}\n" in printed(capsys, "cache", "show", code)


def test_no_name_that_a_command_is_given_does_anything_to_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert r"\x1b" in printed(capsys, "explain", f"{EVIL}:kernel")
    assert r"\x1b" in printed(capsys, "cache", "show", EVIL)
    assert r"\x1b" in printed(capsys, "cache", "ls", "--kernel", EVIL)
    (tmp_path / "needs").write_text(json.dumps({"schema": EVIL}) + "\n")
    assert r"\x1b" in printed(capsys, "warm", "--from", str(tmp_path / "needs"))


def test_no_text_of_an_artifact_comes_raw_into_a_reason_or_a_story(
    cache_dir: Path, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridjit.runtime.specializations.look.Look.is_for", lambda *given: True)
    monkeypatch.setattr("gridjit.runtime.specializations.look.Look.agrees", lambda *given: True)
    gridjit.jit(work)[1, 32](np.zeros(1, np.int64))
    store = DiskStore(cache_dir)
    for info in list(store.entries()):
        if (found := Artifact.from_bytes(store.get(info.key) or b"")) is not None:
            evil = altered(dataclasses.replace(found, footprint=Footprint()))
            store.put(info.key, evil.to_bytes(), suffix=info.suffix)
    restart()
    kernel: Any = gridjit.jit(work)
    for block in (32, 64):
        kernel[1, block](np.zeros(1, np.int64))
        assert r"\x1b[2J" in kernel.explain()
        assert all(line.isprintable() for line in kernel.explain().split("\n"))
    assert all(found.reason.isprintable() for found in kernel.specializations)


def test_commands_print_through_one_place() -> None:
    for path in Path(commands.__file__).parent.glob("*.py"):
        if path.name not in ("printing.py", "demo_job.py"):  # the latter prints JSON for the demo
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            assert not any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls), path.name


def test_text_is_escaped_only_where_it_is_not_seen() -> None:
    assert printable("plain é 漢 😀") == "plain é 漢 😀"
    assert printable(EVIL) == SHOWN
    assert lines("a\n\tb\x1b") == "a\n\tb\\x1b"


@pytest.mark.parametrize("spent", [EVIL, [1], 10**400, None, True])
def test_entries_are_sorted_and_told_of_whatever_their_compile_is_said_to_have_taken(
    spent: Any, evil: DiskStore, capsys: pytest.CaptureFixture[str]
) -> None:
    for info in list(evil.entries()):
        if (found := Artifact.from_bytes(evil.get(info.key) or b"")) is not None:
            wrong = dataclasses.replace(found, metadata={**found.metadata, "compile_ms": spent})
            evil.put(info.key, wrong.to_bytes(), suffix=info.suffix)
    for words in ("cache ls --sort compile", "cache ls --json", "report", "report --json", "report --html -"):
        assert main(words.split()) == 0, words
        assert capsys.readouterr().err == ""
