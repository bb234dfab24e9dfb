"""Objects: what an object of a Python class holds, and the function that one stands for, as dispatchers do."""

from __future__ import annotations

from types import FunctionType
from typing import Any

_NO_STATE = ("__weakref__", "__dict__")


def attributes_of(value: object) -> list[object]:
    """Return the names and values of what an object holds, by name; nothing of its class is called."""
    held = state_of(value)
    return [part for name in sorted(held) for part in (name, held[name])]


def state_of(value: object) -> dict[str, object]:
    """Return what an object holds in its dictionary and in its slots, by name; nothing of its class is called."""
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


def function_of(value: object) -> FunctionType | None:
    """Return the Python function that value is or stands for, or None."""
    for _ in range(100):
        if value is None or type(value) is FunctionType:
            return value
        value = wrapped_in(value)
    return None


def wrapped_in(value: object) -> object:
    """Return what a wrapper has under `py_func` or `__wrapped__`, None if it has neither.

    Proxies and mocks answer every name with another of their kind: from those nothing but a function is taken.
    """
    for name in ("py_func", "__wrapped__"):
        try:
            found = object.__getattribute__(value, name)
        except Exception:
            found = _attribute(value, name) if hasattr(type(value), "__getattr__") else None
            found = found if type(found) is FunctionType else None
        if found is not None:
            return found
    return None


def options_of(dispatcher: object) -> dict[str, object]:
    """Return the options that numba-cuda's function was made with, and the signatures if it declares any."""
    return {**(_attribute(dispatcher, "targetoptions") or {}), **_declared(dispatcher)}


def _declared(value: object) -> dict[str, object]:
    # Signatures that were not declared come and go with the function's calls.
    if _attribute(value, "_can_compile") is not False:
        return {}
    found = (_attribute(value, "overloads") or {}).items()
    return {"declared": tuple(f"{_attribute(one, 'signature')} {arguments}" for arguments, one in found)}


def _attribute(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:
        # A user's property may raise anything; then the value does not stand for a function.
        return None
