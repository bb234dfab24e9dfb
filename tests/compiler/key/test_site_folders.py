"""Site folders: each is listed once, and again when something was put into it or taken out."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import numpy
import pytest

from gridjit.compiler.key import entry_points, toolchain
from gridjit.compiler.key.site_folders import descriptions
from tests.programs import run_new_python, run_python

PROGRAM = """
    import collections, os, sys
    import numpy as np
    import gridjit
    from gridjit import cuda

    @gridjit.jit
    def kernel(x):
        x[cuda.grid(1)] += 1

    listed = collections.Counter()

    def count(event, given):
        if event in ("os.listdir", "os.scandir") and isinstance(given[0], str):
            listed[os.path.realpath(given[0])] += 1

    sys.addaudithook(count)
    x = np.zeros(8)
    kernel[1, 8](x)
    assert x.all()
    print(kernel.stats.compiles, listed[os.path.realpath(sys.argv[1])], "numba" in sys.modules)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with two descriptions, which were put there long ago."""
    for name in ("b-1.dist-info", "a.egg-info", "module"):
        (tmp_path / "site" / name).mkdir(parents=True)
    return settled(tmp_path / "site")


def settled(folder: Path) -> Path:
    os.utime(folder, ns=(1, 1))
    return folder


def test_a_folders_descriptions_are_sorted(site: Path) -> None:
    assert descriptions(str(site)) == ("a.egg-info", "b-1.dist-info")


@pytest.mark.parametrize("folder", ["missing", "site/a\0b"])
def test_what_is_not_a_folder_describes_nothing(folder: str, tmp_path: Path) -> None:
    assert descriptions(str(tmp_path / folder)) == ()


def test_what_is_installed_and_removed_is_seen_at_once_whatever_the_folders_time(site: Path) -> None:
    for number in range(20):
        (site / f"c-{number}.dist-info").mkdir()
        assert f"c-{number}.dist-info" in descriptions(str(settled(site)))
        (site / f"c-{number}.dist-info").rmdir()
        assert descriptions(str(settled(site))) == ("a.egg-info", "b-1.dist-info")


def test_the_current_folder_is_the_one_of_this_moment(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site)
    assert descriptions("") == ("a.egg-info", "b-1.dist-info")
    monkeypatch.chdir(tmp_path)
    assert descriptions("") == ()


def test_a_folder_that_others_change_all_the_time_is_listed_once_for_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: listed.append(folder) or listdir(folder))
    (tmp_path / "numba-99.9.dist-info").mkdir()  # just now
    entry_points._looked_up((str(tmp_path),))
    assert toolchain._installed((str(tmp_path),)) == {"numba": "99.9"}
    assert listed == [str(tmp_path)]


def test_a_first_launch_from_disk_lists_what_is_installed_once(tmp_path: Path) -> None:
    # Where numba is installed; beside what else was changed lately, the folder would be listed each time.
    installed = str(Path(numpy.__file__).parents[1])
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    command, environment = (tmp_path / "program.py", installed), os.environ | {"GRIDJIT_TARGET": "host"}
    assert run_python(*command, env=environment).returncode == 0
    assert run_new_python(*command, env=environment).stdout.split() == ["0", "1", "False"]
