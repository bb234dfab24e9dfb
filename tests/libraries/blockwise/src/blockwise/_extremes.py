"""The type of `blockwise.block.extremes`: one for each type of value, made when it is first asked for."""

from __future__ import annotations

import threading
from typing import Any

from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic, make_attribute_wrapper, models, register_model

_LOCK = threading.RLock()
_TYPES: dict[Any, Any] = {}


def extremes_type(dtype: Any) -> Any:
    """Return the type of a pair of values of dtype."""
    with _LOCK:
        if dtype not in _TYPES:
            _TYPES[dtype] = _made(dtype)
            _refresh()
        return _TYPES[dtype]


def _made(dtype: Any) -> Any:
    class Extremes(types.Type):
        def __init__(self) -> None:
            super().__init__(name=f"blockwise.Extremes({dtype})")

    @register_model(Extremes)
    class ExtremesModel(models.StructModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, [("low", dtype), ("high", dtype)])

    make_attribute_wrapper(Extremes, "low", "low")
    make_attribute_wrapper(Extremes, "high", "high")
    return Extremes()


def _refresh() -> None:
    """Have the contexts look into their registries, as a kernel is being compiled already."""
    from numba.cuda.descriptor import cuda_target

    cuda_target.typing_context.refresh()
    cuda_target.target_context.refresh()


@intrinsic
def make_extremes(typingctx, low, high):
    """Make the pair."""
    kind = extremes_type(low)

    def codegen(context, builder, signature, args):
        pair = cgutils.create_struct_proxy(kind)(context, builder)
        pair.low, pair.high = args
        return pair._getvalue()

    return kind(low, low), codegen
