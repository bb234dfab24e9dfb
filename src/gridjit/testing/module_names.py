"""The names under which test modules are imported: those by which Python finds them in a package that --pyargs names.

pytest makes a name from the folders that have an __init__.py. That is not a package's name if it is installed apart
from the package above it (numba.cuda is in a folder numba_cuda/numba). Then the processes that a test starts would not
find what it pickles.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def known_as(path: Path, config: pytest.Config) -> str | None:
    """Return the name of the module in path within the packages that the command line names; None if in none."""
    if not config.option.pyargs:
        return None
    for argument in config.args:
        package, folders = _package(argument.partition("::")[0])
        for folder in folders:
            if path.is_relative_to(folder):
                return ".".join((package, *path.relative_to(folder).with_suffix("").parts))
    return None


def import_as(name: str, path: Path) -> None:
    """Import the module of a name, for pytest to find when it imports the module in path.

    An error is left for pytest to meet: it imports the module by itself then, and reports that.
    """
    with contextlib.suppress(Exception, pytest.skip.Exception):
        module = importlib.import_module(name)
        if module.__file__ == str(path):
            sys.modules.setdefault(".".join(_parts(path)), module)


@functools.cache
def _package(name: str) -> tuple[str, tuple[Path, ...]]:
    """Return a package and its folders, by its name or that of a module in it; of anything else, no folders."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return name, ()
    if spec.submodule_search_locations is None:
        return _package(spec.parent) if spec.parent else (name, ())
    return name, tuple(map(Path, spec.submodule_search_locations))


def _parts(path: Path) -> list[str]:
    """Return pytest's name of the module in path, in parts: its own name below the names of its packages."""
    return [*reversed(list(_packages(path.parent))), path.stem]


def _packages(folder: Path) -> Iterator[str]:
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        yield folder.name
        folder = folder.parent
