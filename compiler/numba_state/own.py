"""own: tells values under numba's names that are numba's own, as in its files, from a program's values."""

from __future__ import annotations

import functools
import marshal
import operator
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import chain, compress, repeat
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.installed import distribution_of
from gridjit.compiler.numba_state.stamps import addresses, set_since_made
from gridjit.compiler.process.refusing import refuses
from gridjit.compiler.source.libraries import home_of, is_library, is_numbas
from gridjit.compiler.source.objects import cell_values, of_kind
from gridjit.compiler.source.scalars import scalar_text

# Kinds of objects that hold functions, and the names that they have for those.
HELD: Mapping[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    MethodType: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    functools.partial: ("func",),
    type(functools.lru_cache(len)): ("__wrapped__",),
}


def parts_of(value: Any) -> tuple[object, ...]:
    """Return the functions and classes that a value is, or holds."""
    if (names := HELD.get(type(value))) is None:
        return (value,)
    return tuple([part for name in names if (part := getattr(value, name)) is not None])


def counts(kind: type) -> bool:
    """Return whether objects of a class are looked at: functions, their holders, classes, and a program's objects."""
    if kind is FunctionType or kind in HELD or issubclass(kind, type):
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
    """Return whether a function's globals are one of numba's modules; its code may be a program's."""
    return _is_numbas(function.__globals__.get("__name__"))


class Sorted(NamedTuple):
    """Values, sorted: numba's functions among, in and around them, and odd ones, which may have other code.

    foreign: values that are not a library's, by their identity.
    """

    functions: list[FunctionType]
    odd: list[FunctionType]
    foreign: dict[int, Any]


def sorted_out(values: Sequence[Any], kinds: Sequence[type], classes: Iterable[type]) -> Sorted:
    """Return the values sorted. There are thousands, so they are told apart all at once. kinds: their classes.

    classes: the values that are classes, of modules other than numba's.
    """
    functions = dict.fromkeys(compress(values, map(operator.is_, kinds, repeat(FunctionType))))
    holders, parts = _held(values, kinds)
    are_functions = [*map(operator.is_, map(type, parts), repeat(FunctionType))]
    functions.update(dict.fromkeys(compress(parts, are_functions)))
    numbas, odd, elsewhere, holding = _told_apart([*functions])
    programs = {one for one in (*elsewhere, *classes) if is_python_code(one)}
    foreign: dict[int, Any] = {id(one): one for one in programs}
    for holder, part, is_function in zip(holders, parts, are_functions, strict=True):
        if id(part) in foreign if is_function else is_python_code(part):
            foreign[id(holder)] = holder
    wrapped = _wrapped(holding, functions)
    return Sorted([*dict.fromkeys((*numbas, *wrapped, *holding))], [*odd, *wrapped], foreign)


def _held(values: Sequence[Any], kinds: Sequence[type]) -> tuple[list[Any], list[Any]]:
    """Return the values that count and are neither classes nor functions, and for each a held part, or itself."""
    looked_at = {kind for kind in {*kinds} if kind is not FunctionType and not issubclass(kind, type) and counts(kind)}
    holders: list[Any] = []
    parts: list[Any] = []
    for kind in looked_at:
        those = [*compress(values, map(operator.is_, kinds, repeat(kind)))]
        for name in HELD.get(kind, ("",)):
            found = [*map(operator.attrgetter(name), those)] if name else those
            holders += compress(those, map(operator.is_not, found, repeat(None)))
            parts += [part for part in found if part is not None]
    return holders, parts


def is_python_code(value: object) -> bool:
    """Return whether a value is not a library's, and Python code defines it."""
    home = _home(value)
    return not is_library(home) and _is_pythons(home, value)


def _home(value: object) -> str:
    return home_of(value if of_kind(value, type) or of_kind(value, FunctionType) else type(value))


