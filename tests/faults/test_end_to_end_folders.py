"""Folders that cannot be made, entered, written or filled: right launches, and one warning that names the folder."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.errors import CacheWarning
from tests.programs import run_new_python, run_python

# Launches two kernels twice, as a user for whom permission bits bind, and prints compiles and warnings. What a compiler
# imports is imported first, because nobody may not be able to read root's interpreter.
LAUNCH = """
import json, os, sys, warnings
import gridjit
import numpy as np

def add(x, y):
    x[0] = x[0] + y

def multiply(x, y):
    x[0] = x[0] * y

def launch(function, right, **options):
    kernel, x = gridjit.jit(**options)(function), np.full(1, 7, np.int64)
    kernel[1, 1](x, 3)
    assert x[0] == right
    return kernel.stats.compiles

if sys.argv[1:] == ["drop privileges"]:
    import gridjit.cache.disk, gridjit.cache.index, gridjit.cache.lock
    from gridjit.runtime.process.session import end_session
    os.environ["GRIDJIT_CACHE"] = "0"  # root leaves nothing behind
    launch(add, 10)
    del os.environ["GRIDJIT_CACHE"]
    end_session()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compiles = [launch(add, 10), launch(multiply, 21), launch(add, 10), launch(multiply, 21)]
print(json.dumps([compiles, [f"{w.category.__name__}: {w.message}" for w in caught]]))
"""


# The same under -W error, where only what the launches did is printed.
STRICT = (
    LAUNCH[: LAUNCH.index("with warnings.catch_warnings")]
    + """
