"""around: what the names of numba's modules and classes stand for, as a text that is the same in another process.

Functions count by where they are written, plain values by what they are, other objects by their classes. Where a
program's own code stands in the place of numba's, there is no text.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from gridjit.compiler.key.numba_settings import affects_code
from gridjit.compiler.key.source.libraries import is_library
from gridjit.compiler.key.source.scalars import scalar_text
from gridjit.digests import blake2b, utf8

_PYTHONS = os.path.dirname(os.__file__) + os.sep
_SETTINGS = ("numba.core.config", "numba.cuda.core.config")
_WRAPPERS = {staticmethod: "__func__", classmethod: "__func__", MethodType: "__func__", functools.partial: "func"}
_WRAPPERS |= {functools.lru_cache(len).__class__: "__wrapped__", property: "fget"}
# Code that is generated has no file.
_GENERATED = "<string>"


def numbas_text(owners: Iterable[tuple[Any, Mapping[str, object]]], passed_over: frozenset[str]) -> str | None:
    """Return the text of modules and classes, each with its names as they were; None if they hold a program's code.

    passed_over: names that tell nothing.
    """
    files: set[str] = set()
    texts = sorted(_owner_text(_owner_name(owner), names, passed_over, files) for owner, names in owners)
    at_home = all(map(_is_at_home, files))
    return blake2b(utf8("\n".join(texts)), digest_size=16).hexdigest() if at_home else None


def _owner_text(name: str, names: Mapping[str, Any], passed_over: frozenset[str], files: set[str]) -> str:
    """Return what each name of an owner stands for. Where functions are written is added to files."""
    if name in _SETTINGS:
        return f"{name} {_settings_text(names)}"
    # There are tens of thousands of names, most of them functions'.
    functions = {key: value for key, value in names.items() if type(value) is FunctionType}
    codes = [*map(_code_of, functions.values())]
    files.update(map(_file_of, codes))
    if _GENERATED in files:
        files.remove(_GENERATED)
        files.update(_generated(functions.values()))
    others = [
        f"{key} {_text(value, files)}"
        for key, value in names.items()
        if key not in functions and key[:2] != "__" and type(value) is not ModuleType and key not in passed_over
    ]
    return "\n".join((name, *functions, *map(str, map(_line_of, codes)), *others))


def _owner_name(owner: Any) -> str:
    return str(owner.__name__ if type(owner) is ModuleType else f"{owner.__module__}.{owner.__qualname__}")


def _settings_text(names: Mapping[str, object]) -> str:
    return repr([(name, repr(value)) for name, value in names.items() if name.isupper() and affects_code(name)])


_FOREIGN_FUNCTION: Any = type(ctypes.pythonapi.Py_IncRef).__base__
# Stands for the file of what a program put there.
_FOREIGN = "<a program's>"
_code_of: Callable[[FunctionType], CodeType] = operator.attrgetter("__code__")
_file_of: Callable[[CodeType], str] = operator.attrgetter("co_filename")
_line_of: Callable[[CodeType], int] = operator.attrgetter("co_firstlineno")


def _text(value: Any, files: set[str]) -> str:
    kind = type(value)
    if kind is FunctionType:
        return _owner_text("", {"": value}, frozenset(), files)
    if (inner := _WRAPPERS.get(kind)) is not None:
        return _text(getattr(value, inner), files)
    if (text := scalar_text(value)) is not None:
        return text
    text, is_known = _kind(kind)  # type: ignore[arg-type]  # classes are hashable
    if not is_known:
        files.add(_FOREIGN)
    return text


@functools.cache
def _kind(kind: type) -> tuple[str, bool]:
    """Return the name of a class, and whether its objects are not called or are of what numba's modules are full of."""
    called = any("__call__" in vars(base) for base in kind.__mro__)
    known = not called or issubclass(kind, type | ctypes._SimpleCData | _FOREIGN_FUNCTION)
    return kind.__qualname__, known or _is_home_of_classes(kind.__module__)


@functools.cache
def _is_home_of_classes(module: str) -> bool:
    return module.startswith(("numba.", "llvmlite.", "_cython_")) or module in ("builtins", "typing")


def _generated(functions: Iterable[FunctionType]) -> Iterator[str]:
    """Yield the foreign file for a function without a file that no library generated: named tuples' methods are."""
    for function in functions:
        home = str(function.__globals__.get("__name__"))
        if function.__code__.co_filename == _GENERATED and not (is_library(home) or home.startswith("namedtuple_")):
            yield _FOREIGN


@functools.cache
def _is_at_home(file: str) -> bool:
    """Return whether the toolchain's versions stand for a file."""
    if file.startswith(("<frozen ", *_homes())):
        return True
    # Installed packages may be in a folder of Python's.
    return file.startswith(_PYTHONS) and not {"site-packages", "dist-packages"} & {*file.split(os.sep)}


@functools.cache
def _homes() -> tuple[str, ...]:
    names = ("numba", "numba.cuda", "llvmlite", "numpy", "cuda.bindings", "gridjit.compiler")
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return tuple(os.path.dirname(file) + os.sep for file in files if file)
