"""Dependency: a function that a compile was found to depend on only while it ran, such as an extension's overload.

It is recorded beside the footprint and checked when an artifact is looked up, without importing anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType
from typing import Any

from gridjit.compiler.source import fingerprint, function_of, require_function
from gridjit.compiler.source_code import digest_fields, plan_of, with_nested
from gridjit.compiler.source_file import file_digest
from gridjit.compiler.source_library import is_library
from gridjit.compiler.source_value import module_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A function outside the kernel's own call graph that shaped its code.

    module, qualname: where it is defined; for a local function, the outermost function around it.
    digest: of that function's source fingerprint; "" if it cannot be found again by its name.
    files: (module, digest of the module's file) of its own module and of every user module it reaches.
    """

    module: str
    qualname: str
    digest: str
    files: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the dependency as plain JSON values."""
        files = [list(file) for file in self.files]
        return {"module": self.module, "qualname": self.qualname, "digest": self.digest, "files": files}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Dependency:
        """Return the dependency that as_dict described; raises ValueError for anything else."""
        try:
            files = tuple((module, digest) for module, digest in values["files"])
            texts = (values["module"], values["qualname"], values["digest"], *(t for file in files for t in file))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{values!r} describes no dependency") from error
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{values!r} describes no dependency")
        return cls(module=texts[0], qualname=texts[1], digest=texts[2], files=files)


def dependency_of(function: Callable[..., object]) -> Dependency:
    """Return the dependency on a function, as it is loaded now.

    Raises CompileError if it is no Python function and wraps none.
    """
    inner = require_function(function)
    module = module_name(inner)
    outer = _outermost(inner, module)
    found = fingerprint(outer or inner)
    others = tuple(name for name in found.modules if name != module and not is_library(name))
    return Dependency(
        module=module,
        qualname=(outer or inner).__qualname__,
        digest=found.digest if outer else "",
        files=((module, _digest_of_origin(inner, module)), *((name, module_digest(name) or "") for name in others)),
    )


def holds(dependency: Dependency) -> bool:
    """Return whether a compile today would find the same function; False if that cannot be told.

    Of a module that is not imported only the file is compared: what a program assigned to its globals is not seen.
    """
    if not dependency.digest or dependency.module not in sys.modules:
        return _files_hold(dependency)
    function = function_of(_loaded(dependency.module, dependency.qualname))
    if function is None:
        return False
    found = fingerprint(function)
    return found.digest == dependency.digest and (found.cacheable or _files_hold(dependency))


def module_digest(module: str) -> str | None:
    """Return the digest of the file that holds a module, imported or not; None if there is none to be read."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        path, loader = getattr(loaded, "__file__", None), getattr(loaded, "__loader__", None)
    else:
        spec = _find(module)
        path, loader = (None, None) if spec is None else (spec.origin, spec.loader)
    if not path:
        return None
    digest = file_digest(path)
    return _archived_digest(path, loader) if digest is None else digest


def _files_hold(dependency: Dependency) -> bool:
    files = dependency.files
    return bool(files) and all(digest and module_digest(module) == digest for module, digest in files)


def _outermost(function: FunctionType, module: str) -> FunctionType | None:
    """Return the function of the module's own that function is, or was defined in; None if no name leads to it.

    An overload's implementation is a local function: what defines it has its code, its globals and a lasting name.
    """
    outer = function_of(_loaded(module, function.__qualname__.partition(".<locals>.")[0]))
    if outer is None or not any(code is function.__code__ for code in with_nested(outer.__code__)):
        return None
    return outer


def _digest_of_origin(function: FunctionType, module: str) -> str:
    """Return the digest of the module's file, or "" if function is not what the file holds (any more)."""
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    digest = module_digest(module)
    if digest is None:
        return ""
    if path.endswith(".py") and os.path.isfile(path) and plan_of(function.__code__).digest not in _codes(path, digest):
        return ""
    return digest


@lru_cache(maxsize=64)
def _codes(path: str, digest: str) -> frozenset[str]:
    """Return the digests of all code in a source file, whose content has the given digest."""
    try:
        module = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(plan_of(code).digest for code in with_nested(module))


def _loaded(module: str, qualname: str) -> object:
    """Return what the name stands for in the imported module, None if there is nothing by that name."""
    try:
        return reduce(getattr, qualname.split("."), sys.modules.get(module))
    except AttributeError:
        return None


def _find(module: str) -> ModuleSpec | None:
    """Return a module's spec without importing its packages, which importlib.util.find_spec would do."""
    path: list[str] | None = None
    spec = None
    parts = module.split(".")
    if not all(parts):
        return None
    for end in range(1, len(parts) + 1):
        spec = _ask_finders(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
        if path is None and end < len(parts):
            return None
    return spec


def _ask_finders(name: str, path: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path)
        except Exception:
            # A broken finder of somebody else's must not stop a launch: what it hides is a miss.
            continue
        if spec is not None:
            return spec
    return None


def _archived_digest(path: str, loader: object) -> str | None:
    """Return the digest of a file inside an archive that its loader can read."""
    read = getattr(loader, "get_data", None)
    if read is None:
        return None
    try:
        return digest_fields([read(path)])
    except OSError:
        return None
