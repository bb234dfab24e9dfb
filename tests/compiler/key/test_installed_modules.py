"""The loaded modules of installed distributions are known at every moment, and looked through only when they change."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gridjit.compiler.key import installed
from gridjit.compiler.key.installed import installed_modules, one_look


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an installed module, which is not imported."""
    site = tmp_path / "site-packages"
    described = site / "laterlib-1.0.dist-info"
    described.mkdir(parents=True)
    (site / "laterlib.py").write_text("TILE = 1\n")
    (described / "RECORD").write_text("laterlib.py,,\nlaterlib-1.0.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "laterlib", raising=False)
    return "laterlib"


def test_modules_of_installed_distributions_are_told_from_python_the_toolchain_and_programs() -> None:
    found = installed_modules()
    assert pytest in found
    assert not {id(os), id(np), id(installed), id(sys.modules[__name__])} & {id(one) for one in found}


def test_a_module_imported_since_is_there_and_one_that_was_dropped_is_not(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = installed_modules()
    module = importlib.import_module(library)
    assert set(installed_modules()) - set(before) == {module}
    monkeypatch.delitem(sys.modules, library)
    assert set(installed_modules()) == set(before)


def test_a_program_that_puts_a_module_of_its_own_in_anothers_place_is_noticed(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(library)
    assert module in installed_modules()
    monkeypatch.setitem(sys.modules, library, ModuleType(library))
    assert not {library} & {one.__name__ for one in installed_modules()}


def test_what_was_found_is_given_out_again_while_the_same_modules_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed_modules()

    def look(_: object) -> None:
        raise AssertionError("a module was looked at again")

    monkeypatch.setattr(installed, "owner_of", look)
    assert installed_modules() == found


def test_within_one_look_all_is_found_in_what_was_loaded_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed_modules()
    with one_look():
        assert installed_modules() == found
        monkeypatch.delitem(sys.modules, found[-1].__name__)
        with one_look():
            assert installed_modules() == found
        assert installed_modules() == found
    assert found[-1] not in installed_modules()


def test_a_module_that_is_loaded_when_it_is_needed_is_not_loaded_by_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Later(ModuleType):
        def __getattribute__(self, name: str) -> object:
            asked.append(name)
            raise ImportError(name)

    monkeypatch.setitem(sys.modules, "later", Later("later"))
    assert pytest in installed_modules()
    assert not asked
