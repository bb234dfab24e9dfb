"""Members of enum classes as arguments: their values; kernels know the class."""

from __future__ import annotations

import enum
from collections.abc import Hashable

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import EnumType, ScalarType, TupleType
from gridjit.runtime.args.handler import ArgumentHandler, FromPython, Parameters, Place, handler_of, register
from gridjit.runtime.memory.staging import Transfer


class EnumMember(FromPython):
    """A member of an Enum or IntEnum whose values are numbers of one type, or tuples of them."""

    def kind(self, value: enum.Enum) -> Hashable:
        return (type(value), _handler(value).kind(value.value))

    def type_of(self, value: enum.Enum, place: Place) -> EnumType:
        python = type(value)
        kinds = {_handler(member).type_of(member.value, place) for member in python}
        dtype = kinds.pop()
        if kinds or not isinstance(dtype, ScalarType | TupleType):
            raise ArgumentError(
                f"members of {python.__qualname__} have values of several types; give them one, of numbers or tuples"
            )
        return EnumType.of(python, dtype)

    def parameters(self, value: enum.Enum, transfer: Transfer) -> Parameters:
        return _handler(value).parameters(value.value, transfer)


def _handler(member: enum.Enum) -> ArgumentHandler:
    """Return the handler of a member's value; raises ArgumentError for values that kernels cannot have."""
    if isinstance(member.value, str | bytes):
        raise ArgumentError(
            f"the values of the enum {type(member).__qualname__} are not numbers, as that of {member.name} is "
            f"{a_class(type(member.value))}; pass a number for the member, or give the enum numbers"
        )
    return handler_of(member.value)


register(enum.Enum, EnumMember())
register(enum.IntEnum, EnumMember())
