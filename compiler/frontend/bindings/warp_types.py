"""warp_types: arguments of numba-cuda's warp functions: every integer and bool as a value, a mask or a lane.

numba-cuda refuses to shuffle unsigned integers and integers below 32 bits, and matches uint64 as float64, which equates
values that differ in their low bits. Their bits go through its own code for int32 and int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def widen_warp_types(replace: Callable[[Any, str, Any], Any]) -> None:
    """Let a compile's shuffles, votes and matches take every integer."""
    from numba.cuda import cudadecl, intrinsics

    def shuffle(typing: Any, mask: Any, mode: int, value: Any, lane: Any, clamp: int) -> Any:
        signature, generate = own_shuffle(typing, _at_least_32(mask), mode, _signed(value), _at_least_32(lane), clamp)
        return _converted(signature, generate, (mask, value, lane), value)

    def vote(typing: Any, mask: Any, mode: int, predicate: Any) -> Any:
        signature, generate = own_vote(typing, _mask(mask), mode, predicate)
        return _converted(signature, generate, (mask, predicate), signature.return_type)

    own_shuffle = replace(intrinsics, "shfl_sync_intrinsic", shuffle)
    own_vote = replace(intrinsics, "vote_sync_intrinsic", vote)
    for template in (cudadecl.Cuda_match_any_sync, cudadecl.Cuda_match_all_sync):
        replace(template, "apply", _matching(template.apply))


def _matching(apply: Callable[..., Any]) -> Callable[..., Any]:
    def applied(template: Any, arguments: Any, keywords: Any) -> Any:
        return apply(template, (*arguments[:1], *map(_signed, arguments[1:])), keywords)

    return applied


def _converted(own: Any, generate: Callable[..., Any], arguments: tuple[Any, ...], returned: Any) -> Any:
    """Return an intrinsic's signature and code for arguments that are converted to its own signature's."""
    if own.args == arguments:
        return own, generate

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = zip(values, signature.args, own.args, strict=True)
        result = generate(context, builder, own, [context.cast(builder, *part) for part in parts])
        return context.cast(builder, result, own.return_type, returned)

    return own.replace(args=arguments, return_type=returned), generated


def _mask(kind: Any) -> Any:
    """Return the type of a vote's mask with at least 32 bits; a bool's is left for numba-cuda to refuse."""
    from numba.cuda import types

    return kind if isinstance(kind, types.Boolean) else _at_least_32(kind)


def _at_least_32(kind: Any) -> Any:
    """Return int32 for a type of fewer bits."""
    return _signed(kind) if (_bits(kind) or 32) < 32 else kind


def _signed(kind: Any) -> Any:
    """Return the signed type of 32 or 64 bits that holds the bits of an integer or a bool; any other type itself."""
    from numba.cuda import types

    bits = _bits(kind)
    return kind if bits is None else types.int64 if bits > 32 else types.int32


def _bits(kind: Any) -> int | None:
    """Return the width of an integer's or bool's type, which no literal has."""
    from numba.cuda import types

    if isinstance(kind, types.Literal) or not isinstance(kind, types.Integer | types.Boolean):
        return None
    return 1 if isinstance(kind, types.Boolean) else kind.bitwidth
