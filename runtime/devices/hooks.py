"""The functions that an artifact calls: found by name, or made again, in the process that loads it.

Nothing is unpickled. Code comes from the modules that a hook names; a cache can add only plain values. Only modules of
packages that the program has imported are used: the hooks of a kernel's libraries are in those libraries, and data from
a disk must not cause any other import.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from gridjit.compiler.hooks.hook import Hook, Plain
from gridjit.compiler.values.artifact import ModuleCallbacks
from gridjit.compiler.values.footprint import Effects


def resolve(hooks: tuple[Hook, ...]) -> tuple[Callable[..., Any], ...] | None:
    """Return the functions of hooks, or None if one cannot be made: the artifact is then unusable."""
    found = tuple(_function(hook) for hook in hooks)
    return None if None in found else tuple(function for function in found if function is not None)


def resolve_module(effects: Effects) -> ModuleCallbacks | None:
    """Return the setup and teardown callbacks of effects, or None if one cannot be made."""
    setup, teardown = resolve(effects.setup), resolve(effects.teardown)
    return None if setup is None or teardown is None else ModuleCallbacks(setup=setup, teardown=teardown)


def _function(hook: Hook) -> Callable[..., Any] | None:
    try:
        value = _made(hook)
    except (Exception, SystemExit):  # a module may fail in any way while it is imported, and even end the process
        return None
    return value if callable(value) else None


def _made(hook: Hook) -> Any:
    module = _module(hook.module)
    if hook.code:
        value = _nested(module, hook)
    elif hook.instance is not None:
        value = _bound(module, hook)
    else:
        value = _attribute(module, hook.qualname)
        # A hook names its function by the place of its definition.
        if (getattr(value, "__module__", None), getattr(value, "__qualname__", None)) != (hook.module, hook.qualname):
            raise LookupError(f"{hook} has changed")
    return functools.partial(value, *map(_plain, hook.arguments)) if hook.arguments else value


def _nested(module: ModuleType, hook: Hook) -> Any:
    from gridjit.compiler.hooks.description import code_in

    code = code_in(module, hook.qualname, hook.code)
    if code is None or len(hook.cells) != len(code.co_freevars):
        raise LookupError(f"{hook} has changed")
    cells = tuple(CellType(_plain(value)) for value in hook.cells)
    made = FunctionType(code, vars(module), code.co_name, tuple(map(_plain, hook.defaults)) or None, cells)
    made.__qualname__ = hook.qualname
    made.__kwdefaults__ = {name: _plain(value) for name, value in hook.keywords} or None
    return made


def _bound(module: ModuleType, hook: Hook) -> MethodType:
    """Return a method of an object made of its attributes alone, if its class is a class of plain objects."""
    from gridjit.compiler.hooks.description import is_plain_class

    owner, _, name = hook.qualname.rpartition(".")
    cls = _attribute(module, owner)
    method = getattr(cls, name)
    if not is_plain_class(cls) or type(method) is not FunctionType:
        raise LookupError(f"{hook} has changed")
    instance = object.__new__(cls)
    vars(instance).update({name: _plain(value) for name, value in hook.instance or ()})
    return MethodType(method, instance)


def _module(name: str) -> ModuleType:
    """Return a module of an imported package; raises LookupError if the program never named the package."""
    if name.partition(".")[0] not in sys.modules:
        raise LookupError(f"{name} belongs to a package that is not imported")
    return importlib.import_module(name)


def named(module: str, qualname: str) -> Any:
    """Return the value of a qualified name in a module of an imported package; None if it cannot be found."""
    try:
        return _attribute(_module(module), qualname)
    except (Exception, SystemExit):  # a module may fail in any way while it is imported, and even end the process
        return None


def _attribute(value: Any, qualname: str) -> Any:
    for name in qualname.split("."):
        value = getattr(value, name)
    return value


def _plain(value: Plain) -> Any:
    """Return a plain value with the functions in it made again."""
    if isinstance(value, Hook):
        return _made(value)
    if isinstance(value, tuple | list):
        return type(value)(_plain(item) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
