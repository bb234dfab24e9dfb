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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from gridjit.compiler.key.numba_settings import affects_code
from gridjit.compiler.key.source.libraries import is_library
from gridjit.digests import blake2b, utf8

_PYTHONS = os.path.dirname(os.__file__) + os.sep
_SETTINGS = ("numba.core.config", "numba.cuda.core.config")
_WRAPPERS = {staticmethod: "__func__", classmethod: "__func__", MethodType: "__func__", functools.partial: "func"}
_WRAPPERS |= {functools.lru_cache(len).__class__: "__wrapped__", property: "fget"}
# Made by Python when a module is loaded; of places that differ, and of no code.
_OF_MODULES = frozenset({"__file__", "__cached__", "__path__", "__doc__", "__builtins__"})
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})
# Code that is generated has no file.
_GENERATED = "<string>"


def numbas_text(owners: Iterable[tuple[Any, Mapping[str, object]]], passed_over: frozenset[str]) -> str | None:
    """Return the text of modules and classes, each with its names as they were; None if they hold a program's code.

    passed_over: names that tell nothing.
    """
    found = sorted(((_owner_name(owner), names) for owner, names in owners), key=lambda one: one[0])
    settings = [f"{name} {_settings_text(names)}" for name, names in found if name in _SETTINGS]
    # There are tens of thousands of names, so they are looked at all at once.
    told = [_telling(names, passed_over) for name, names in found if name not in _SETTINGS]
    values = [*chain.from_iterable(names.values() for names in told)]
    files: set[str] = set()
    texts = (*(name for name, _ in found), *chain.from_iterable(told), *settings, *_texts(values, files))
    at_home = all(map(_is_at_home, files))
    return blake2b(utf8("\n".join(texts)), digest_size=16).hexdigest() if at_home else None


def _telling(names: Mapping[str, object], passed_over: frozenset[str]) -> Mapping[str, object]:
    """Return the names but those that are passed over, and what was imported from a package."""
    is_module = "__spec__" in names
    if not is_module and passed_over.isdisjoint(names):
        return names
    skipped = passed_over | _OF_MODULES if is_module else passed_over
    return {key: value for key, value in names.items() if type(value) is not ModuleType and key not in skipped}


def _texts(values: Sequence[Any], files: set[str]) -> Iterator[str]:
    """Yield what values are: functions, then plain values and what wraps others, then how many there are of each class.

    Where functions are written is added to files.
    """
    kinds = [*map(type, values)]
    functions = [value for kind, value in zip(kinds, values, strict=True) if kind is FunctionType]
    codes = [*map(_code_of, functions)]
    files.update(map(_file_of, codes))
    if _GENERATED in files:
        files.remove(_GENERATED)
        files.update(_generated(functions))
    yield repr([*map(_line_of, codes)])
    yield repr([value for kind, value in zip(kinds, values, strict=True) if kind in _PLAIN])
    found = zip(kinds, values, strict=True)
    if wrapped := [getattr(value, _WRAPPERS[kind]) for kind, value in found if kind in _WRAPPERS]:
        yield from _texts(wrapped, files)
    counts = Counter(kinds)
    if not all(map(_is_known, counts)):
        files.add(_FOREIGN)
    yield from sorted(f"{kind.__module__}.{kind.__qualname__} {count}" for kind, count in counts.items())


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


@functools.cache
def _is_known(kind: type) -> bool:
    """Return whether objects of a class are not called, or are of what numba's modules are full of."""
    called = any("__call__" in vars(base) for base in kind.__mro__)
    known = not called or issubclass(kind, type | ctypes._SimpleCData | _FOREIGN_FUNCTION) or kind in _WRAPPERS
    return known or kind is FunctionType or _is_home_of_classes(kind.__module__)


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
    # Where colorama is installed, numba colors its errors by it. It takes names of no other such library.
    names = ("numba", "numba.cuda", "llvmlite", "numpy", "cuda.bindings", "gridjit.compiler", "colorama")
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return tuple(os.path.dirname(file) + os.sep for file in files if file)
