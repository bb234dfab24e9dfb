"""The session's stores: layers, bounds, signatures and trust, as the environment asks for them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.errors import CacheWarning
from gridjit.cache.memory import MemoryStore
from gridjit.runtime.environment.settings import Settings
from gridjit.runtime.process.secret import read_secret
from gridjit.runtime.process.session import Session, session


def origin() -> str:
    """Launch a kernel, made anew, and return where its code came from."""

    @gridjit.jit(target="host")
    def triple(x):
        x[0] *= 3

    out = np.ones(1, np.float32)
    triple[1, 1](out)
    assert out[0] == 3
    (found,) = triple.specializations
    return str(found.origin)


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Callable[..., None]:
    """Return what sets variables and starts over."""

    def set_variables(**variables: Any) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"GRIDJIT_{name}", str(value))
        restart()

    return set_variables


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A file with a secret."""
    path = tmp_path / "secret"
    path.write_bytes(b"s" * 32)
    path.chmod(0o400)
    return path


def test_a_base_answers_what_the_folder_misses_and_is_copied_into_it(
    environ: Callable[..., None], cache_dir: Path, tmp_path: Path
) -> None:
    assert origin() == "compiled"
    first, second = tmp_path / "first", tmp_path / "second"
    shutil.move(cache_dir, second)
    environ(CACHE_BASE=f"{first}:{second}")
    assert origin() == "disk"
    shutil.rmtree(second)
    environ()
    assert origin() == "disk"


def test_a_base_is_never_written(environ: Callable[..., None], cache_dir: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir(0o700)
    environ(CACHE_BASE=base)
    assert origin() == "compiled"
    assert list(base.iterdir()) == []
    assert list(cache_dir.glob("??/*.o")) != []


def test_only_entries_that_the_key_signed_are_used(environ: Callable[..., None], key_file: Path) -> None:
    assert origin() == "compiled"
    environ(CACHE_KEY_FILE=key_file)
    assert origin() == "compiled"
    environ()
    assert origin() == "disk"
    other = key_file.with_name("other")
    other.write_bytes(b"t" * 32)
    other.chmod(0o600)
    environ(CACHE_KEY_FILE=other)
    assert origin() == "compiled"


@pytest.mark.parametrize(
    ("mode", "data", "reason"),
    [
        (0o440, b"s" * 32, "can be used by users other than its owner"),
        (0o604, b"s" * 32, "can be used by users other than its owner"),
        (0o400, b"s" * 15, "does not hold from 16 to 4096 bytes"),
        (0o400, b"s" * 5000, "does not hold from 16 to 4096 bytes"),
    ],
)
def test_a_key_file_that_cannot_be_trusted_is_refused_and_nothing_goes_to_disk(
    mode: int, data: bytes, reason: str, environ: Callable[..., None], tmp_path: Path, cache_dir: Path
) -> None:
    path = tmp_path / "loose"
    path.write_bytes(data)
    path.chmod(mode)
    environ(CACHE_KEY_FILE=path)
    with pytest.warns(CacheWarning, match=reason):
        assert origin() == "compiled"
    assert isinstance(session().store(), MemoryStore)
    assert not cache_dir.exists()
    with pytest.raises(gridjit.ConfigError, match=reason):
        session().open_disk()


def test_a_key_file_that_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gridjit.ConfigError, match="cannot be read"):
        read_secret(tmp_path / "missing")
    with pytest.raises(gridjit.ConfigError, match="is not a regular file"):
        read_secret(tmp_path)
    os.mkfifo(tmp_path / "pipe", 0o400)
    with pytest.raises(gridjit.ConfigError, match="is not a regular file"):
        read_secret(tmp_path / "pipe")


def test_a_key_file_on_a_disk_that_fails_is_refused(key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    with pytest.raises(gridjit.ConfigError, match=r"cannot be read \(Input/output error\)"):
        read_secret(key_file)


def test_a_folder_that_others_may_write_is_used_only_if_allowed(environ: Callable[..., None], cache_dir: Path) -> None:
    cache_dir.mkdir()
    cache_dir.chmod(0o777)
    environ(CACHE_ALLOW_SHARED=1)
    assert origin() == "compiled"
    environ()
    assert origin() == "disk"
    environ(CACHE_ALLOW_SHARED=0)
    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert origin() == "compiled"


def test_the_folder_keeps_to_the_number_of_entries_asked_for(environ: Callable[..., None]) -> None:
    environ(CACHE_ENTRIES=5)
    store = session().store()
    for number in range(20):
        store.put(f"{number:08x}", b"data", suffix=".o")
    assert len(list(store.entries())) == 5


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²"])
def test_a_number_of_entries_that_makes_no_sense_is_an_error(text: str) -> None:
    with pytest.raises(gridjit.ConfigError, match=r"GRIDJIT_CACHE_ENTRIES=.*whole number from 1"):
        Settings.of({"GRIDJIT_CACHE_ENTRIES": text})


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"GRIDJIT_CACHE_DIR": "~/kernels", "HOME": "/home/me"}, "/home/me/kernels"),
        ({"GRIDJIT_CACHE_DIR": "kernels"}, "{here}/kernels"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/gridjit"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/gridjit"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache/gridjit"),
    ],
)
def test_the_folder_is_one_that_stays_when_the_process_goes_elsewhere(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert Settings.of(variables).cache_dir == Path(folder.format(here=os.getcwd()))


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({"HOME": "/home/me"}, "/home/me/.config/gridjit/trusted-writers.json"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "/xdg"}, "/xdg/gridjit/trusted-writers.json"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}, "/home/me/.config/gridjit/trusted-writers.json"),
        ({"HOME": "/home/me", "GRIDJIT_CACHE_WRITERS": "/etc/writers.json"}, "/etc/writers.json"),
    ],
)
def test_the_trust_file_is_among_the_users_settings(variables: dict[str, str], file: str) -> None:
    assert Settings.of(variables).cache_writers == Path(file)


def test_bases_are_listed_like_a_path() -> None:
    assert Settings.of({"GRIDJIT_CACHE_BASE": "/a:/b:"}).cache_bases == (Path("/a"), Path("/b"))
    assert Settings.of({}).cache_bases == ()


def test_a_line_that_nobody_asked_to_see_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    made: list[str] = []
    for log in ("", "compiles"):
        Session(Settings.of({"GRIDJIT_LOG": log})).report(lambda: made.append("made") or "a line")
    assert (made, capsys.readouterr().err) == (["made"], "gridjit: a line\n")


def test_a_process_that_compiles_for_another_asks_no_remote_cache(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", f"file://{cache_dir}/remote?unsigned")
    restart()
    assert Session(session().settings, compiles_declared=False).remote is None
    assert Session(session().settings).remote is not None
