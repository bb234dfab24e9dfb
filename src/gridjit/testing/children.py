"""Hands on the plugin: Python processes that the tests start run on gridjit, too.

Processes that are started meanwhile find a sitecustomize that asks for the plugin, first on their PYTHONPATH.
numba-cuda gets gridjit's names when it is imported there, and nothing is imported earlier.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gridjit import installing
from gridjit.runtime.installed.watching import Then, Watching
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
        Watching(_what_to_do).begin()
    _begun.add(folder)
    others = [path for path in sys.path if path not in _begun]
    spec = importlib.machinery.PathFinder.find_spec(_AT_START, others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _what_to_do(name: str) -> Then | None:
    if name == "numba.cuda":
        return _install
    return _leave_alone if name.rpartition(".")[2] in LEFT_ALONE else None


def _install(module: ModuleType) -> None:
    installing.install_kernels_only()


def _leave_alone(module: ModuleType) -> None:
    vars(module)["cuda"] = installing.original()
