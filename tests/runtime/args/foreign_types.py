"""An extension of numba with two types of its own, in a module that refers to nothing but them.

What it registers is part of every later key of the process, so it must be something that gridjit can see into.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

numba_cuda()

from numba.cuda import types  # noqa: E402
from numba.cuda.cudadecl import registry  # noqa: E402
from numba.cuda.cudaimpl import lower_attr  # noqa: E402
from numba.cuda.extending import core_models, register_model, typeof_impl  # noqa: E402
from numba.cuda.typing.templates import AttributeTemplate  # noqa: E402


class Tag:
    """An empty value, which numba passes as a pointer that nobody reads."""


class Interval:
    """A value with contents."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high


class TagType(types.Opaque):
    """The type of Tag."""


class IntervalType(types.Type):
    """The type of Interval."""


TAG, INTERVAL = TagType("Tag"), IntervalType("Interval")
typeof_impl.register(Tag)(lambda value, context: TAG)
typeof_impl.register(Interval)(lambda value, context: INTERVAL)
register_model(TagType)(core_models.OpaqueModel)


@register_model(IntervalType)
class IntervalModel(core_models.StructModel):
    """Two floats."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("low", types.float64), ("high", types.float64)])


@registry.register_attr
class IntervalAttributes(AttributeTemplate):
    """What kernels see of an Interval."""

    key = IntervalType

    def resolve_width(self, interval: Any) -> Any:
        """Return the type of its width."""
        return types.float64


@lower_attr(IntervalType, "width")
def interval_width(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the code of its width."""
    return builder.fsub(builder.extract_value(value, 1), builder.extract_value(value, 0))


class PassesIntervals:
    """An extension of a kernel: an Interval is passed as the tuple of its ends."""

    def prepare_args(self, kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
        if kind == INTERVAL:
            return types.UniTuple(types.float64, 2), (value.low, value.high)
        return kind, value