print(json.dumps([[launch(add, 10), launch(multiply, 21)], []]))
"""
)


def run(*arguments: str, **environment: str | None) -> tuple[list[int], list[str]]:
    """Run LAUNCH in another process; a variable given as None is not set there."""
    kept = {name: value for name, value in os.environ.items() if name not in environment}
    given = {name: value for name, value in environment.items() if value is not None}
    # What numba has variables for, it reads when it is imported.
    run_it = run_new_python if any(name.startswith("NUMBA") for name in given) else run_python
    done = run_it("-c", LAUNCH, *arguments, env={**kept, **given})
    assert (done.returncode, done.stderr) == (0, "")
    compiles, told = json.loads(done.stdout)
    return compiles, told


def run_unprivileged(folder: Path | None, **environment: str | None) -> tuple[list[int], str]:
    """Run it with this cache folder as nobody, if this is root; return the compiles and the one warning."""
    compiles, told = run("drop privileges", GRIDJIT_CACHE_DIR=None if folder is None else str(folder), **environment)
    (message,) = told
    assert message.startswith("CacheWarning: ")
    return compiles, message


def test_a_folder_that_may_only_be_read_answers_and_keeps_nothing_new(open_folder: Path) -> None:
    folder = open_folder / "cache"
    folder.mkdir(mode=0o755)
    assert run(GRIDJIT_CACHE_DIR=str(folder)) == ([1, 1, 0, 0], [])
    kept = sorted(folder.glob("??/*.o"))
    kept[0].unlink()
    for made in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        made.chmod(0o555)
    before = sorted(folder.rglob("*"))
    compiles, message = run_unprivileged(folder)
    assert sorted(compiles) == [0, 0, 1, 1]  # one kernel is found, the other's code is gone
    assert f"cache folder {folder} cannot be written" in message
    assert sorted(folder.rglob("*")) == before


def test_a_folder_under_one_that_may_not_be_entered_is_not_a_cache(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o700)
    (open_folder / "closed" / "cache").mkdir(mode=0o700)
    if os.geteuid() != 0:
        (open_folder / "closed").chmod(0o000)
    compiles, message = run_unprivileged(open_folder / "closed" / "cache")
    (open_folder / "closed").chmod(0o700)
    assert compiles == [1, 1, 1, 1]
    assert str(open_folder / "closed" / "cache") in message
    assert list((open_folder / "closed" / "cache").iterdir()) == []


def test_a_folder_that_may_not_be_made_is_not_a_cache(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    compiles, message = run_unprivileged(open_folder / "deep" / "cache")
    assert compiles == [1, 1, 1, 1]
    assert f"cache folder {open_folder}/deep/cache cannot be written" in message


def test_without_a_home_the_cache_is_off_and_gives_one_warning() -> None:
    compiles, message = run_unprivileged(None, HOME=None, XDG_CACHE_HOME=None)
    assert compiles == [1, 1, 1, 1]
    assert "Set GRIDJIT_CACHE_DIR to a folder of your own" in message


def test_with_a_home_that_does_not_exist_the_cache_is_off_and_gives_one_warning(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    compiles, message = run_unprivileged(None, HOME=str(open_folder / "gone"), XDG_CACHE_HOME=None)
    assert compiles == [1, 1, 1, 1]
    assert str(open_folder / "gone") in message


GONE = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
os.rmdir(os.getcwd())
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("search", [None, "include:../more"], ids=["", "headers beside it"])
def test_where_the_current_folder_is_gone_launches_are_right_and_cached(
    monkeypatch: pytest.MonkeyPatch, search: str | None
) -> None:
    monkeypatch.setattr(f"{__name__}.LAUNCH", GONE + LAUNCH)
    for compiles in (1, 0):
        assert run(NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS=search) == ([compiles, compiles, 0, 0], [])


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("GRIDJIT_CACHE_DIR", "cannot be written: "),
        ("GRIDJIT_CACHE_KEY_FILE", "cannot be read"),
        ("GRIDJIT_RECORD", "cannot be written: "),
        ("GRIDJIT_CACHE_BASE", None),
    ],
)
def test_a_relative_name_in_a_current_folder_that_is_gone_is_one_warning_and_right_launches(
    monkeypatch: pytest.MonkeyPatch, variable: str, said: str | None
) -> None:
    monkeypatch.setattr(f"{__name__}.LAUNCH", GONE + LAUNCH)
    compiles, told = run(**{variable: "some/where"})
    assert compiles == ([1, 1, 1, 1] if variable == "GRIDJIT_CACHE_DIR" else [1, 1, 0, 0])
    assert ["some/where" in message and str(said) in message for message in told] == ([True] if said else [])


@pytest.mark.parametrize("name", [b"caf\xe9", b"~ two words"])
def test_the_cache_folder_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b"/cache")
    for compiles in (1, 0):
        assert run(GRIDJIT_CACHE_DIR=folder) == ([compiles, compiles, 0, 0], [])


def test_a_folder_once_shared_and_closed_at_its_top_runs_nothing_that_others_may_have_put_there(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert run(GRIDJIT_CACHE_DIR=str(folder)) == ([1, 1, 0, 0], [])
    folder.chmod(0o755)
    for made in folder.iterdir():
        if made.is_dir():
            made.chmod(0o2775)
    compiles, (message,) = run(GRIDJIT_CACHE_DIR=str(folder))
    assert compiles == [1, 1, 0, 0]
    assert f"CacheWarning: cache folder {folder} is used only in part: " in message
    assert "can be written by other users (mode 2775) and is passed over. Delete it, or the whole folder" in message
    # What was compiled anew is kept in directories that were made anew.
    assert run(GRIDJIT_CACHE_DIR=str(folder))[0] == [0, 0, 0, 0]


@pytest.mark.some(2)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "directory"])
@pytest.mark.parametrize("shared", [None, "1"], ids=["own", "shared"])
def test_no_launch_waits_for_what_is_put_in_the_place_of_every_file(
    tmp_path: Path, make: Callable[[Path], None], shared: str | None
) -> None:
    folder = tmp_path / "cache"
    assert run(GRIDJIT_CACHE_DIR=str(folder)) == ([1, 1, 0, 0], [])
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        file.unlink()
        make(file)
    compiles, told = run(GRIDJIT_CACHE_DIR=str(folder), GRIDJIT_CACHE_ALLOW_SHARED=shared)
    assert (compiles[:2], len(told)) == ([1, 1], 1)


def test_links_in_a_shared_folder_lead_no_launch_elsewhere(tmp_path: Path) -> None:
    folder, victim = tmp_path / "cache", tmp_path / "victim"
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o400)
    for made in (folder, victim):
        made.mkdir()
    folder.chmod(0o777)
    (victim / "mail.db").write_text("precious")
    for name in ("tmp", "locks", *(f"{number:02x}" for number in range(256))):
        (folder / name).symlink_to(victim)
    for name in ("cache.db", "cache.db-journal"):
        (folder / name).symlink_to(victim / "mail.db")
    environment = {"GRIDJIT_CACHE_ALLOW_SHARED": "1", "GRIDJIT_CACHE_KEY_FILE": str(tmp_path / "key")}
    compiles, told = run(GRIDJIT_CACHE_DIR=str(folder), **environment)
    assert (compiles, len(told)) == ([1, 1, 1, 1], 1)
    assert [(path.name, path.read_text()) for path in victim.iterdir()] == [("mail.db", "precious")]


def add(x, y):
    x[0] = x[0] + y


def multiply(x, y):
    x[0] = x[0] * y


def subtract(x, y):
    x[0] = x[0] - y


def launches(*functions: Callable[..., Any]) -> tuple[list[int], list[str]]:
    """Launch new kernels of functions, which must be right; return how often each compiled, and the warnings."""
    compiles = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in functions:
            kernel, x = gridjit.jit(function), np.full(1, 7, np.int64)
            kernel[1, 1](x, 3)
            assert x[0] == {add: 10, multiply: 21, subtract: 4}[function]
            compiles.append(kernel.stats.compiles)
    assert {warning.category for warning in caught} <= {CacheWarning}
    return compiles, [str(warning.message) for warning in caught]


def fill(path: Path) -> None:
    """Write a file that takes all the room there is."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_a_disk_filled_by_others_is_one_warning_and_a_cache_again_when_there_is_room(
    cache_dir: Path, mounted: Callable[..., Path], restart: Callable[[], None]
) -> None:
    cache_dir.mkdir(mode=0o700)
    mounted(cache_dir, "-t", "tmpfs", "-o", "size=512k,mode=0700", "tmpfs")
    assert launches(add, add) == ([1, 0], [])
    fill(cache_dir / "others")
    # Older entries make room for newer ones, as far as they go: only what is right is certain.
    _, told = launches(multiply, add, subtract, multiply, add)
    assert len(told) <= 1
    assert all("No space left on device" in message or "full" in message for message in told)
    (cache_dir / "others").unlink()
    _, told = launches(add, multiply, subtract)
    assert told == []
    restart()
    assert launches(add, multiply, subtract) == ([0, 0, 0], [])


