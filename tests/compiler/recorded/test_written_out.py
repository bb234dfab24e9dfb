"""Only what a module's source writes out, once, is known before the module is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gridjit.compiler.recorded.library_settings import is_written_out

SOURCE = """
import os
PLAIN = 8
NEGATIVE: int = -1
PAIR = (1, "two")
WORKED_OUT = int(os.environ.get("TILE", "8"))
TWICE = 1
TWICE = 2
if os.name:
    SOMETIMES = 3

class Plan:
    DEPTH = 4
    size = len("four")

def change():
    global CHANGED
    CHANGED = 5

CHANGED = 6
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a loaded module with that source."""
    made = ModuleType("written_out_module")
    made.__file__ = str(tmp_path / "module.py")
    Path(made.__file__).write_text(SOURCE)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made.__name__


@pytest.mark.parametrize("path", ["PLAIN", "NEGATIVE", "PAIR", "Plan.DEPTH"])
def test_a_constant_of_the_source_is_written_out(module: str, path: str) -> None:
    assert is_written_out(module, path)


@pytest.mark.parametrize("path", ["WORKED_OUT", "TWICE", "SOMETIMES", "Plan.size", "CHANGED", "missing", "declared()"])
def test_anything_else_is_not(module: str, path: str) -> None:
    assert not is_written_out(module, path)


def test_nothing_of_a_module_without_a_file_is() -> None:
    assert not is_written_out("sys", "maxsize") and not is_written_out("no.such.module", "PLAIN")
