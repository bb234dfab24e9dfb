"""words: numba-cuda's modules of libdevice's functions and of vector types, left out until code names one of these.

They declare 355 functions and 40 types, each for itself: no operator, and no function or type of another module, is
treated otherwise without them. So they may be loaded at any time, and their order does not count.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from gridjit.compiler.frontend.faster.piece import Replace


class Registries(NamedTuple):
    """What a module gives to contexts: its registry of types, and that of implementations; None where it has none."""

    typing: Any
    target: Any


# The modules as numba-cuda's contexts name them, each with the names of its registries.
WORDS = {"libdevicedecl": ("registry", None), "vector_types": ("typing_registry", "impl_registry")}


class WordMetError(Exception):
    """Code names such a function or type: the compile is to begin again with them."""


def registries_of(module: ModuleType | Any, names: tuple[str, str | None]) -> Registries:
    """Return a module's registries by their names."""
    return Registries(*(None if name is None else getattr(module, name) for name in names))


def registries_of_words() -> list[Registries]:
    """Return the modules' registries; they are imported."""
    return [registries_of(importlib.import_module(f"numba.cuda.{one}"), names) for one, names in WORDS.items()]


def are_words_imported() -> bool:
    """Return whether a program imported the vector types, so that kernels may have arguments of these."""
    return "numba.cuda.vector_types" in sys.modules


def stop_at_words(replace: Replace, meet: Callable[[], None]) -> None:
    """Have type inference call meet() and raise WordMetError where code names a function or a type of these."""
    from numba.cuda.typing.context import BaseContext

    def get_global_type(context: Any, value: Any) -> Any:
        found = original(context, value)
        if found is None and _is_word(value):
            meet()
            raise WordMetError(f"{value.__name__} is not loaded")
        return found

    original = replace(BaseContext, "_get_global_type", get_global_type)


def _is_word(value: object) -> bool:
    if type(value) is FunctionType:
        return value.__globals__.get("__name__") == "numba.cuda.libdevice"
    return isinstance(value, type) and value in importlib.import_module("numba.cuda.stubs")._vector_type_stubs
