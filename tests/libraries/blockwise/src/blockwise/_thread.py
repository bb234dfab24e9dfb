"""What implements the functions of `blockwise.thread`: overloads, intrinsics, templates with lowerings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.cuda import types
from numba.cuda.cudadecl import register_global
from numba.cuda.cudaimpl import lower
from numba.cuda.extending import intrinsic, overload
from numba.cuda.launchconfig import ensure_current_launch_config
from numba.cuda.typing.templates import AbstractTemplate, signature

from blockwise import _settings, thread

_INTEGERS = (types.int32, types.int64, types.uint32, types.uint64, types.int16, types.int8)
_FLOATS = (types.float32, types.float64)
_TABLE: dict[Any, Callable[..., Any]] = {}


@overload(thread.clamp, target="cuda")
def _clamp(x, low, high):
    return lambda x, low, high: low if x < low else (high if x > high else x)


@overload(thread.scaled, target="cuda")
def _scaled(x):
    scale = _settings.SCALE
    return lambda x: x * scale


@overload(thread.offset, target="cuda")
def _offset(x):
    _settings.HISTORY.append("offset")
    added = _settings.OFFSET
    return lambda x: x + added


@overload(thread.weight, target="cuda")
def _weight(i):
    first, second, third = _settings.WEIGHTS

    def code(i):
        if i == 0:
            return first
        return second if i == 1 else third

    return code


@overload(thread.position, target="cuda")
def _position(i, count):
    if _settings.ORDER is _settings.Order.BLOCKED:
        return lambda i, count: i
    return lambda i, count: count - 1 - i


@overload(thread.guarded, target="cuda")
def _guarded(x):
    limit, strict = _settings.LIMIT, _settings.STRICT
    limited, bound = limit is not None, limit or 0

    def code(x):
        if limited and x > bound:
            return x - x + bound
        return x - x if strict and x < 0 else x

    return code


@intrinsic
def _add_to_itself(typingctx, x):
    def codegen(context, builder, sig, args):
        add = builder.fadd if isinstance(x, types.Float) else builder.add
        return add(args[0], args[0])

    return x(x), codegen


@overload(thread.twice, target="cuda")
def _twice(x):
    return lambda x: _add_to_itself(x)


@overload(thread.low_bits, target="cuda", inline="always")
def _low_bits(x):
    return lambda x: x & 255


@overload(thread.lazily, target="cuda")
def _lazily(x):
    from blockwise._late import implement

    return implement(7)


@functools.lru_cache(maxsize=256)
def _adder(added: int) -> Callable[..., Any]:
    return lambda x: x + added


@overload(thread.remembered, target="cuda")
def _remembered(x):
    if x not in _TABLE:
        _TABLE[x] = _adder(11)
    _settings.MEMO[x] = _settings.STATISTICS["remembered"] = next(_settings.COUNTER)
    return _TABLE[x]


@overload(thread.item_of_launch, target="cuda")
def _item_of_launch(x):
    numbers = [argument for argument in ensure_current_launch_config().args if isinstance(argument, int)]
    added = numbers[0]
    return lambda x: x + added


def _binary(function: Callable[..., Any], of_integers: Callable[..., Any], of_floats: Callable[..., Any]) -> None:
    """Register a template for two values of one type, and a lowering for each type."""

    @register_global(function)
    class Binary(AbstractTemplate):
        def generic(self, args, kws):
            return signature(args[0], args[0], args[0]) if args[0] == args[1] else None

    for kinds, generate in ((_INTEGERS, of_integers), (_FLOATS, of_floats)):
        for kind in kinds:
            lower(function, kind, kind)(functools.partial(_lowered, generate))


def _lowered(generate: Callable[..., Any], context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return generate(builder, *args)


def _mean_of_integers(builder: Any, a: Any, b: Any) -> Any:
    return builder.sdiv(builder.add(a, b), a.type(2))


def _mean_of_floats(builder: Any, a: Any, b: Any) -> Any:
    return builder.fdiv(builder.fadd(a, b), a.type(2.0))


_binary(thread.blend, _mean_of_integers, _mean_of_floats)
_binary(thread.difference, lambda builder, a, b: builder.sub(a, b), lambda builder, a, b: builder.fsub(a, b))
