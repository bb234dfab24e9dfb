"""Library modules are leaves; a user's module is not, whatever it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gridjit.compiler.key.source.libraries import is_library


@pytest.mark.parametrize("name", ["math", "os.path", "json", "builtins", "numba.cuda.stubs", "numpy", "gridjit.static"])
def test_what_the_toolchain_covers_is_a_library(name: str) -> None:
    sys.modules.setdefault("json", __import__("json"))
    assert is_library(name)


@pytest.mark.parametrize("name", ["", "__main__", "stats", "numbas", "cuda", "cuda.coop", "_pytest.fixtures"])
def test_everything_else_is_not(name: str) -> None:
    assert not is_library(name)


@pytest.mark.parametrize("folder", ["project", "lib/python3.11/site-packages"])
def test_a_users_module_with_a_standard_name_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    module = ModuleType("queue")
    module.__file__ = str(tmp_path / folder / "queue.py")
    monkeypatch.setitem(sys.modules, "queue", module)
    assert not is_library("queue")
