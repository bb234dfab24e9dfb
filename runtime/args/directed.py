"""Directed: an argument with the way it goes; what In, Out and InOut have in common."""

from __future__ import annotations

from typing import Any


class Directed:
    """An argument with the way it goes. reads: copied to the device before the launch. writes: back after it."""

    __slots__ = ("value",)
    reads = True
    writes = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"gridjit.{type(self).__name__}({self.value!r})"
