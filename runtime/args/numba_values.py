"""Values of numba's types as arguments: its types, and values whose type an extension registered with it.

Nothing here imports numba before a program has, unless extensions are installed that numba loads by itself: otherwise,
until numba is loaded, there is no such value.
"""

from __future__ import annotations

import dataclasses
import struct
import sys
from collections.abc import Hashable
from typing import Any

from gridjit.base.values import dataclass
from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.values.errors import ArgumentError, ConfigError, a_class
from gridjit.compiler.values.signature import ArgType, ArrayType, ForeignType
from gridjit.runtime.args.conversion import conversion, converter
from gridjit.runtime.args.handler import (
    ACCEPTED,
    ArgumentHandler,
    FromPython,
    Parameters,
    Place,
    handler_of,
    register,
    register_finder,
)
from gridjit.runtime.args.type_objects import the_object_itself
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.operation import Operation

_TYPING = ("numba.cuda.typing.typeof", "numba.core.typing.typeof")
_TYPES = ("numba.core.types.abstract", "numba.cuda.types.abstract")


class ForeignValue:
    """A value that numba's typeof knows: one of its types (numba.float32), or an extension's empty value."""

    def kind(self, value: Any) -> Hashable:
        return (ForeignValue, _numba_type(value))

    def type_of(self, value: Any, place: Place) -> ArgType:
        return _type_of(value, _numba_type(value))

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        found = _type_of(value, _numba_type(value))
        if isinstance(found, ForeignType) and not found.opaque:
            # Not said before: a pre-launch hook may just have added an extension.
            raise ArgumentError(
                f"a {found} has contents that only an extension of the kernel can pass: "
                "give jit(extensions=[...]) one whose prepare_args returns them as a tuple"
            )
        return (0,) * len(found.codes)

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return the_object_itself(value) if _is_numba_type(type(value)) else None


class Declared(FromPython):
    """A value that the kernel's extensions prepare for a declared type of an extension."""

    def __init__(self, declared: ForeignType) -> None:
        self._declared = declared

    def kind(self, value: Any) -> Hashable:
        return (Declared, self._declared)

    def type_of(self, value: Any, place: Place) -> ArgType:
        return self._declared

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        raise AssertionError("what is passed was prepared")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """A value of an extension's type (numba: its type), and the value to pass in its place (kind: as which type)."""

    numba: Any
    kind: Any
    value: Any


class PreparedValue(FromPython):
    """A value that a kernel's extension prepared: the kernel sees the type of the original."""

    def kind(self, value: Prepared) -> Hashable:
        return (Prepared, value.numba, value.kind, handler_of(value.value).kind(value.value))

    def type_of(self, value: Prepared, place: Place) -> ArgType:
        found = _type_of(value.value, value.numba)
        own, passed = _passed(value)
        if conversion(own, passed) is None or _sizes(passed.codes) != _sizes(found.codes):
            raise ArgumentError(f"a {found} is passed as {found.codes!r}, and its extension prepared {passed.codes!r}")
        return dataclasses.replace(found, codes=passed.codes) if isinstance(found, ForeignType) else found

    def parameters(self, value: Prepared, transfer: Transfer) -> Parameters:
        convert = converter(*_passed(value))
        own = handler_of(value.value).parameters(value.value, transfer)
        return own if convert is None else convert(own)


def _passed(prepared: Prepared) -> tuple[ArgType, ArgType]:
    """Return the type of a prepared value, and of its parameters: numbers are of the type beside them."""
    from gridjit.compiler.frontend.bindings.foreign_types import is_foreign

    own = handler_of(prepared.value).type_of(prepared.value, Place())
    as_it_is = isinstance(own, ArrayType) or is_foreign(prepared.kind)
    return own, own if as_it_is else _type_of(prepared.value, prepared.kind)


def _sizes(codes: str) -> list[int]:
    return [struct.calcsize(code) for code in codes]


def _numba_type(value: Any) -> Any:
    from gridjit.compiler.frontend.bindings.types import numba_type_of

    try:
        return numba_type_of(value)
    except ConfigError as error:
        raise ArgumentError(f"{a_class(type(value))} cannot be passed to a kernel: {error}. Else {ACCEPTED}") from error


def _type_of(value: Any, numba_type: Any) -> ArgType:
    from gridjit.compiler.frontend.bindings.types import from_numba

    try:
        return from_numba(numba_type)
    except ConfigError as error:
        raise ArgumentError(f"{a_class(type(value))} cannot be passed to a kernel: {error}. Else {ACCEPTED}") from error


def _find(python_type: type) -> ArgumentHandler | None:
    if _is_numba_type(python_type):
        return _values
    return _values if python_type.__module__ != "builtins" and _is_registered(python_type) else None


def _is_numba_type(python_type: type) -> bool:
    return any(base.__module__ in _TYPES and base.__name__ == "Type" for base in python_type.__mro__)


def _is_registered(python_type: type) -> bool:
    if current_extensions():
        # The value's maker need not have imported numba's installed extensions.
        from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions

        load_installed_extensions()
    tables = [sys.modules[name].typeof_impl for name in _TYPING if name in sys.modules]
    return any(table.dispatch(python_type) is not table.dispatch(object) for table in tables)


_values = ForeignValue()
register(Prepared, PreparedValue())
register_finder(5, _find)
