"""The functions and classes that names of installed modules stand for, as one text that changes if one is replaced.

A program may replace a library's function, or a method of its class. The library's own code is identified by its name
and module. The user's own code is followed, since it runs while kernels are compiled.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType

from gridjit.base.digests import utf8
from gridjit.compiler.key.fingerprint import fingerprint_values
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.source.objects import OpaqueValue
from gridjit.compiler.source.scalars import scalar_text

# The text for a module that is not imported: its own code will define its names.
NOT_LOADED = "not loaded"
# Behind a class's name: its methods.
METHODS = "."
_METHODS = (FunctionType, staticmethod, classmethod, property)


def code_text(value: object) -> str:
    """Return a text that differs for all that a name could stand for; raises OpaqueValue."""
    if isinstance(value, FunctionType):
        return _function_text(value)
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__}"
    if isinstance(value, BuiltinFunctionType):
        return f"builtin {value.__module__}.{value.__qualname__}"
    if isinstance(value, functools.partial):
        return f"partial {code_text(value.func)} {_plain(value.args)} {_plain(value.keywords)}"
    return f"{type(value).__module__}.{type(value).__qualname__} object"


def methods_text(cls: type) -> str:
    """Return a text of a class's methods; raises OpaqueValue."""
    return " ".join(f"{name} {_method_text(item)}" for name, item in _methods(cls))


def names_text(module: str, names: Iterable[str]) -> str:
    """Return the digest of the code under names of a module today; raises OpaqueValue.

    A name that ends in a dot is a class's, whose methods count.
    """
    if module not in sys.modules:
        return NOT_LOADED
    return digest_fields(utf8(f"{name} {name_text(module, name)}") for name in names)


def name_text(module: str, name: str) -> str:
    """Return the text of the code under a name of a loaded module today; raises OpaqueValue."""
    found: object = sys.modules.get(module)
    for part in name.removesuffix(METHODS).split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return methods_text(found) if name.endswith(METHODS) and isinstance(found, type) else code_text(found)


def name_now(module: str, name: str) -> str | None:
    """Return the text of the code under a name of a module today, or None if it is unknown."""
    try:
        return name_text(module, name)
    except OpaqueValue:
        return None


def unseen_code(module: str, name: str) -> str:
    """Return why a name stands for code of the user's that cannot be followed; "" if it does not."""
    try:
        name_text(module, name)
    except OpaqueValue as error:
        return f"{module}.{name.removesuffix(METHODS)} holds the user's code: {error}"
    return ""


def users_text(name: str, value: object) -> str:
    """Return the text of the user's code, found under a name of installed code; raises OpaqueValue."""
    found = fingerprint_values([(name, value)], running=True)
    if found.opaque:
        raise OpaqueValue(f"{name} is the user's code: {found.opaque[0]}")
    return f"the user's code {found.digest}"


def _methods(cls: type) -> Iterator[tuple[str, object]]:
    return ((name, item) for name, item in sorted(vars(cls).items()) if isinstance(item, _METHODS))


def _method_text(item: object) -> str:
    if isinstance(item, property):
        return f"property {_method_text(item.fget)}"
    inner = getattr(item, "__func__", item)
    return code_text(inner)


def _function_text(function: FunctionType) -> str:
    home = str(function.__globals__.get("__name__"))
    if not _is_users(function, home):
        return f"{home}.{function.__qualname__}"
    return users_text(function.__qualname__, function)


def _is_users(function: FunctionType, home: str) -> bool:
    # A library's code made with exec has no file.
    is_somebodys = home == "__main__" or "__file__" in function.__globals__
    return is_somebodys and not is_library(home) and owner_of(function) is None


def _plain(values: object) -> str:
    items = [part for pair in values.items() for part in pair] if isinstance(values, dict) else values
    texts = (scalar_text(item) or f"{type(item).__qualname__}" for item in items)  # type: ignore[attr-defined]
    return ", ".join(texts)
