"""Tuples and named tuples as arguments: their items, one after another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gridjit.compiler.values.signature import ClassName, TupleType
from gridjit.runtime.args.handler import FromPython, Parameters, Place, handler_of, register
from gridjit.runtime.memory.staging import Transfer


class Tuple(FromPython):
    """A tuple of possible arguments."""

    def kind(self, value: tuple[Any, ...]) -> Hashable:
        return (type(value), tuple([handler_of(item).kind(item) for item in value]))

    def type_of(self, value: tuple[Any, ...], place: Place) -> TupleType:
        items = tuple(handler_of(item).type_of(item, place) for item in value)
        names = getattr(type(value), "_fields", None)
        if names is None:
            return TupleType(items=items)
        return TupleType(items=items, named=ClassName.of(type(value)), names=tuple(names))

    def parameters(self, value: tuple[Any, ...], transfer: Transfer) -> Parameters:
        return [part for item in value for part in handler_of(item).parameters(item, transfer)]


register(tuple, Tuple())
