"""Where nothing may be compiled, the error and `gridjit info` name the cache's folders, and why one is not used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gridjit
from gridjit.cache.errors import CacheWarning
from gridjit.commands import main
from gridjit.runtime.process.session import session

Set = Callable[..., None]


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Set:
    """Return a function that sets variables and starts over."""

    def set_variables(**variables: object) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"GRIDJIT_{name}", str(value))
        restart()

    return set_variables


def told() -> str:
    """Return the error of a launch for which nothing may be compiled."""

    @gridjit.jit(target="host")
    def double(x):
        x[0] *= 2

    with pytest.raises(gridjit.CompileDisabledError) as caught:
        double[1, 1](np.ones(1, np.float32))
    return str(caught.value)


def write_key(path: Path, mode: int = 0o400) -> Path:
    path.write_bytes(os.urandom(32))
    path.chmod(mode)
    return path


def test_the_error_and_info_name_each_folder_that_was_looked_in(
    environ: Set, cache_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ(ASSERT_NO_COMPILE=1, CACHE_BASE=tmp_path / "misspelt")
    cache_dir.mkdir(mode=0o700)
    assert f"; looked in {cache_dir}, {tmp_path}/misspelt (there is no such folder)" in told()
    assert main(["info", "--json"]) == 0
    cache = json.loads(capsys.readouterr().out)["cache"]
    assert cache["fault"] is None
    assert cache["bases"] == [{"folder": f"{tmp_path}/misspelt", "fault": "there is no such folder"}]
    assert main(["info"]) == 0
    assert f"{tmp_path}/misspelt; there is no such folder\n" in capsys.readouterr().out


def test_a_folder_whose_entries_another_key_signed_is_not_called_empty(
    environ: Set, cache_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session().open_disk().put("1" * 64, b"code", suffix=".o")
    environ(ASSERT_NO_COMPILE=1, CACHE_KEY_FILE=write_key(tmp_path / "key"))
    assert f"looked in {cache_dir} (its entries are not used: the first is not signed)" in told()
    session().open_disk().put("2" * 64, b"code", suffix=".o")
    assert told().endswith(f"looked in {cache_dir}")


def test_a_refused_key_and_a_folder_of_others_are_told_of(
    environ: Set, cache_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ(ASSERT_NO_COMPILE=1, CACHE_KEY_FILE=write_key(tmp_path / "key", 0o444))
    with pytest.warns(CacheWarning, match="chmod 400"):
        assert "; looked in no folder: GRIDJIT_CACHE_KEY_FILE=" in told()
    assert main(["info"]) == 0
    assert "entries; not used: GRIDJIT_CACHE_KEY_FILE=" in capsys.readouterr().out
    environ(CACHE_KEY_FILE="")
    cache_dir.mkdir()
    cache_dir.chmod(0o777)
    with pytest.warns(CacheWarning, match="mode 777"):
        assert told().endswith(f"looked in {cache_dir} (not used: it can be written by other users (mode 777))")


@pytest.mark.parametrize(
    ("missing", "fault"), [(os.R_OK, "cannot be read: Permission denied"), (os.W_OK, "cannot be written")]
)
def test_info_says_that_a_folder_cannot_be_read_or_written(
    cache_dir: Path,
    missing: int,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    restart: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    cache_dir.mkdir(mode=0o700)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & missing)
    restart()
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cache"]["fault"] == fault
