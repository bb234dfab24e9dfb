"""The functions that an artifact wants called: found again by name in the process that loads it.

Only in packages that the program has imported: what a kernel's libraries hook in is theirs, and what was read from a
disk must not have anything else imported.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from gridjit.compiler.footprint import Effects, Hook
from gridjit.runtime.devices.base import ModuleCallbacks


def resolve(hooks: tuple[Hook, ...]) -> tuple[Callable[..., Any], ...] | None:
    """Return the functions that hooks name, or None if one cannot be imported: the artifact is then of no use."""
    found = tuple(_function(hook) for hook in hooks)
    return None if None in found else tuple(function for function in found if function is not None)


def resolve_module(effects: Effects) -> ModuleCallbacks | None:
    """Return the setup and teardown callbacks that effects name, or None if one cannot be imported."""
    setup, teardown = resolve(effects.setup), resolve(effects.teardown)
    return None if setup is None or teardown is None else ModuleCallbacks(setup=setup, teardown=teardown)


def _function(hook: Hook) -> Callable[..., Any] | None:
    value = named(hook.module, hook.qualname)
    # What is hooked in is named by where it was made, as importable_hook does.
    if not callable(value) or (getattr(value, "__module__", None), getattr(value, "__qualname__", None)) != (
        hook.module,
        hook.qualname,
    ):
        return None
    return functools.partial(value, *hook.arguments) if hook.arguments else value


def named(module: str, qualname: str) -> Any:
    """Return what a qualified name stands for in a module of a package that is imported; None if it cannot be had."""
    if module.partition(".")[0] not in sys.modules:
        return None
    try:
        value: Any = importlib.import_module(module)
        for name in qualname.split("."):
            value = getattr(value, name)
    except (Exception, SystemExit):  # a module may fail in any way while it is imported, and even end the process
        return None
    return value
