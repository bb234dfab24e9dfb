"""The package table of pyproject.toml: setuptools takes it at its word, so a folder left out vanishes from wheels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
