"""ArgumentHandler: the protocol of an argument kind, and the table of all kinds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import ArgType


class ArgumentHandler(Protocol):
    """How one kind of Python value is passed to kernels."""

    def kind(self, value: Any) -> Hashable:
        """Return what decides value's type, as cheaply as possible; equal kinds have equal types."""
        ...

    def type_of(self, value: Any) -> ArgType:
        """Return the type a kernel is compiled for; raises ArgumentError saying why value cannot be passed."""
        ...

    def parameters(self, value: Any) -> Sequence[int | float | bool]:
        """Return the launch parameters, in the order of the type's struct codes."""
        ...


_handlers: dict[type, ArgumentHandler] = {}


def register(python_type: type, handler: ArgumentHandler) -> None:
    """Make handler responsible for python_type and its subclasses."""
    _handlers[python_type] = handler


def handler_of(value: Any) -> ArgumentHandler:
    """Return the handler of value; raises ArgumentError for a kind that kernels cannot take."""
    found = _handlers.get(type(value))
    if found is None:
        found = next((h for base in type(value).__mro__ if (h := _handlers.get(base)) is not None), None)
        if found is None:
            raise ArgumentError(
                f"a {type(value).__module__}.{type(value).__qualname__} cannot be passed to a kernel; "
                "pass NumPy arrays and Python or NumPy numbers"
            )
        _handlers[type(value)] = found
    return found
