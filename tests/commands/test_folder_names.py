"""The command where folders have names that are not text, and where the current folder is gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.cache.key import digest
from tests.programs import run_python

FROM_NOWHERE = """
import os, runpy, tempfile
os.chdir(tempfile.mkdtemp())
os.rmdir(os.getcwd())
runpy.run_module("gridjit", run_name="__main__", alter_sys=True)
"""


def gridjit(*arguments: str, folder: str, here: str | None = None, **environment: str) -> str:
    """Run the command with a cache folder, in a folder that is removed before if none is given; return what it says."""
    command = ("-c", FROM_NOWHERE) if here is None else ("-m", "gridjit")
    done = run_python(*command, *arguments, cwd=here, env={**os.environ, "GRIDJIT_CACHE_DIR": folder, **environment})
    assert "Traceback" not in done.stderr
    assert done.returncode in ((0,) if not done.stderr else (1, 2))
    return done.stdout + done.stderr


ACTIONS = [("info",), ("cache", "ls"), ("cache", "du"), ("cache", "verify"), ("cache", "gc")]


EXPLAIN = ("explain", "gridjit.commands.demo_job:block_sum")


@pytest.mark.parametrize("action", ACTIONS, ids=" ".join)
def test_a_folder_whose_name_is_not_text_is_printed_with_escapes(tmp_path: Path, action: tuple[str, ...]) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    DiskStore(folder).put(digest([("a", "key")]), b"data", suffix=".o")
    said = gridjit(*action, folder=folder, here=str(tmp_path), PYTHONIOENCODING="utf-8:strict")
    assert r"caf\udce9" in said or action[-1] in ("ls", "verify", "gc")


@pytest.mark.parametrize("action", [*ACTIONS, EXPLAIN], ids=" ".join)
def test_the_command_works_where_the_current_folder_is_gone(tmp_path: Path, action: tuple[str, ...]) -> None:
    DiskStore(tmp_path / "cache").put(digest([("a", "key")]), b"data", suffix=".o")
    assert not gridjit(*action, folder=str(tmp_path / "cache")).startswith("gridjit: ")


def test_warm_says_that_the_current_folder_is_gone(tmp_path: Path) -> None:
    work = ("--signature", "void(float32[::1], float32[::1])", "--target", "host")
    said = gridjit("warm", "gridjit.commands.demo_job:block_sum", *work, folder=str(tmp_path / "cache"))
    assert said == "gridjit: the current folder is gone: change to one that exists\n"
