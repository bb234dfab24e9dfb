"""Modules that code imports while it runs: their names, whether they exist, and loading them.

Whether one exists is found without running any of its code.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from gridjit.base.interrupts import let_through


def package_of(namespace: Mapping[str, Any]) -> str:
    """Return the package that relative imports of a namespace's code begin at, "" where there is none."""
    package = namespace.get("__package__")
    if isinstance(package, str):
        return package
    name = str(namespace.get("__name__") or "")
    return name if "__path__" in namespace else name.rpartition(".")[0]


def is_there(name: str) -> bool:
    """Return whether a module that is not loaded can be found; if its package is not loaded, whether that can be."""
    while "." in name and name.rpartition(".")[0] not in sys.modules:
        name = name.rpartition(".")[0]
    try:
        return importlib.util.find_spec(name) is not None
    except Exception as error:  # the program's own finders are asked, too
        let_through(error)
        return False


def load(names: Iterable[str]) -> None:
    """Load these modules, unless they are loaded; raises their errors, ImportError if a module ends the program."""
    try:
        for name in names:
            if name not in sys.modules:
                importlib.import_module(name)
    except SystemExit as error:
        raise ImportError("a module ends the program when it is imported") from error
