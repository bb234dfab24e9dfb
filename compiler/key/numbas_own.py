"""numbas_own: which values under numba's names are numba's own, and which a program put there."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import chain, compress, repeat
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy

from gridjit.compiler.key.installed import distribution_of
from gridjit.compiler.process.stamps import addresses
from gridjit.compiler.source.libraries import home_of, is_library, is_numbas
from gridjit.compiler.source.objects import cell_value, of_kind

# Kinds of objects that hold functions, and how to get at those.
_HOLDERS: Mapping[type, Callable[[Any], tuple[object, ...]]] = {
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    MethodType: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    functools.cached_property: lambda value: (value.func,),
    functools.partial: lambda value: (value.func,),
    type(functools.lru_cache(len)): lambda value: (value.__wrapped__,),
}


def parts_of(value: Any) -> tuple[object, ...]:
    """Return the functions and classes that a value is, or holds."""
    parts = _HOLDERS.get(type(value))
    return (value,) if parts is None else tuple(part for part in parts(value) if part is not None)


def counts(kind: type) -> bool:
    """Return whether objects of a class are looked at: functions, what holds one, classes, and a program's objects."""
    if kind is FunctionType or kind in _HOLDERS or issubclass(kind, type):
        return True
    home = home_of(kind)
    return not is_library(home) and distribution_of(home) is None and _is_pythons(home, kind)


def is_numbas_own(part: object) -> bool:
    """Return whether a function or class is numba's."""
    return (of_kind(part, type) or type(part) is FunctionType) and is_numbas(home_of(part))


def is_put(value: object, module: ModuleType) -> bool:
    """Return whether a value was put into a module of numba's: it is not a library's, and not imported there."""
    if not is_python_code(value):
        return False
    home = _home(value)
    return distribution_of(home) is None or not _imports(module, home.partition(".")[0])


def is_own_function(function: FunctionType) -> bool:
    """Return whether a function runs in one of numba's modules, whatever its code is."""
    return _is_numbas(function.__globals__.get("__name__"))


class Sorted(NamedTuple):
    """Values, sorted: numba's functions among, in and around them, and which of those may have other code.

    foreign: values that are not a library's, by their identity.
    """

    functions: list[FunctionType]
    odd: list[FunctionType]
    foreign: dict[int, Any]


def sorted_out(values: Sequence[Any], kinds: Sequence[type], classes: Iterable[type]) -> Sorted:
    """Return what the values are. There are thousands, so they are told apart all at once. kinds: their classes.

    classes: those of the values that are classes, of modules other than numba's.
    """
    functions = dict.fromkeys(compress(values, map(operator.is_, kinds, repeat(FunctionType))))
    holders = [*compress(values, map(_holders({*kinds}).__contains__, kinds))]
    parts = [*map(parts_of, holders)]
    functions.update((part, None) for part in chain.from_iterable(parts) if type(part) is FunctionType)
    numbas, odd, elsewhere, holding = _told_apart([*functions])
    programs = {one for one in (*elsewhere, *classes) if is_python_code(one)}
    foreign: dict[int, Any] = {id(one): one for one in programs}
    for holder, those in zip(holders, parts, strict=True):
        if any(one in programs if type(one) is FunctionType else is_python_code(one) for one in those):
            foreign[id(holder)] = holder
    wrapped = _wrapped(holding, functions)
    return Sorted([*dict.fromkeys((*numbas, *wrapped, *holding))], [*odd, *wrapped], foreign)


def _holders(kinds: Iterable[type]) -> set[type]:
    """Return the classes of all that is looked at but is neither a class nor a function."""
    return {kind for kind in kinds if kind is not FunctionType and not issubclass(kind, type) and counts(kind)}


def is_python_code(value: object) -> bool:
    """Return whether a value is not a library's, and Python code defines it."""
    home = _home(value)
    return not is_library(home) and _is_pythons(home, value)


def _home(value: object) -> str:
    return home_of(value if of_kind(value, type) or of_kind(value, FunctionType) else type(value))


def _told_apart(functions: list[FunctionType]) -> tuple[list[FunctionType], ...]:
    """Return which of the functions are numba's, which of those may have other code, are foreign, and have a closure.

    A function has its own code if that has the function's name, and the file that its module's other code has.
    """
    homes, closures, called, named, files = addresses(
        functions, "__globals__", "__closure__", "__name__", "__code__.co_name", "__code__.co_filename"
    )
    _, first, which = numpy.unique(homes, return_index=True, return_inverse=True)
    ones = [functions[index] for index in first.tolist()]
    numbas = numpy.array([*map(is_own_function, ones)], dtype=bool)[which]
    others = numpy.array([not is_library(home_of(one)) for one in ones], dtype=bool)[which]
    right = numpy.array([not _file_is_another(one) for one in ones], dtype=bool)[which] & (files == files[first][which])
    holding = (closures != 0) & (closures != id(None))
    masks = (numbas, numbas & ((called != named) | ~right), others, holding)
    return tuple([functions[index] for index in numpy.flatnonzero(mask).tolist()] for mask in masks)


def _wrapped(holding: list[FunctionType], known: Container[FunctionType]) -> list[FunctionType]:
    """Return numba's functions that others hold in their closures and that are not known."""
    found: dict[FunctionType, None] = {}
    while holding:
        cells = chain.from_iterable(one.__closure__ or () for one in holding)
        held = dict.fromkeys(one for one in map(cell_value, cells) if type(one) is FunctionType)
        holding = [one for one in held if one not in found and one not in known and is_own_function(one)]
        found.update(dict.fromkeys(holding))
    return [*found]


def with_other_code(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Return those whose code is not from their module's file, or is named otherwise although they wrap nothing."""
    return [one for one in functions if _has_other_code(one) and not _is_of_dataclass(one)]


def _file_is_another(function: FunctionType) -> bool:
    return function.__code__.co_filename != function.__globals__.get("__file__")


def _has_other_code(function: FunctionType) -> bool:
    code = function.__code__
    return _file_is_another(function) or not (function.__qualname__.endswith(code.co_name) or code.co_freevars)


def _is_of_dataclass(function: FunctionType) -> bool:
    """Return whether dataclasses wrote a function, as for some of numba's classes: such code has no file."""
    name = function.__code__.co_name
    return function.__code__.co_filename == "<string>" and any(
        name in vars(one) for one in function.__globals__.values() if of_kind(one, type) and is_dataclass(one)
    )


def _is_pythons(home: str, value: object) -> bool:
    """Return whether Python code defines it. What C defines, or a library makes with exec, has no file."""
    names = value.__globals__ if isinstance(value, FunctionType) else getattr(sys.modules.get(home), "__dict__", {})
    return home == "__main__" or str(names.get("__file__", "")).endswith((".py", ".pyc"))


@functools.cache
def _imports(module: ModuleType, top: str) -> bool:
    """Return whether one of numba's modules itself imports from a package, as one does to colour messages."""
    try:
        text = Path(str(module.__file__)).read_text()
    except (OSError, ValueError):
        return False
    return f"from {top} " in text or f"from {top}." in text or f"import {top}" in text


_is_numbas: Callable[[Any], bool] = functools.cache(lambda name: isinstance(name, str) and is_numbas(name))
