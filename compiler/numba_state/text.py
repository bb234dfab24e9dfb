"""text: the values of names in numba's modules and classes as a text that is the same in another process.

Functions count by their file and line, plain values by their text, other objects by their classes. If a program's own
code replaces numba's, no text can be made.
"""

from __future__ import annotations

import ctypes
import functools
import marshal
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy

from gridjit.base.digests import blake2b, utf8
from gridjit.base.interrupts import let_through
from gridjit.compiler.numba_state.stamps import addresses
from gridjit.compiler.numba_state.within import Within
from gridjit.compiler.source.libraries import file_of, is_library

_PYTHONS = os.path.dirname(os.__file__) + os.sep
# Classes of objects whose functions are looked at when the objects' contents are.
_WRAPPERS = (staticmethod, classmethod, MethodType, functools.partial, functools.lru_cache(len).__class__)
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})
# Generated code has no file.
_GENERATED = "<string>"
# The names of folders of installed packages.
_PACKAGES = frozenset({"site-packages", "dist-packages"})
# A flag of classes that Python made.
_HEAP_TYPE = 1 << 9
_HOMES = ("numba.", "llvmlite.")
# The home of values that gridjit puts into numba's modules; kernels see none of them.
_BESIDE = "gridjit.runtime.installed"


def numbas_text(names: Iterable[str], within: Within) -> str | None:
    """Return the text of modules and classes and of their names; None if they hold a program's code.

    names: of all these, in an order that is the same in another process. within: their values, all the way down.
    """
    files: set[str] = set()
    # There are tens of thousands of names and values, so they are looked at all at once.
    texts = (*names, *_texts(within, files))
    at_home = all(map(_is_at_home, files))
    return blake2b(utf8("\n".join(texts)), digest_size=16).hexdigest() if at_home else None


def _texts(within: Within, files: set[str]) -> Iterator[str]:
    """Yield texts of values: of functions first, then of each class their number and their texts, in order.

    The files that functions are written in are added to files. Modules do not count: imports decide which are there.
    """
    kinds = {**within.kinds}
    kinds.pop(ModuleType, None)
    functions = kinds.pop(FunctionType, [])
    first, places = _each_once(addresses(functions, "__code__")[0])
    once = [functions[place] for place in places]
    codes = [*map(_code_of, once)]
    written = [*map(_file_of, codes)]
    files.update(written)
    if _GENERATED in files:
        files.remove(_GENERATED)
        places = [place for place, file in zip(places, written, strict=True) if file == _GENERATED]
        files.update(_generated(functions[index] for index in numpy.flatnonzero(numpy.isin(first, places)).tolist()))
    yield _digest_of(first.tobytes())
    yield _digest([*map(_line_of, codes)])
    # Code that replaces other code may be from the same line.
    constants = [*chain.from_iterable(map(_constants_of, codes))]
    yield _digest([*compress(constants, map(_PLAIN.__contains__, map(type, constants)))])
    called = {kind: f"{kind.__module__}.{kind.__qualname__}" for kind in kinds}
    told = {kind: name for kind, name in called.items() if _has_names(kind) or kind in _PLAIN or _has_a_text(kind)}
    # If two of these change places, they are of one class, or the order of the classes changes.
    numbers = {name: number for number, name in enumerate(sorted({*told.values()}))}
    number_of = {kind: numbers[name] for kind, name in told.items()}
    yield _digest([*map(number_of.__getitem__, filter(number_of.__contains__, within.met))])
    for kind in sorted(kinds, key=called.__getitem__):
        yield f"{called[kind]} {len(kinds[kind])}"
        if kind in _PLAIN:
            yield _digest(kinds[kind])
        elif kind in told:
            yield from (_names(kinds[kind], files) if _has_names(kind) else _own_texts(kinds[kind]))
    if not all(map(_is_known, kinds)):
        files.add(_FOREIGN)


def _own_texts(values: Sequence[Any]) -> Iterator[str]:
    """Return the text of each value; most values occur several times."""
    texts = {id(value): _text_of(value) for value in {id(value): value for value in values}.values()}
    return map(texts.__getitem__, map(id, values))


def _each_once(objects: Any) -> tuple[Any, list[int]]:
    """Return the place of each object's first appearance, and all places of first appearances in order.

    objects: their addresses. Many of numba's functions and classes have several names; each is told of once.
    """
    _, first, which = numpy.unique(objects, return_index=True, return_inverse=True)
    return first[which], sorted(first.tolist())


