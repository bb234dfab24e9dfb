"""The functions that an artifact wants called: found again by name in the process that loads it."""

from __future__ import annotations

import functools
import importlib
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
    try:
        value: Any = importlib.import_module(hook.module)
        for name in hook.qualname.split("."):
            value = getattr(value, name)
    except Exception:  # a module may fail in any way while it is imported
        return None
    if not callable(value):
        return None
    return functools.partial(value, *hook.arguments) if hook.arguments else value
