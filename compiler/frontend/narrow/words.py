"""words: modules of numba-cuda's that are left out until code names one of their words.

They hold libdevice's functions, vector types, and NumPy's functions and methods of whole arrays, as `np.sum`: 500
functions and 40 types. No other code uses them: each has a key of its own, in types as in implementations, but for `in`
and the methods of arrays, which are looked for by array's type. So a compile that names none of them is the same
without them.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from gridjit.compiler.frontend.faster.piece import Replace
from gridjit.compiler.numba_state.first_modules import WORDS as MODULES_OF_WORDS
from gridjit.compiler.numba_state.first_modules import note_what_is_not_imported


class Registries(NamedTuple):
    """A module's registries for contexts: of types, and of implementations; None where it has none."""

    typing: Any
    target: Any


class WordsModule(NamedTuple):
    """A module of words: its package, and the names of its registries."""

    package: str
    typing: str | None
    target: str | None


# The modules as numba-cuda's contexts name them, in the order in which they import them.
WORDS = {
    "libdevicedecl": WordsModule("numba.cuda", "registry", None),
    "vector_types": WordsModule("numba.cuda", "typing_registry", "impl_registry"),
    "polynomial": WordsModule("numba.cuda.np", None, "registry"),
    "arraymath": WordsModule("numba.cuda.np", None, "registry"),
}
# Methods of arrays that the modules type, or implement.
METHODS = frozenset(
    ("all", "allclose", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "var")
) | {"nonzero", "ptp", "sum"}  # NumPy 2 has no method ptp
# Where functions and types are from that are words, if types know nothing of them.
_HOMES = ("numpy", "numba.cuda.libdevice", "numba.cuda.np.")


class WordMetError(Exception):
    """Code names a word that is not loaded: the compile is to begin again with the modules."""


def registries_of_words() -> list[Registries]:
    """Return the modules' registries; they are imported."""
    note_what_is_not_imported()
    found = []
    for one, words in WORDS.items():
        module = importlib.import_module(f"{words.package}.{one}")
        found.append(Registries(*(name and getattr(module, name) for name in (words.typing, words.target))))
    return found


def are_words_imported() -> bool:
    """Return whether a program imported one of the modules, so that kernels may use it in any way."""
    return any(f"{words.package}.{one}" in sys.modules for one, words in WORDS.items())


def is_template_of_words(template: Any) -> bool:
    """Return whether a template class offers a function of one of the modules."""
    function = getattr(template, "_overload_func", None)
    return type(function) is FunctionType and function.__globals__.get("__name__", "").startswith(MODULES_OF_WORDS)


def stop_at_words(replace: Replace, are_left_out: Callable[[], bool], meet: Callable[[], None]) -> None:
    """Make type inference call meet() and raise WordMetError where code names a word, if words are left out then."""
    from numba.cuda import types
    from numba.cuda.typing.context import BaseContext

    def stop(word: object) -> None:
        if are_left_out():  # not in a compile inside this one
            meet()
            raise WordMetError(f"{word} is not loaded")

    def get_global_type(context: Any, value: Any) -> Any:
        found = global_type(context, value)
        if _is_word(value) if found is None else _is_lowered_as_word(value):
            stop(value)
        return found

    def resolve_getattr(context: Any, kind: Any, name: str) -> Any:
        if name in METHODS and isinstance(kind, types.Array):
            stop(name)
        return attribute(context, kind, name)

    def resolve_function_type(context: Any, function: Any, arguments: Any, keywords: Any) -> Any:
        asked = function is operator.contains or getattr(function, "typing_key", None) is operator.contains
        if asked and any(isinstance(one, types.Array) for one in arguments):
            stop("in")
        return call(context, function, arguments, keywords)

    global_type = replace(BaseContext, "_get_global_type", get_global_type)
    attribute = replace(BaseContext, "resolve_getattr", resolve_getattr)
    call = replace(BaseContext, "resolve_function_type", resolve_function_type)


def _is_word(value: Any) -> bool:
    """Return whether a value of which types know nothing may be a word."""
    if value is operator.matmul:
        return True
    kind = type(value)
    if not (kind in (FunctionType, BuiltinFunctionType) or issubclass(kind, type) or kind.__module__ == "numpy"):
        return False
    home = value.__globals__.get("__name__") if kind is FunctionType else getattr(value, "__module__", None)
    return (isinstance(home, str) and home.startswith(_HOMES)) or any(value is one for one in _vector_types())


def _is_lowered_as_word(value: object) -> bool:
    """Return whether types know a function whose implementation is in one of the modules."""
    return any(value is one for one in _lowered_as_words())


@functools.cache
def _lowered_as_words() -> tuple[object, ...]:
    import numpy

    return numpy.sum, numpy.nonzero


def _vector_types() -> list[Any]:
    stubs: Any = importlib.import_module("numba.cuda.stubs")
    found: list[Any] = stubs._vector_type_stubs
    return found
