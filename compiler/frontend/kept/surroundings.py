"""Surroundings: all that a compile depends on which no question of the front end asks for, as one object to compare.

The target, numba's settings, what extensions registered, and numba-cuda's own code, which programs patch.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from gridjit.compiler.frontend.kept.plain import Mark
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.key.numba_settings import dumps, environment
from gridjit.compiler.key.registrations import Registration


class Surroundings:
    """What surrounds a compile; the same object for as long as all of it is the same."""

    def __init__(self, mark: Mark, registered: tuple[Registration, ...]) -> None:
        self.mark = mark
        # Keeps alive what the mark names by identity.
        self._registered = registered

    @property
    def allow_keeping(self) -> bool:
        """Whether callees may be kept: nothing registered can alter them unseen, and nothing is to be printed."""
        return all(one.stub for one in self._registered) and not dumps()

    @property
    def hold(self) -> bool:
        """Whether nothing was registered meanwhile."""
        return _registered_marks(all_registrations()) == _registered_marks(self._registered)


# What was met last, the newest at the end.
_known: list[Surroundings] = []
_MOST = 16
_owners: dict[int, list[Any]] = {}
# The values of numba's modules and classes, when they were last looked at.
_numbas: dict[int, tuple[object, ...]] = {}
_patched = 0


def surroundings(capability: tuple[Any, ...], boundscheck: bool) -> Surroundings:
    """Return what surrounds a compile that begins now; numba's own functions must be in place."""
    registered = all_registrations()
    mark = (capability, boundscheck, environment(), _config(), _registered_marks(registered), _patches())
    found = next((one for one in _known if one.mark == mark), None)
    if found is None:
        found = Surroundings(mark, registered)
        _known[:] = [*_known[1 - _MOST :], found]
    return found


def _registered_marks(registered: tuple[Registration, ...]) -> Mark:
    return tuple((one.kind, one.about, id(one.sources[0])) for one in registered)


def _config() -> Mark:
    """Return every setting of numba's as it stands, besides those that the environment was asked for."""
    modules = (sys.modules.get(name) for name in ("numba.core.config", "numba.cuda.core.config"))
    return tuple(
        (name, repr(value)) for one in modules if one is not None for name, value in vars(one).items() if name.isupper()
    )


def _patches() -> int:
    """Return a number that is another once a name of numba's modules or classes stands for something else."""
    global _patched
    now: dict[int, tuple[object, ...]] = {id(owner): tuple(vars(owner).values()) for owner in _numbas_owners()}
    if any(not _same(values, now.get(owner)) for owner, values in _numbas.items()):
        _patched += 1
    _numbas.update(now)
    return _patched


def _same(before: tuple[object, ...], now: tuple[object, ...] | None) -> bool:
    try:
        return bool(before == now)
    except Exception:  # arrays among them are compared item by item
        return False


def _numbas_owners() -> list[Any]:
    """Return numba-cuda's modules and their classes; collected again when a module was imported."""
    count = len(sys.modules)
    if count not in _owners:
        modules = [one for name, one in list(sys.modules.items()) if name.startswith("numba.cuda.")]
        modules = [one for one in modules if type(one) is ModuleType]
        classes = [
            value
            for one in modules
            for value in list(vars(one).values())
            if isinstance(value, type) and value.__module__ == one.__name__
        ]
        _owners.clear()
        _owners[count] = [*modules, *classes]
    return _owners[count]