def test_a_disk_full_of_cache_keeps_the_newest(cache_dir: Path, mounted: Callable[..., Path]) -> None:
    cache_dir.mkdir(mode=0o700)
    mounted(cache_dir, "-t", "tmpfs", "-o", "size=192k,mode=0700", "tmpfs")
    source = "def kernel(x, y):\n    x[0] = x[0] + {}\n"
    for number in range(24):
        scope: dict[str, Any] = {"__name__": f"generated_{number}"}
        exec(compile(source.format(number), f"generated_{number}.py", "exec"), scope)
        for compiles in (1, 0):
            kernel, x = gridjit.jit(scope["kernel"]), np.zeros(1, np.int64)
            kernel[1, 1](x, 0)
            assert (x[0], kernel.stats.compiles) == (number, compiles)
    assert 2 < len(list(cache_dir.glob("??/*.o"))) < 24


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("GRIDJIT_CACHE_DIR", "{file}/cache", "cache folder {file}/cache cannot be written: "),
        ("GRIDJIT_CACHE_DIR", "{shared}", "cache folder {shared} is not used: it can be written by other users"),
        ("GRIDJIT_CACHE_BASE", "{shared}", "cache folder {shared} is not used: it can be written by other users"),
        ("GRIDJIT_CACHE_SIZE", "100", "is limited to 100 bytes and cannot hold an entry of "),
        ("GRIDJIT_CACHE_KEY_FILE", "{file}/key", "GRIDJIT_CACHE_KEY_FILE={file}/key cannot be read"),
        ("GRIDJIT_RECORD", "{file}/record", "GRIDJIT_RECORD={file}/record cannot be written: "),
    ],
)
def test_where_warnings_are_errors_launches_are_right_and_the_warning_is_logged(
    tmp_path: Path, variable: str, value: str, said: str
) -> None:
    places = {"file": tmp_path / "file", "shared": tmp_path / "shared"}
    places["file"].write_text("")
    places["shared"].mkdir()
    places["shared"].chmod(0o777)
    done = run_python("-W", "error", "-c", STRICT, env={**os.environ, variable: value.format(**places)})
    assert (done.returncode, done.stdout) == (0, "[[1, 1], []]\n")
    assert done.stderr.startswith("CacheWarning: ")
    assert done.stderr.count("\n") == 1
    assert said.format(**places) in done.stderr
