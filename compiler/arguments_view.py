"""ArgumentsView: what a compilation sees as the launch's arguments. It records what is read of each.

A number counts by its value. An array counts by its type, which is part of the signature, until its shape or strides
are read: then those count. Anything else that is read fits no later launch, and keeps the result out of the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.compiler.footprint import ARGUMENT, is_number

if TYPE_CHECKING:
    from gridjit.compiler.view import ConfigView


class ArgumentsView(Sequence[Any]):
    """The arguments: numbers as they are, everything else as an ArgumentView."""

    def __init__(self, view: ConfigView, arguments: Sequence[Any]) -> None:
        self._view = view
        self._arguments = arguments

    def __len__(self) -> int:
        return len(self._arguments)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        position = range(len(self))[index]
        argument = self._arguments[position]
        if is_number(argument):
            self._view.read(f"{ARGUMENT}{position}")
            return argument
        return ArgumentView(self._view, position, argument)

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))


class ArgumentView:
    """One argument that is no number. dtype and ndim are free to read; shape and strides become facts."""

    __slots__ = ("_argument", "_position", "_view")

    def __init__(self, view: ConfigView, position: int, argument: Any) -> None:
        self._view = view
        self._position = position
        self._argument = argument

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._argument, name)
        if name in ("dtype", "ndim") and hasattr(self._argument, "shape"):
            return value
        if name in ("shape", "strides"):
            self._view.read(f"{ARGUMENT}{self._position} {name}")
            return value
        self._view.read(f"{ARGUMENT}{self._position} itself")
        self._view.keep_private(f"the compilation read {name} of argument {self._position}")
        return value

    def __repr__(self) -> str:
        return f"<argument {self._position} of the launch, a {type(self._argument).__name__}>"
