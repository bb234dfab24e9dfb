"""Objects: their attributes and closures, the function that a wrapper stands for, and why a value is opaque."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from types import CellType, FunctionType, MethodType
from typing import Any, TypeGuard, TypeVar

from gridjit.base.interrupts import let_through

MISSING = object()
_NO_STATE = ("__weakref__", "__dict__")
_CONTENTS: Callable[[CellType], object] = operator.attrgetter("cell_contents")


def attributes_of(value: object) -> list[object]:
    """Return the names and values of an object's attributes, by name, without calling its class."""
    held = state_of(value)
    return [part for name in sorted(held) for part in (name, held[name])]


def state_of(value: object) -> dict[str, object]:
    """Return the attributes in an object's dictionary and slots, by name, without calling its class."""
    held: dict[str, object] = dict(getattr(value, "__dict__", None) or {})
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in _NO_STATE:
                mangled = f"_{cls.__name__.lstrip('_')}{name}"
                hidden = name.startswith("__") and not name.endswith("__")
                held[name] = _slot(value, mangled if hidden else name)
    return held


def _slot(value: object, name: str) -> object:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def cell_value(cell: CellType) -> object:
    """Return the value of a closure's variable; MISSING before it has one."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def cell_values(cells: Iterable[CellType]) -> list[object]:
    """Return the values of closures' variables; MISSING for a variable without a value."""
    cells = [*cells]
    try:
        return [*map(_CONTENTS, cells)]
    except ValueError:
        return [*map(cell_value, cells)]


def closure_of(function: FunctionType) -> dict[str, object]:
    """Return the values in a function's closure, by name, without the variables that have no value yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: value for name, cell in cells if (value := cell_value(cell)) is not MISSING}


def defaults_of(function: FunctionType) -> dict[str, object]:
    """Return the default values of a function's parameters, by name."""
    code = function.__code__
    values = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    return {
        **dict(zip(positional[len(positional) - len(values) :], values, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def function_of(value: object) -> FunctionType | None:
    """Return the Python function that value is or stands for, or None."""
    for _ in range(100):
        if value is None or type(value) is FunctionType:
            return value
        value = wrapped_in(value)
    return None


def code_behind(value: object) -> object:
    """Return the function that a method, a partial or a dispatcher calls; anything else is returned as it is."""
    for _ in range(100):
        if isinstance(value, functools.partial):
            value = value.func
        elif type(value) is MethodType:
            value = value.__func__
        elif isinstance(value, type) or (wrapped := function_of(value)) is None:
            break
        else:
            return wrapped
    return value


def wrapped_in(value: object) -> object:
    """Return the value of a wrapper's `py_func` or `__wrapped__`, or None if it has neither.

    Proxies and mocks answer every name with another of their kind, so only a function is taken from them.
    """
    for name in ("py_func", "__wrapped__"):
        try:
            found = object.__getattribute__(value, name)
        except Exception as error:
            let_through(error)
            found = _attribute(value, name) if hasattr(type(value), "__getattr__") else None
            found = found if type(found) is FunctionType else None
        if found is not None:
            return found
    return None


def options_of(dispatcher: object) -> dict[str, object]:
    """Return the options that numba-cuda's function was made with, and the signatures if it declares any."""
    return {**(_attribute(dispatcher, "targetoptions") or {}), **_declared(dispatcher)}


def _declared(value: object) -> dict[str, object]:
    # Signatures that are not declared come and go with calls of the function.
    if _attribute(value, "_can_compile") is not False:
        return {}
    found = (_attribute(value, "overloads") or {}).items()
    return {"declared": tuple(f"{_attribute(one, 'signature')} {arguments}" for arguments, one in found)}


def _attribute(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception as error:
        # A user's property may raise anything; then the value does not stand for a function.
        let_through(error)
        return None


_T = TypeVar("_T")


class OpaqueValue(Exception):
    """A value that cannot be fingerprinted; the message completes the sentence "global 'x' of f ..."."""


def unseen(value: object) -> OpaqueValue:
    """Return the error for an object of a class that gridjit knows nothing about."""
    return OpaqueValue(f"is {article(value)} object, whose contents gridjit cannot see")


def article(value: object) -> str:
    """Return an object's class with its article: a Model, an Object."""
    name = type(value).__qualname__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def type_name(cls: type) -> str:
    """Return a class's name as people write it: stats.Model, int."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def of_kind(value: object, kind: type[_T]) -> TypeGuard[_T]:
    """Return whether value is of a class. It is not asked itself: proxies and mocks claim to be others, or raise."""
    return issubclass(type(value), kind)
