"""Every command has a manual page, in the words of its help, that roff sets without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gridjit.commands.arguments import parser
from tests.commands.test_command_line import commands_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pages, into which they were written twice."""
    folder = tmp_path_factory.mktemp("man") / "man1"
    for _ in range(2):
        subprocess.run([sys.executable, ROOT / "scripts" / "man-pages.py", folder], check=True)
    return folder


def test_each_command_has_a_page_and_a_wheel_installs_it(pages: Path, wheel: Path) -> None:
    names = {f"{made.prog.replace(' ', '-')}.1" for made in commands_of(parser())}
    assert {path.name for path in pages.iterdir()} == names
    inside = [name for name in zipfile.ZipFile(wheel).namelist() if "/share/man/man1/" in name]
    assert {Path(name).name for name in inside} == names and len(inside) == len(names)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_a_page_shows_the_help_and_roff_finds_no_mistake(pages: Path) -> None:
    for made in commands_of(parser()):
        command: list[str | Path] = [
            "groff",
            "-man",
            "-Tutf8",
            "-ww",
            "-P-c",
            "-P-b",
            "-P-u",
            pages / f"{made.prog.replace(' ', '-')}.1",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        words = re.sub(r"\s+", " ", re.sub(r"\u2010\s+", "", done.stdout))
        for action in made._actions:
            assert all(name in words for name in action.option_strings)
        assert made.description is None or " ".join(made.description.split())[:40] in words, made.prog
