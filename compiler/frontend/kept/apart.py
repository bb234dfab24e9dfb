"""apart: registrations for an extension's own objects, which cannot affect the callees of which units are made.

Units are made only of code that uses plain types and nothing of an extension. What is registered for a function or a
type of the extension's own affects other code only.
"""

from __future__ import annotations

from types import FunctionType

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.frontend.kept.plain import is_of_plain_types
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.key.source.libraries import is_library


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
    """Return whether no object of another class can count as one of this class, as abstract classes let them."""
    return not is_of_plain_types(kind) if issubclass(kind, numba_type) else type(kind) is type
