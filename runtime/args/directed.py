"""Directed: an argument with its direction; what In, Out and InOut have in common."""

from __future__ import annotations

from typing import Any


class Directed:
    """An argument with its direction. reads: copied to the device before the launch. writes: back after it."""

    __slots__ = ("value",)
    reads = True
    writes = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"gridjit.{type(self).__name__}({self.value!r})"