def _names(named: Sequence[Any], files: set[str]) -> Iterator[str]:
    """Yield texts of classes and functions in C by their names; a program's adds the foreign file to files."""
    first, places = _each_once(numpy.fromiter(map(id, named), dtype=numpy.uint64, count=len(named)))
    once = [named[place] for place in places]
    modules = [*map(str, map(operator.attrgetter("__module__"), once))]
    yield _digest_of(first.tobytes())
    yield _digest(modules)
    yield _digest([*map(str, map(operator.attrgetter("__qualname__"), once))])
    elsewhere = {module for module in {*modules} if not _is_home_of_classes(module)}
    if any(map(_is_a_programs, compress(once, map(elsewhere.__contains__, modules)))):
        files.add(_FOREIGN)


def _digest(values: list[Any]) -> str:
    """Return the digest of plain values, types included."""
    # Without references, which would depend on how often a value is in use. A text of so many values takes far longer.
    return _digest_of(marshal.dumps(values, 0))


def _digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _is_a_programs(value: Any) -> bool:
    """Return whether a class from elsewhere is a program's, or made of one of numba's."""
    if not isinstance(value, type) or not value.__flags__ & _HEAP_TYPE:
        return False
    return any(base.__module__.startswith(_HOMES) for base in value.__mro__) or not _is_installed(value.__module__)


@functools.cache
def _is_installed(module: str) -> bool:
    """Return whether a module is of an installed package: numba's modules import some that are optional."""
    file = file_of(sys.modules.get(module))
    return file is not None and bool(_PACKAGES & {*file.split(os.sep)})


def _has_names(kind: type) -> bool:
    """Return whether names identify the objects of a class: classes, and functions in C."""
    return issubclass(kind, type | BuiltinFunctionType)


@functools.cache
def _has_a_text(kind: Any) -> bool:
    """Return whether objects of a class of numba's have a repr of their own."""
    return kind.__module__.startswith(_HOMES) and kind.__repr__ is not object.__repr__


def _text_of(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # an object that is not complete
        let_through(error)
        return ""
    return "" if " at 0x" in text else text


_FOREIGN_FUNCTION: Any = type(ctypes.pythonapi.Py_IncRef).__base__
# Stands for the file of a program's value.
_FOREIGN = "<a program's>"
_code_of: Callable[[FunctionType], CodeType] = operator.attrgetter("__code__")
_file_of: Callable[[CodeType], str] = operator.attrgetter("co_filename")
_line_of: Callable[[CodeType], int] = operator.attrgetter("co_firstlineno")
_constants_of: Callable[[CodeType], tuple[object, ...]] = operator.attrgetter("co_consts")


@functools.cache
def _is_known(kind: type) -> bool:
    """Return whether objects of a class are not callable, or are of a class common in numba's modules."""
    called = any("__call__" in vars(base) for base in kind.__mro__)
    known = not called or issubclass(kind, type | ctypes._SimpleCData | _FOREIGN_FUNCTION) or kind in _WRAPPERS
    return known or kind is FunctionType or _is_home_of_classes(kind.__module__)


@functools.cache
def _is_home_of_classes(module: str) -> bool:
    return module.startswith((*_HOMES, "_cython_", "gridjit.compiler.", f"{_BESIDE}.")) or is_library(module)


def _generated(functions: Iterable[FunctionType]) -> Iterator[str]:
    """Yield the foreign file for a generated function that no library made: named tuples' methods are."""
    for function in functions:
        home = str(function.__globals__.get("__name__"))
        if not (is_library(home) or home.startswith("namedtuple_")):
            yield _FOREIGN


@functools.cache
def _is_at_home(file: str) -> bool:
    """Return whether the toolchain's versions stand for a file."""
    if file.startswith(("<frozen ", *_homes())):
        return True
    # Installed packages may be in a folder of Python's.
    return file.startswith(_PYTHONS) and not _PACKAGES & {*file.split(os.sep)}


@functools.cache
def _homes() -> tuple[str, ...]:
    # If colorama is installed, numba colours its errors by it; it takes names from no other such library.
    names = ("numba", "numba.cuda", "llvmlite", "numpy", "cuda.bindings", "gridjit.compiler", _BESIDE, "colorama")
    files = [file_of(sys.modules.get(name)) for name in names]
    return tuple(os.path.dirname(file) + os.sep for file in files if file)
