"""ValuePath: how to get from a kernel to a value that its code took, in any process.

`("global settings", "attribute TILE")` leads to the value of `settings.TILE`. A path begins at the kernel's function,
or at an imported module if the kernel does not lead there: `("module plugin", "attribute TILE")`.
"""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeAlias

from gridjit.base.interrupts import let_through
from gridjit.compiler.source.objects import MISSING, cell_value, defaults_of, function_of

ValuePath: TypeAlias = tuple[str, ...]

# Steps without words in a shown path.
_HIDDEN = frozenset(("function", "namespace"))
_SAME = "same"


def follow(path: Sequence[str], function: Callable[..., Any] | None) -> object:
    """Return the value at the end of path today, from a kernel's function; MISSING if it leads nowhere."""
    value: object = function_of(function)
    for step in path:
        try:
            kind, _, name = step.partition(" ")
            value = value is follow(json.loads(name), function) if kind == _SAME else _STEPS[kind](value, name)
        except Exception as error:  # a module's or a class's own __getattr__ may raise anything
            let_through(error)
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def same_as(path: ValuePath) -> str:
    """Return the step that leads to whether a path leads to the very object that another one does."""
    return f"{_SAME} {json.dumps(path)}"


def shown(path: Sequence[str]) -> str:
    """Return a path as people write it: settings.TILE, or TILE in helpers.clip."""
    words = ""
    for step in path:
        kind, _, name = step.partition(" ")
        if kind in _HIDDEN:
            continue
        words = f"{words} is {shown(json.loads(name)) or 'the kernel'}" if kind == _SAME else _joined(words, kind, name)
    return words


def _joined(words: str, kind: str, name: str) -> str:
    if not words or kind == "module":
        return name
    if kind == "attribute":
        return f"{words}.{name}"
    return f"{words}[{name}]" if kind in ("item", "key") else f"{name} in {words}"


def global_of(function: FunctionType, name: str) -> object:
    """Return the value of a global name in a function, as the compiler looks it up."""
    found = function.__globals__.get(name, MISSING)
    return getattr(builtins, name, MISSING) if found is MISSING else found


def _free(function: Any, name: str) -> object:
    return cell_value(dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))[name])


def _attribute(owner: Any, name: str) -> object:
    return getattr(owner, name, MISSING)


def _item(owner: Any, name: str) -> object:
    return owner[int(name)] if isinstance(owner, Sequence) else list(owner.values())[int(name)]


def _key(owner: Any, name: str) -> object:
    return owner.get(name, MISSING)


def _default(function: Any, name: str) -> object:
    return defaults_of(function).get(name, MISSING)


_STEPS: Mapping[str, Callable[[Any, str], object]] = {
    "module": lambda _, name: sys.modules.get(name, MISSING),
    "global": global_of,
    "free": _free,
    "attribute": _attribute,
    "item": _item,
    "key": _key,
    "default": _default,
    "namespace": lambda function, _: function.__globals__,
    "function": lambda value, _: function_of(value) or MISSING,
}
