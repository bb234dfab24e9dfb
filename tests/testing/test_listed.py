"""A run with a list of known failures fails for others alone, and says which of those listed pass."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gridjit.testing.listed import name_of, read_list, written_list
from tests.programs import run_python

TESTS = """
import unittest


class TestSome(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad(self):
        self.fail("as ever")

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)
"""
BAD, PARTS = "test_some.py::TestSome::test_bad", "test_some.py::TestSome::test_parts"


def run(tmp_path: Path, listed: str, *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "listed.txt").write_text(listed)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugin = ("-m", "pytest", "-q", "-p", "gridjit.testing.listed", "--listed", "listed.txt")
    return run_python(*plugin, *words, "test_some.py", cwd=tmp_path, env=environ)


def test_a_run_passes_if_what_fails_is_listed(tmp_path: Path) -> None:
    done = run(tmp_path, f"# on purpose\n{BAD}\n{PARTS}\n")
    assert done.returncode == 0, done.stdout
    assert "2 tests failed as listed" in done.stdout


def test_a_run_fails_if_something_else_fails_and_names_it(tmp_path: Path) -> None:
    done = run(tmp_path, f"# on purpose\n{BAD}\n")
    assert done.returncode == 1
    assert f"fails and is not listed: {PARTS}" in done.stdout


def test_what_is_listed_and_passes_is_reported(tmp_path: Path) -> None:
    good = "test_some.py::TestSome::test_good"
    done = run(tmp_path, f"# once\n{good}\n# on purpose\n{BAD}\n{PARTS}\n")
    assert done.returncode == 0
    assert f"listed, but passes: {good}" in done.stdout


def test_a_run_that_collects_nothing_does_not_pass(tmp_path: Path) -> None:
    assert run(tmp_path, f"# on purpose\n{BAD}\n", "-k", "nothing").returncode == 5


def test_the_list_that_a_run_writes_has_known_causes(tmp_path: Path) -> None:
    run(tmp_path, f"# on purpose\n{BAD}\n", "--write-list", "new.txt")
    assert read_list((tmp_path / "new.txt").read_text()) == {BAD: "on purpose", PARTS: "to be looked at"}


@pytest.mark.parametrize("text", [f"{BAD}\n", f"# one\n{BAD}\n# two\n{BAD}\n"])
def test_a_list_gives_each_test_one_cause(text: str) -> None:
    with pytest.raises(pytest.UsageError):
        read_list(text)


def test_a_list_is_read_as_it_was_written() -> None:
    causes = {BAD: "on purpose", PARTS: "in part"}
    assert read_list(written_list({BAD, PARTS}, causes)) == causes


def test_a_test_has_the_same_name_wherever_it_is_installed() -> None:
    node = BAD.partition("::")[2]
    names = [(f"../../lib/{BAD}", "../../lib/test_some.py"), (BAD, "test_some.py"), (f"::{node}", "lib/test_some.py")]
    assert {name_of(*one) for one in names} == {BAD}
