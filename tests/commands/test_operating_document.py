"""The commands of documents run, one after the other, and print what is said there."""

from __future__ import annotations

import doctest
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cache.remote.servers import bucket_variables, make_bucket, moto
from tests.programs import run_python

DOCUMENTS = Path(__file__).parents[2] / "docs"
_FILE = re.compile(r"^<!-- file (?P<name>\S+) -->\n(?:<!-- not run -->\n)?```python\n(?P<text>.*?)^```", re.M | re.S)
PROGRAMS = {"gridjit": ("-m", "gridjit"), "python": ()}
_CONSOLE = re.compile(r"^```console\n(?P<text>.*?)^```", re.M | re.S)


def commands(text: str) -> list[tuple[str, str]]:
    """Return (command, what it prints) of every console block, in order."""
    blocks = "".join(found["text"] for found in _CONSOLE.finditer(text))
    parts = re.split(r"^\$ ", blocks, flags=re.M)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def in_shell(command: str, folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as its reader does."""
    return subprocess.run(command, shell=True, cwd=folder, env=environ, capture_output=True, text=True)


def forked(command: str, folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with its Python process forked, and what its output is piped into by the shell."""
    line, _, reader = command.partition(" | ")
    words = shlex.split(line)
    given = dict(word.split("=", 1) for word in itertools.takewhile(lambda word: "=" in word, words))
    program, *arguments = words[len(given) :]
    if program not in PROGRAMS or ">" in words:
        return in_shell(command, folder, environ)
    streams = arguments.pop() if arguments[-1] == "2>&1" else ""
    done = run_python(*PROGRAMS[program], *arguments, env=environ | given, cwd=folder)
    if not reader:
        return done
    said = done.stdout + done.stderr * bool(streams)
    return subprocess.run(reader, shell=True, input=said, capture_output=True, text=True)


LEAST = {
    "../README.md": 4,
    "index.md": 2,
    "operating.md": 16,
    "performance.md": 7,
    "security.md": 5,
    "seeing.md": 7,
    "tutorials/from-numba-cuda.md": 2,
}


@pytest.mark.parametrize(("name", "least"), LEAST.items(), ids=LEAST)
def test_the_commands_of_the_document_run_and_print_what_it_says(tmp_path: Path, name: str, least: int) -> None:
    if name == "security.md":
        pytest.importorskip("cryptography", reason="cryptography is not installed")
    run_document(tmp_path, name, least, {})


def test_the_commands_about_remote_caches_run_with_a_bucket(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    with moto() as url:
        make_bucket(url, "kernels")
        run_document(tmp_path, "remote.md", 9, bucket_variables(url))


def test_a_service_of_ray_starts_from_a_bucket_without_compiling(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]'")
    with moto() as url:
        make_bucket(url, "kernels")
        run_document(tmp_path, "tutorials/remote-cache.md", 6, bucket_variables(url))


def run_document(tmp_path: Path, name: str, least: int, more: dict[str, str]) -> None:
    text = (DOCUMENTS / name).read_text()
    for found in _FILE.finditer(text):
        (tmp_path / found["name"]).write_text(found["text"])
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GRIDJIT_")}
    environ |= {
        "PATH": f"{Path(sys.executable).parent}:{environ['PATH']}",
        "GRIDJIT_CACHE_DIR": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "GRIDJIT_TARGET": "host",
        "PYTHONDONTWRITEBYTECODE": "1",  # edits within a second are not seen otherwise
        **more,
    }
    run = commands(text)
    assert len(run) >= least
    for number, (command, expected) in enumerate(run):
        by = in_shell if number == 0 else forked
        done = by(command, tmp_path, environ)
        fails = "compiles: " in expected or "Error: " in expected
        assert done.returncode == fails, f"$ {command}\n{done.stdout}{done.stderr}"
        said = done.stdout + done.stderr * ("gridjit run: " in expected)
        same = doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert same, f"$ {command}\n{done.stdout}{done.stderr}"
