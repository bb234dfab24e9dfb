"""Types that extensions of numba made: as arguments of kernels, and as items of arrays."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from gridjit.compiler.key.argument_classes import held_by_functions
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.key.registrations import registrations
from gridjit.compiler.source.objects import type_name
from gridjit.compiler.source.scalars import scalar_text
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.signature import ForeignType

_OWN = ("numba.core.", "numba.np.", "numba.cuda.types", "numba.cuda.core.", "numba.cuda.np.")
_INTEGERS = {1: "?", 8: "b", 16: "h", 32: "i", 64: "q"}


def is_foreign(numba_type: Any) -> bool:
    """Return whether a type is an extension's rather than numba's own; a reference to a type counts as foreign."""
    from numba.cuda import types

    return isinstance(numba_type, types.TypeRef) or not str(type(numba_type).__module__).startswith(_OWN)


def foreign_item(numba_type: Any) -> ForeignType:
    """Return an extension's type as the type of an array's items."""
    key = _key_text(numba_type)
    name = f"{type_name(type(numba_type))} {numba_type}" if key is None else key
    held = "" if _is_named(type(numba_type)) else _made_with(type(numba_type))
    return ForeignType(name=f"{name} made with {held}" if held else name, numba=numba_type, unseen=_unseen(key, held))


def _unseen(key: str | None, held: str | None) -> str:
    """Return why a type's name does not identify the type; empty if it does.

    Its class and data model are in the key of every kernel, like all that is registered with numba. A class that a
    function of an installed library made is identified by the library and the plain values that it was made with.
    """
    if held is None:
        return "has a class that its module does not have under that name"
    return "has a key that holds more than types, numbers and strings" if key is None else ""


def _is_named(python: type) -> bool:
    """Return whether a class's module has it under its name."""
    found: Any = sys.modules.get(python.__module__)
    for name in python.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is python


def _made_with(python: type) -> str | None:
    """Return the plain values that a class was made with in a function of an installed library.

    None if these do not tell it from every other class: if it is the user's own, holds something else, or was
    registered beside another that looks the same.
    """
    if owner_of(python) is None or (text := _held_text(python)) is None:
        return None
    models = [source for one in registrations() if one.kind == "data model" for source in one.sources]
    alike = {one for one in models if isinstance(one, type) and type_name(one) == type_name(python)}
    return text if {one for one in alike if _held_text(one) == text} <= {python} else None


def _held_text(python: type) -> str | None:
    """Return the text of the plain values that a class's functions hold; None if they hold other values."""
    held = held_by_functions(python)
    return None if held is None else ", ".join(f"{name}={scalar_text(value)}" for name, value in sorted(held.items()))


def _key_text(value: Any) -> str | None:
    """Return the key by which numba compares a type as text, or None if text cannot say all of it."""
    from numba.cuda import types

    if value is None or type(value) in (str, int, float, bool):
        return repr(value)
    if type(value) is tuple:
        parts = [_key_text(part) for part in value]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if not isinstance(value, types.Type):
        return None
    key = _key_text(value.key)
    return None if key is None else f"{type_name(type(value))} {key}"


def foreign_argument(numba_type: Any) -> ForeignType:
    """Return an extension's type as an argument's; raises ConfigError if kernels cannot take one."""
    from numba.cuda.descriptor import cuda_target

    try:
        model = cuda_target.target_context.data_model_manager[numba_type]
        codes = _codes(model.get_argument_type())
    except (KeyError, NotImplementedError) as error:
        raise ConfigError(
            f"argument type {numba_type} is not supported: no data model says how it is passed"
        ) from error
    opaque = not codes or any(base.__name__ == "OpaqueModel" for base in type(model).__mro__)
    return replace(foreign_item(numba_type), codes=codes, opaque=opaque)


def _codes(llvm_type: Any) -> str:
    """Return the struct codes of the values that are passed for a data model."""
    from llvmlite import ir

    match llvm_type:
        case tuple() | list():
            return "".join(map(_codes, llvm_type))
        case ir.PointerType():
            return "P"
        case ir.IntType() if llvm_type.width in _INTEGERS:
            return _INTEGERS[llvm_type.width]
        case ir.FloatType():
            return "f"
        case ir.DoubleType():
            return "d"
    raise NotImplementedError(llvm_type)
