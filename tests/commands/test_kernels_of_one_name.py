"""Kernels of one name in two files: every command tells them apart, and a kernel alone keeps its short name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gridjit.commands import main
from gridjit.commands.inventory import is_named, labels_of
from gridjit.compiler.source.code_place import file_named
from tests.programs import run_python

SCRIPT = """
import numpy as np
import gridjit
from gridjit import cuda


@gridjit.jit
def add(x):
    x[cuda.grid(1)] += {amount}


@gridjit.jit
def only_{amount}(x):
    x[cuda.grid(1)] = 0


if __name__ == "__main__":
    add[1, 4](np.ones(4, np.float32))
    only_{amount}[1, 4](np.ones(4, np.float32))
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def two_scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two scripts of one name, each with a kernel add and a kernel of its own; both ran with one cache."""
    folder = tmp_path_factory.mktemp("scripts")
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GRIDJIT_")}
    settings |= {"GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": "host"}
    for name, amount in (("one", 1), ("two", 2)):
        (folder / name).mkdir()
        (folder / name / "run.py").write_text(SCRIPT.format(amount=amount))
        done = run_python(
            str(folder / name / "run.py"), env=settings | {"GRIDJIT_TRACE": str(folder / "trace.json")}, cwd=folder
        )
        assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture
def run(
    two_scripts: Path,
    cache_dir: Path,
    restart: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Return what runs a command on a copy of that cache, beside the scripts, and returns its output."""
    shutil.copytree(two_scripts / "cache", cache_dir, dirs_exist_ok=True)
    monkeypatch.chdir(two_scripts)
    restart()

    def output(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0
        return capsys.readouterr().out

    return output


def test_the_cache_lists_a_kernel_with_its_file_where_another_file_has_one_of_its_name(run: Run) -> None:
    listed = run("cache", "ls", "--all")
    assert "one/run.py:add" in listed and "two/run.py:add" in listed
    assert "__main__.only_1 " in listed and "__main__.add" not in listed


def test_sizes_and_uses_are_counted_for_each_file(run: Run) -> None:
    for command in ("du", "stats"):
        counted = {row["kernel"] for row in json.loads(run("cache", command, "--json"))["kernels"]}
        assert {"one/run.py:add", "two/run.py:add", "__main__.only_1"} <= counted


def test_a_kernel_can_be_chosen_by_its_file(run: Run, two_scripts: Path) -> None:
    for name in ("two/run.py:add", f"{two_scripts}/two/run.py:add", "./two/run.py:add"):
        (entry,) = json.loads(run("cache", "ls", "--json", "--kernel", name))
        assert (entry["kernel"], entry["file"]) == ("__main__.add", str(two_scripts / "two" / "run.py"))
    assert len(json.loads(run("cache", "ls", "--json", "--kernel", "add"))) == 2
    assert "removed 3 entries" in run("cache", "clear", "--kernel", "two/run.py:add")
    assert "__main__.add" in run("cache", "ls")  # it is alone now


def test_what_is_explained_names_the_file_of_another_files_kernel(run: Run, two_scripts: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        mine, others = json.loads(run("explain", f"{name}/run.py:add", "--json"))["stored"]
        assert (mine["other_file"], mine["changed"]) == (None, None)
        assert others["other_file"] == str(two_scripts / other / "run.py") and others["changed"]
        said = run("explain", f"{name}/run.py:add")
        assert said.startswith(f"{name}/run.py:add: 1 stored, and 1 of this name in other files\n")


def test_code_that_moved_to_another_file_is_still_explained(run: Run, two_scripts: Path) -> None:
    moved = two_scripts / "moved.py"
    moved.write_text((two_scripts / "one" / "run.py").read_text())
    stored = json.loads(run("explain", "moved.py:add", "--json"))["stored"]
    files = [one["other_file"] for one in stored if one["changed"] is None]
    assert files == [str(two_scripts / "one" / "run.py")]


def test_a_compile_that_resembles_another_files_says_so(run: Run) -> None:
    (entry,) = json.loads(run("cache", "ls", "--json", "--kernel", "two/run.py:add"))
    reason = json.loads(run("cache", "show", entry["key"], "--json"))["reason"]
    assert reason.startswith("file ") and "/one/run.py -> " in reason


def test_labels_have_as_much_of_a_path_as_they_need() -> None:
    scripts = {("__main__.k", f"/{name}/src/run.py"): f"{name}/src/run.py:k" for name in ("x", "y")}
    methods = {("p.n.C.k", f"/{name}/p/n.py"): f"{name}/p/n.py:C.k" for name in ("1", "2")}
    alone = {("m.k", "/a/m.py"): "m.k", ("__main__.k", ""): "__main__.k"}
    assert labels_of(scripts | methods | alone) == scripts | methods | alone


@pytest.mark.parametrize(
    ("name", "means_it"), [("b/run.py:k", True), ("n.py:k", False), ("/a/b/run.py:k", True), ("k", True)]
)
def test_the_end_of_a_path_is_whole_names(name: str, means_it: bool) -> None:
    assert is_named("__main__.k", name, "/a/b/run.py") is means_it


def test_a_file_is_named_from_the_home_folder_or_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("run.py", "lib/site-packages/pack/mod.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    file_named.cache_clear()
    paths = [str(tmp_path / path) for path in ("run.py", "lib/site-packages/pack/mod.py", "gone.py")]
    named = list(map(file_named, [*paths, "<string>", "run.py"]))
    assert named == ["~/run.py", "pack/mod.py", "", "", ""]
