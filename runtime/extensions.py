"""extensions: objects that prepare a kernel's arguments before each launch, as numba-cuda's jit(extensions=...) has it.

Each has prepare_args(ty, val, stream=, retr=) and returns (ty, val); the last given prepares first. What they append to
retr is called after the launch. A value of an extension's own type stays one to the kernel: only what is passed is new,
and that is passed as the type that was returned with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gridjit.runtime.args.directed import Directed


def prepared(
    extensions: Sequence[Any], args: tuple[Any, ...], stream: Any
) -> tuple[tuple[Any, ...], list[Callable[[], Any]]]:
    """Return the arguments as the extensions prepare them, and what to call after the launch."""
    after: list[Callable[[], Any]] = []
    return tuple(_prepared(extensions, arg, stream, after) for arg in args), after


def _prepared(extensions: Sequence[Any], arg: Any, stream: Any, after: list[Callable[[], Any]]) -> Any:
    from gridjit.compiler.frontend.foreign_types import is_foreign
    from gridjit.compiler.frontend.numba_types import numba_type_of
    from gridjit.runtime.args.foreign import Prepared

    original = numba_type_of(arg.value if isinstance(arg, Directed) else arg)
    kind, value = original, arg
    for extension in reversed(extensions):
        kind, value = extension.prepare_args(kind, value, stream=stream, retr=after)
    return Prepared(numba=original, kind=kind, value=value) if is_foreign(original) else value
