"""The page on trust: its commands name files that are there, and its numbers are those of the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trust.md").read_text()
# The number of tests and the paths of each row.
ROWS = [(int(n), paths.split()) for n, paths in re.findall(r"\| (\d+) \| `pytest ([^`]+)`", PAGE)]
# Words of the page, and the source that makes them true.
FIGURES = {
    "4,000 as they are": ("end_to_end/test_drawn_kernels.py", "range(1000, 5000, MANY)"),
    "500 with `debug=True`": ("end_to_end/test_drawn_kernels.py", "range(5000, 5500, MANY)"),
    "500 without gridjit's passes": ("end_to_end/test_drawn_kernels.py", "range(6000, 6500, MANY)"),
    "2,500 forgeries": ("cache/remote/tier/test_forged_objects.py", "MANY = 2500\n"),
    "four error numbers": ("faults/test_every_call.py", "[errno.EIO, errno.ENOENT, errno.EACCES, errno.ENOSPC]"),
    "50 at random moments": ("faults/test_forks.py", "[5, pytest.param(50, marks=pytest.mark.slow)]"),
    "1,000 ends of processes": (
        "faults/test_forks.py",
        "pytest.param(125, 1000 * n, marks=pytest.mark.slow) for n in range(1, 9)",
    ),
    "a thousand interrupts": ("faults/test_interrupts.py", 'run(tmp_path, kind, 1000, 20) == "1000\\n"'),
    "12 of them, and 200": ("conftest.py", '(("gridjit", 12), ("thorough", 200))'),
}


def test_every_row_of_the_page_has_a_command_whose_paths_exist() -> None:
    rows = [
        line for line in PAGE.splitlines() if line.startswith("|") and "|---" not in line and "| tests |" not in line
    ]
    assert len(rows) == len(ROWS) > 20
    assert [path for _, paths in ROWS for path in paths if not (ROOT / path).exists()] == []


def test_the_other_commands_of_the_page_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([a-z-]+)`", PAGE)) - targets == set()
    assert [name for name in re.findall(r"`python (scripts/\S+)`", PAGE) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("words", FIGURES)
def test_a_figure_of_the_page_is_in_the_tests(words: str) -> None:
    file, source = FIGURES[words]
    assert words in PAGE
    assert source in (ROOT / "tests" / file).read_text()


@pytest.mark.slow
def test_no_row_of_the_page_counts_more_tests_than_there_are() -> None:
    paths = [path for _, row in ROWS for path in row]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = Counter(re.findall(r"^(tests/[\w/]+\.py)::", done.stdout, re.M))
    found = {tuple(row): sum(n for file, n in counts.items() if file.startswith(tuple(row))) for _, row in ROWS}
    assert [(row, number, found[tuple(row)]) for number, row in ROWS if found[tuple(row)] < number] == []
