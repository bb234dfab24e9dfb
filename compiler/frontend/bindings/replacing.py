"""replacing: a compile's changes of numba-cuda, and how all of them are undone.

Guarded by numba's lock. Each change can be undone alone, and even twice. So if a compile is cut short anywhere, by an
interrupt or by a fork in another thread, the next compile can undo its changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gridjit.compiler.source.objects import MISSING

# Functions that undo the changes of the running compile and of the compiles around it, in their order.
_changes: list[Callable[[], object]] = []


@dataclass(frozen=True, slots=True)
class _Replaced:
    """An attribute that a compile set, and its former value; MISSING if the owner had none. A call undoes it."""

    owner: Any
    name: str
    original: Any

    def __call__(self) -> None:
        if self.original is not MISSING:
            setattr(self.owner, self.name, self.original)
        elif self.name in vars(self.owner):
            delattr(self.owner, self.name)


def replace(owner: Any, name: str, value: Any) -> Any:
    """Set an attribute of owner until the change is undone, and return its former value, perhaps a base class's."""
    original = _held(owner, name)
    put(owner, name, value)
    return original


def _held(owner: Any, name: str) -> Any:
    """Return inspect.getattr_static's result in less time: mostly a class or a module has the name itself."""
    kind = type(owner)
    if kind is type or (kind is ModuleType and not hasattr(ModuleType, name)):
        found = vars(owner).get(name, MISSING)
        if found is not MISSING:
            return found
    return inspect.getattr_static(owner, name)


def put(owner: Any, name: str, value: Any) -> None:
    """Set an attribute of owner, which may have none of that name, until the change is undone."""
    on_undo(_Replaced(owner, name, vars(owner).get(name, MISSING)))
    setattr(owner, name, value)


def originals() -> Mapping[int, Mapping[str, Any]]:
    """Return the replaced attributes' values before all changes, by the identity of their owners and by name."""
    found: dict[int, dict[str, Any]] = {}
    for one in _changes:
        if isinstance(one, _Replaced):
            found.setdefault(id(one.owner), {}).setdefault(one.name, one.original)
    return found


def on_undo(undo: Callable[[], object]) -> None:
    """Call undo when the changes made until now are undone."""
    _changes.append(undo)


def changes_now() -> int:
    """Return how many changes there are. undo_to(this number) undoes the changes made from now on."""
    return len(_changes)


def undo_to(start: int) -> None:
    """Undo all changes except the first `start`, the last one first."""
    while len(_changes) > start:
        _changes[-1]()
        del _changes[-1]
