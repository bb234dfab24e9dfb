"""The types of `blockwise.records` in kernels: a type, a data model, attributes, methods and casts for each."""

from __future__ import annotations

import operator
from typing import Any

from numba.cuda import cgutils, types
from numba.cuda.cudadecl import register_global
from numba.cuda.cudaimpl import lower
from numba.cuda.extending import (
    lower_cast,
    make_attribute_wrapper,
    models,
    overload_attribute,
    overload_method,
    register_model,
    typeof_impl,
)
from numba.cuda.typing.templates import AbstractTemplate, signature

from blockwise import records


class PackedType(types.Type):
    """A type whose values only this library can pass to a kernel."""


class SpanType(PackedType):
    """The type of a Span."""

    def __init__(self) -> None:
        super().__init__(name="blockwise.Span")


class NamedType(PackedType):
    """The type of a value of which only the name counts: a Tag, a Wanted."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(name=f"blockwise.Named({label})")


span_type = SpanType()


@typeof_impl.register(records.Span)
def _typeof_span(value, context):
    return span_type


@typeof_impl.register(records.Tag)
@typeof_impl.register(records.Wanted)
def _typeof_named(value, context):
    return NamedType(value.name)


@register_model(SpanType)
class SpanModel(models.StructModel):
    """A start and a length."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("start", types.float64), ("length", types.float64)])


@register_model(NamedType)
class NamedModel(models.StructModel):
    """Nothing."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, [])


make_attribute_wrapper(SpanType, "start", "start")
make_attribute_wrapper(SpanType, "length", "length")


@overload_attribute(SpanType, "end", target="cuda")
def _span_end(span):
    return lambda span: span.start + span.length


@overload_method(SpanType, "contains", target="cuda")
def _span_contains(span, x):
    return lambda span, x: span.start <= x and x < span.end


@overload_attribute(NamedType, "letters", target="cuda")
def _letters(named):
    letters = len(named.label)
    return lambda named: letters


def _register_quantity(name: str, host: type) -> type:
    """Register all that a kind of quantity has."""

    class QuantityType(PackedType):
        def __init__(self) -> None:
            super().__init__(name=f"blockwise.{name}")

    quantity = QuantityType()

    @typeof_impl.register(host)
    def typeof_quantity(value, context):
        return quantity

    @register_model(QuantityType)
    class QuantityModel(models.StructModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, [("value", types.float64)])

    make_attribute_wrapper(QuantityType, "value", "value")
    make_attribute_wrapper(QuantityType, "value", name.lower())

    @overload_method(QuantityType, "doubled", target="cuda")
    def doubled(quantity):
        return lambda quantity: quantity.value * 2

    @overload_attribute(QuantityType, "squared", target="cuda")
    def squared(quantity):
        return lambda quantity: quantity.value * quantity.value

    @lower_cast(QuantityType, types.Float)
    def cast(context, builder, fromty, toty, value):
        found = cgutils.create_struct_proxy(fromty)(context, builder, value=value).value
        return context.cast(builder, found, types.float64, toty)

    @register_global(operator.add)
    class Add(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and all(isinstance(arg, QuantityType) for arg in args):
                return signature(types.float64, *args)
            return None

    @lower(operator.add, QuantityType, QuantityType)
    def add(context, builder, sig, args):
        proxy = cgutils.create_struct_proxy(quantity)
        first, second = (proxy(context, builder, value=arg).value for arg in args)
        return builder.fadd(first, second)

    return QuantityType


QUANTITY_TYPES: dict[str, Any] = {name: _register_quantity(name, host) for name, host in records.QUANTITIES.items()}
