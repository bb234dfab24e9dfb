"""Surroundings: everything that a compile depends on without the front end asking for it, as one object to compare.

The target, numba's settings, what extensions registered, and numba's own code, which programs patch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.kept.plain import ValueMark, is_of_plain_types
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.key.numba_settings import affects_code, dumps, environment
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.numba_state.mark import NOTHING, SETTINGS, Originals, numbas_mark, numbas_own_text
from gridjit.compiler.source.libraries import is_library


class Surroundings:
    """The surroundings of a compile; the same object for as long as all of them are the same.

    told: the target, boundscheck and numba's modules as a text that is the same in another process; None if a
    program's own code stands in numba's place.
    """

    def __init__(self, mark: ValueMark, registered: tuple[Registration, ...], tell: Callable[[], str | None]) -> None:
        self.mark = mark
        # Keeps objects alive that the mark holds by identity.
        self._registered = registered
        self._tell = tell

    @property
    def told(self) -> str | None:
        return self._tell()

    @property
    def allow_keeping(self) -> bool:
        """Whether callees may be kept."""
        return allow_keeping(self._registered)

    @property
    def hold(self) -> bool:
        """Whether nothing was registered meanwhile."""
        return _registered_marks(all_registrations()) == _registered_marks(self._registered)


def allow_keeping(registered: Iterable[Registration]) -> bool:
    """Return whether callees may be kept: nothing registered can alter them unseen, and nothing is to be printed."""
    return all(one.stub or is_apart(one) for one in registered) and not dumps()


# The last surroundings, the newest at the end.
_known: list[Surroundings] = []
_MOST = 16


def surroundings(capability: tuple[Any, ...], boundscheck: bool, originals: Originals = NOTHING) -> Surroundings:
    """Return the surroundings of a compile. originals: values that it replaced in numba, if it began already."""
    registered = all_registrations()
    config = _config()
    mark = (capability, boundscheck, environment(), config, _registered_marks(registered), numbas_mark(originals))
    found = next((one for one in _known if one.mark == mark), None)
    if found is None:
        found = Surroundings(mark, registered, functools.partial(_told, capability, boundscheck, config))
        _known[:] = [*_known[1 - _MOST :], found]
    return found


def _told(capability: tuple[Any, ...], boundscheck: bool, config: ValueMark) -> str | None:
    numbas = numbas_own_text()
    return None if numbas is None else repr((capability, boundscheck, config, numbas))


def _registered_marks(registered: tuple[Registration, ...]) -> ValueMark:
    return tuple((one.kind, one.about, id(one.sources[0])) for one in registered)


def _config() -> ValueMark:
    """Return all of numba's settings that may affect code, as they stand, besides the environment's."""
    return tuple(
        (module, name, repr(value))
        for module in SETTINGS
        for name, value in vars(sys.modules.get(module, object)).items()
        if name.isupper() and _affects_code(name)
    )


_affects_code = functools.cache(affects_code)


def is_apart(registered: Registration) -> bool:
    """Return whether only code that has to do with an object of an extension's own can meet a registration."""
    return any(map(_is_own, registered.mentions))


def _is_own(value: object) -> bool:
    numba_cuda()
    from numba.cuda import types

    if isinstance(value, types.Type):
        return _is_own(type(value))
    if isinstance(value, type):
        return not is_library(value.__module__) and _is_alone(value, types.Type)
    return type(value) is FunctionType and not is_library(str(value.__globals__.get("__name__")))


def _is_alone(kind: type, numba_type: type) -> bool:
    """Return whether no other class can be registered as a subclass of this class, as with abstract classes."""
    return not is_of_plain_types(kind) if issubclass(kind, numba_type) else type(kind) is type
