"""Pickles of kernels and device functions: their module and name if these lead to them, else their whole content.

The second needs numba's serializer, which takes functions apart; it is imported for them alone. The cache reads no
pickles, neither of these nor of any other kind.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def reduced(value: Any, function: Callable[..., Any], make: Callable[..., Any], *parts: Any) -> Reduced:
    """Return, as __reduce__ does, how to find value by its function's name, or to make it: make(function, *parts)."""
    module, name = function.__module__, function.__qualname__
    if "<locals>" not in name and module not in _for.absent and _named(module, name) is value:
        return _named, (module, name)
    from gridjit.compiler.frontend.serializer import dumps

    return _made, (dumps((make, (function, *parts))),)


def reduced_kernel(kernel: Kernel) -> Reduced:
    """Return how to find a kernel, or to make one like it, as it was jitted, marked and declared."""
    return reduced(kernel, kernel.py_func, _kernel, type(kernel), kernel.options, kernel._settings, _state(kernel))


def reduced_as(kernel: Kernel, kind: type[Kernel]) -> Reduced:
    """Return how to make a kernel like it of another kind; no name leads to it."""
    from gridjit.compiler.frontend.serializer import dumps

    return _made, (dumps((_kernel, (kernel.py_func, kind, kernel.options, kernel._settings, _state(kernel)))),)


def _state(kernel: Kernel) -> dict[str, Any]:
    return {"marks": kernel.marks, "declared": kernel.declared, "specialized": kernel.specialized}


class _For(threading.local):
    """Whom a thread pickles for. absent: names of modules that are not there, or others, where it is read."""

    absent: tuple[str, ...] = ()


_for = _For()


def pickled_for_others(kernel: Kernel, absent: tuple[str, ...]) -> bytes:
    """Return a kernel's pickle for a process that has other modules of the absent names: nothing goes by those."""
    import pickle  # few processes hand anything over

    _for.absent = absent
    try:
        return pickle.dumps(kernel)
    finally:
        _for.absent = ()


def _kernel(function: Callable[..., Any], kind: Any, options: Any, settings: dict[str, Any], state: Any) -> Any:
    """Return a kernel that was pickled with its code."""
    made = kind(function, options, **settings)
    vars(made).update(state)
    return made


def _made(data: bytes) -> Any:
    from gridjit.compiler.frontend.serializer import loads

    make, parts = loads(data)
    return make(*parts)


def _named(module: str, qualname: str) -> Any:
    """Return what a module has under a name, None if nothing."""
    try:
        found: Any = sys.modules.get(module) or importlib.import_module(module)
    except ImportError:
        return None
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found
