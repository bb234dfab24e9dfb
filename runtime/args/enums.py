"""Members of enum classes as arguments: their values; kernels know the class."""

from __future__ import annotations

import enum
from collections.abc import Hashable

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import ArgType, EnumType, ScalarType, TupleType
from gridjit.runtime.args.handler import Parameters, Place, handler_of, register
from gridjit.runtime.args.staging import Transfer
from gridjit.runtime.native.operation import Operation


class EnumMember:
    """A member of an Enum or IntEnum whose values are numbers of one type, or tuples of them."""

    def kind(self, value: enum.Enum) -> Hashable:
        return (type(value), handler_of(value.value).kind(value.value))

    def type_of(self, value: enum.Enum, place: Place) -> EnumType:
        python = type(value)
        kinds = {handler_of(member.value).type_of(member.value, place) for member in python}
        dtype = kinds.pop()
        if kinds or not isinstance(dtype, ScalarType | TupleType):
            raise ArgumentError(
                f"members of {python.__qualname__} have values of several types; give them one, of numbers or tuples"
            )
        return EnumType.of(python, dtype)

    def parameters(self, value: enum.Enum, transfer: Transfer) -> Parameters:
        return handler_of(value.value).parameters(value.value, transfer)

    def operation(self, value: enum.Enum, place: Place, declared: ArgType) -> Operation | None:
        return None


register(enum.Enum, EnumMember())
register(enum.IntEnum, EnumMember())
