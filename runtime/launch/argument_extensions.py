"""Objects that prepare a kernel's arguments before each launch, as numba-cuda's jit(extensions=...) has it.

Each has prepare_args(ty, val, stream=, retr=) and returns (ty, val); the last in the list prepares first. They prepare
once per launch, after its hooks; its code is found by the types of the original arguments. What they append to retr is
called after the launch. A value of an extension's own type keeps its type for the kernel: only what is passed is new,
and that is passed as the type that was returned with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gridjit.runtime.args.staging import Directed


class Extensions(list[Any]):
    """A kernel's extensions. changed: called after each change, as what launches without them has to end."""

    def __init__(self, extensions: Iterable[Any], changed: Callable[[], None]) -> None:
        super().__init__(extensions)
        self._changed = changed

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (list(self),)


def _told(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def change(self: Extensions, *args: Any, **keywords: Any) -> Any:
        try:
            return method(self, *args, **keywords)
        finally:
            self._changed()

    return change


for _name in (
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(Extensions, _name, _told(_name))


def prepared(
    extensions: Sequence[Any], args: tuple[Any, ...], stream: Any
) -> tuple[tuple[Any, ...], list[Callable[[], Any]]]:
    """Return the arguments as the extensions prepare them, and what to call after the launch."""
    after: list[Callable[[], Any]] = []
    return tuple(_prepared(extensions, arg, stream, after) for arg in args), after


def _prepared(extensions: Sequence[Any], arg: Any, stream: Any, after: list[Callable[[], Any]]) -> Any:
    from gridjit.compiler.frontend.foreign_types import is_foreign
    from gridjit.compiler.frontend.types import numba_type_of
    from gridjit.runtime.args.numba_values import Prepared

    original = numba_type_of(arg.value if isinstance(arg, Directed) else arg)
    kind, value = original, arg
    for extension in reversed(extensions):
        kind, value = extension.prepare_args(kind, value, stream=stream, retr=after)
    return Prepared(numba=original, kind=kind, value=value) if is_foreign(original) else value
