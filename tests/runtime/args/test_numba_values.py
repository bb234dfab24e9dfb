"""Arguments that only numba knows, in a process of their own: what an extension registers is in every later key."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.programs import run_python

CASES = Path(__file__).with_name("foreign_cases.py")
NAMES = [
    found.name
    for found in ast.parse(CASES.read_text()).body
    if isinstance(found, ast.FunctionDef) and found.name.startswith("test_")
]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run the cases; return what failed of each, by name."""
    report = tmp_path_factory.mktemp("foreign") / "report.xml"
    command = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={report}")
    done = run_python(*command, CASES)
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        texts = [part.text or "" for part in case if part.tag in ("failure", "error")]
        found.setdefault(case.attrib["name"].partition("[")[0], []).extend(texts)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_numbas_own_arguments(failures: dict[str, list[str]], name: str) -> None:
    assert failures[name] == []
