"""Conditions: the circumstances of a process's import of the compiler, on which all its compiles depend.

A server compiles for programs that did not start it. Its imports stay as they are, but a program's keys depend on the
program's imports; so it compiles for a program only while both are the same.
"""

from __future__ import annotations

import os
import sys

from gridjit.base.values import dataclass
from gridjit.compiler.key.numba_settings import CONFIG_FILE

# Variables that are read when the compiler, or NVIDIA's libraries, are loaded: names, and beginnings.
_READ = frozenset(("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"))
_READ_BEGINNINGS = ("NUMBA_", "LLVMLITE_")
# The compiler's packages.
_PACKAGES = ("gridjit", "numba", "numba_cuda", "llvmlite", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The circumstances of an import: variables, numba's configuration file, and the packages' places."""

    variables: tuple[tuple[str, str], ...]
    config_file: bytes | None
    packages: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def now(cls) -> Conditions:
        """Return the conditions of an import in this process now."""
        names = sorted(name for name in os.environ if name in _READ or name.startswith(_READ_BEGINNINGS))
        return cls(
            variables=tuple((name, os.environ[name]) for name in names),
            config_file=_content(CONFIG_FILE),
            packages=tuple((name, _places(name)) for name in _PACKAGES),
        )

    def difference(self, other: Conditions) -> str:
        """Return the first difference from other conditions, in words; empty if none."""
        ours, theirs = dict(self.variables), dict(other.variables)
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name):
                return f"{name} is {_said(theirs.get(name))} in this program, and {_said(ours.get(name))} there"
        if self.config_file != other.config_file:
            return f"the folder's {CONFIG_FILE} is not the one there"
        places = dict(self.packages)
        for name, found in other.packages:
            if places[name] != found:
                return f"this program has {name} in {', '.join(found) or 'no folder'}, not in {', '.join(places[name])}"
        return ""


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _places(package: str) -> tuple[str, ...]:
    """Return the place to import a package from now, whatever was imported."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if find is None else find(package, None)
        if spec is not None:
            return (spec.origin,) if spec.origin else tuple(spec.submodule_search_locations or ())
    return ()


def _said(value: str | None) -> str:
    return "not set" if value is None else repr(value)