def _told_apart(functions: list[FunctionType]) -> tuple[list[FunctionType], ...]:
    """Return numba's functions, numba's that may have other code, functions of no library, and those with a closure.

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
        cells = cell_values(chain.from_iterable([one.__closure__ or () for one in holding]))
        held = dict.fromkeys([one for one in cells if type(one) is FunctionType])
        holding = [one for one in held if one not in found and one not in known and is_own_function(one)]
        found.update(dict.fromkeys(holding))
    return [*found]


def with_other_code(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Return functions whose code is not from their module's file, or has another name although they wrap nothing."""
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
    """Return whether a Python file defines a value. Code in C, and a library's code made with exec, has no file."""
    names = value.__globals__ if isinstance(value, FunctionType) else getattr(sys.modules.get(home), "__dict__", {})
    return home == "__main__" or str(names.get("__file__", "")).endswith((".py", ".pyc"))


@functools.cache
def _imports(module: ModuleType, top: str) -> bool:
    """Return whether one of numba's modules imports from a package, as its module of errors does to colour them."""
    try:
        text = Path(str(module.__file__)).read_text()
    except (OSError, ValueError):
        return False
    return f"from {top} " in text or f"from {top}." in text or f"import {top}" in text


_is_numbas: Callable[[Any], bool] = functools.cache(lambda name: isinstance(name, str) and is_numbas(name))


def not_as_written(functions: Sequence[FunctionType]) -> list[FunctionType]:
    """Return numba's functions whose code or defaults differ from their file's; none before Python 3.12.

    Python's own version of a function tells that for most of them. The file is read only for the others.
    """
    return [one for one in set_since_made(functions) or () if is_own_function(one) and not _is_as_written(one)]


def _is_as_written(function: FunctionType) -> bool:
    """Return whether a function is as its module's file says, or as a function of that file makes it."""
    if refuses(function):
        return True
    has_defaults = function.__defaults__ is not None or function.__kwdefaults__ is not None
    if not has_defaults and _is_made_by_another(function):
        return True
    # A function that wraps another may have that one's name.
    if not function.__code__.co_freevars and function.__code__.co_qualname != function.__qualname__:
        return False
    name = function.__globals__.get("__name__")
    codes = _codes_of(name) if isinstance(name, str) else ()
    # Code without a file, as decorators write, cannot be compared.
    return not codes or (function.__code__ in codes and _are_written(function, codes))


def _is_made_by_another(function: FunctionType) -> bool:
    """Return whether a function's very code is part of another function's, as a decorator's wrapper is."""
    others = [one for one in function.__globals__.values() if type(one) is FunctionType and one is not function]
    return any(function.__code__ is code for one in others for code in _within(one.__code__.co_consts))


def _are_written(function: FunctionType, codes: Iterable[CodeType]) -> bool:
    """Return whether its module's code has the plain values of a function's defaults; together, if all are plain."""
    constants = [one for code in codes for one in code.co_consts]
    given: list[Any] = [*(function.__kwdefaults__ or {}).values()]
    defaults = function.__defaults__ or ()
    if all(scalar_text(one) is not None for one in defaults):
        given += [defaults] if defaults else []
    else:
        given += defaults
    texts = {_text(one) for one in constants}
    return all(_text(one) in texts for one in given if type(one) is tuple or scalar_text(one) is not None)


def _text(value: Any) -> bytes:
    return b"" if isinstance(value, CodeType) else marshal.dumps(value, 0)


@functools.cache
def _codes_of(module: str) -> frozenset[CodeType]:
    """Return all code of a module's file; none if it cannot be read."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    try:
        code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]  # one without it has no file
    except Exception as error:
        let_through(error)
        return frozenset()
    return frozenset() if code is None else frozenset((code, *_within(code.co_consts)))


def _within(constants: Iterable[object]) -> Iterator[CodeType]:
    for one in constants:
        if isinstance(one, CodeType):
            yield one
            yield from _within(one.co_consts)
