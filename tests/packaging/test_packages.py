"""The package table of pyproject.toml: setuptools takes it at its word, so a folder left out vanishes from wheels."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import gridjit

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOTS: dict[str, str] = SETUPTOOLS["package-dir"]


def packages_in(package: str, folder: Path) -> set[str]:
    """Return the names of all packages in a folder that is itself package."""
    found = {file.parent.relative_to(folder).parts for file in folder.rglob("__init__.py")}
    return {".".join((package, *parts)) for parts in found}


def test_the_package_table_is_what_the_folders_hold() -> None:
    on_disk = set().union(*(packages_in(package, ROOT / folder) for package, folder in ROOTS.items()))
    assert sorted(SETUPTOOLS["packages"]) == sorted(on_disk)


@pytest.mark.parametrize("folder", sorted(ROOTS.values()))
def test_every_folder_with_modules_is_a_package(folder: str) -> None:
    with_modules = {file.parent for file in (ROOT / folder).rglob("*.py")}
    assert {f for f in with_modules if not (f / "__init__.py").exists()} == set()


def test_elsewhere_than_on_linux_an_import_says_where_gridjit_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("gridjit_elsewhere", gridjit.__file__)
    assert spec is not None and spec.loader is not None
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ImportError, match="gridjit runs on Linux, and this is win32: on Windows, use WSL 2"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
