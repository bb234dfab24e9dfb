"""ValuePath: how to get from a kernel to a value that its code took, in any process.

`("global settings", "attribute TILE")` is what `settings.TILE` gives in the kernel. A path begins at the kernel's
function, or at an imported module where the kernel itself does not lead there: `("module plugin", "attribute TILE")`.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType, FunctionType
from typing import Any, TypeAlias

from gridjit.compiler.key.source.objects import function_of

ValuePath: TypeAlias = tuple[str, ...]

# What a path leads to where there is nothing.
MISSING = object()
_HIDDEN = frozenset(("function",))


def follow(path: Sequence[str], function: Callable[..., Any] | None) -> object:
    """Return what path leads to from a kernel's function today; MISSING where it leads nowhere."""
    value: object = function_of(function)
    for step in path:
        try:
            kind, _, name = step.partition(" ")
            value = _STEPS[kind](value, name)
        except Exception:  # a module's or a class's own __getattr__ may raise anything
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def shown(path: Sequence[str]) -> str:
    """Return a path as people write it: settings.TILE, or TILE in helpers.clip."""
    words = ""
    for step in path:
        kind, _, name = step.partition(" ")
        if kind in _HIDDEN:
            continue
        words = _joined(words, kind, name)
    return words


def _joined(words: str, kind: str, name: str) -> str:
    if not words or kind == "module":
        return name
    if kind == "attribute":
        return f"{words}.{name}"
    return f"{words}[{name}]" if kind in ("item", "key") else f"{name} in {words}"


def global_of(function: FunctionType, name: str) -> object:
    """Return what name stands for in a function's module, as the compiler looks it up."""
    found = function.__globals__.get(name, MISSING)
    return getattr(builtins, name, MISSING) if found is MISSING else found


def cell_value(cell: CellType) -> object:
    """Return what a closure's variable holds; MISSING before it was given a value."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def default_values(function: FunctionType) -> dict[str, object]:
    """Return the default values of a function's parameters, by name."""
    code = function.__code__
    values = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    return {
        **dict(zip(positional[len(positional) - len(values) :], values, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def _free(function: Any, name: str) -> object:
    return cell_value(dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))[name])


def _attribute(owner: Any, name: str) -> object:
    return getattr(owner, name, MISSING)


def _item(owner: Any, name: str) -> object:
    return owner[int(name)] if isinstance(owner, Sequence) else list(owner.values())[int(name)]


def _key(owner: Any, name: str) -> object:
    return owner.get(name, MISSING)


def _default(function: Any, name: str) -> object:
    return default_values(function).get(name, MISSING)


_STEPS: Mapping[str, Callable[[Any, str], object]] = {
    "module": lambda _, name: sys.modules.get(name, MISSING),
    "global": global_of,
    "free": _free,
    "attribute": _attribute,
    "item": _item,
    "key": _key,
    "default": _default,
    "function": lambda value, _: function_of(value) or MISSING,
}
