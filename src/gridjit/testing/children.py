"""Hands the plugin on: what the tests start in a Python process of its own runs on gridjit there too.

Processes that are started while it is handed on find a sitecustomize that asks for it, first on their PYTHONPATH.
numba-cuda gets gridjit's names when it is imported there, and nothing is imported before.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from gridjit.testing.left_alone import LEFT_ALONE

_BEGIN = """\
from gridjit.testing import children
children.begin({folder!r})
"""
_PATH = "PYTHONPATH"
# The module that Python imports when it starts.
_AT_START = "sitecustomize"
# The folders whose sitecustomize ran in this process.
_begun: set[str] = set()


@contextlib.contextmanager
def handing_on(folder: Path) -> Iterator[None]:
    """Have processes that this one starts begin with gridjit's names; folder: an empty one, for as long as it lasts."""
    (folder / f"{_AT_START}.py").write_text(_BEGIN.format(folder=str(folder)))
    before = os.environ.get(_PATH)
    os.environ[_PATH] = os.pathsep.join(filter(None, (str(folder), before)))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_PATH, None)
        else:
            os.environ[_PATH] = before


def begin(folder: str) -> None:
    """Watch for numba-cuda, and run the sitecustomize that folder's stands in front of.

    That may be one of the same kind: pytest-xdist's workers hand on what was handed on to them.
    """
    if not _begun:
        sys.meta_path.insert(0, _Watching())
    _begun.add(folder)
    others = [path for path in sys.path if path not in _begun]
    spec = importlib.machinery.PathFinder.find_spec(_AT_START, others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


class _Watching(importlib.abc.MetaPathFinder):
    """Finds what the other finders find; some modules are seen to once they are imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        then = _what_to_do(name)
        if then is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                spec.loader = _Then(spec.loader, then)
                return spec
        return None


class _Then(importlib.abc.Loader):
    """Loads as another loader does, then does something with the module."""

    def __init__(self, loader: importlib.abc.Loader | None, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the other loader makes."""
        return None if self._loader is None else self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then do what is to be done."""
        if self._loader is not None:
            self._loader.exec_module(module)
        self._then(module)


def _what_to_do(name: str) -> Callable[[ModuleType], None] | None:
    if name == "numba.cuda":
        return _install
    return _leave_alone if name.rpartition(".")[2] in LEFT_ALONE else None


def _install(module: ModuleType) -> None:
    from gridjit.testing import numba_names

    numba_names.install()


def _leave_alone(module: ModuleType) -> None:
    from gridjit.testing import numba_names

    vars(module)["cuda"] = numba_names.original()
