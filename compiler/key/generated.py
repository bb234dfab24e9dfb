"""generated: functions that exec made in a namespace of its own, which no file has, and whose code made them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from gridjit.compiler.key.installed import Distribution, distribution_of_file, owner_of
from gridjit.compiler.key.source.libraries import is_library, is_librarys, name_of_module
from gridjit.compiler.key.source.objects import closure_of, code_behind

_PLAIN = (str, bytes, int, float, complex, type(None), CodeType)


def is_generated(value: Any) -> bool:
    """Return whether exec made a function, or all methods of a class, in a namespace that is not a user's module's."""
    if isinstance(value, type):
        functions = [one for one in vars(value).values() if isinstance(one, FunctionType)]
        return bool(functions) and all(map(is_generated, functions))
    if not isinstance(value, FunctionType):
        return False
    file, home = value.__globals__.get("__file__"), sys.modules.get(str(value.__globals__.get("__name__")))
    is_modules = isinstance(home, ModuleType) and vars(home) is value.__globals__
    return not is_modules and (file is None or distribution_of_file(file) is not None)


def generator_of(value: object) -> Distribution | None:
    """Return the distribution that had a function generated: the only one whose code the function can reach.

    None for functions that are not generated, and for those that hold an object which may be of the user's.
    """
    found = code_behind(value)
    if not isinstance(found, FunctionType) or not is_generated(found):
        return None
    owners = set(_owners(found))
    return owners.pop() if len(owners) == 1 else None


def _owners(function: FunctionType) -> Iterator[Distribution | None]:
    """Yield whose the objects are that a function's namespace and closure hold, without Python's and numba's code."""
    held = {**function.__globals__, **closure_of(function)}
    for value in (code_behind(one) for name, one in held.items() if name != "__builtins__"):
        if isinstance(value, type | FunctionType) and is_librarys(value):
            continue
        if isinstance(value, ModuleType | BuiltinFunctionType) and is_library(_module(value)):
            continue
        if value is not function and type(value) not in _PLAIN:
            yield owner_of(value)


def _module(value: ModuleType | BuiltinFunctionType) -> str:
    return name_of_module(value) if isinstance(value, ModuleType) else str(value.__module__)
