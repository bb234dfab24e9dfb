"""Contexts: where values that cross a barrier, and local arrays, are kept: per thread (slab) or per block (bank)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueType:
    """The LLVM type of a value kept in the slab, with its size and alignment in bytes."""

    text: str
    size: int
    align: int

    @property
    def stride(self) -> int:
        """The bytes from one such value to the next."""
        return -(-self.size // self.align) * self.align


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a value is kept: in the slab at offset times the number of threads, or in the bank at offset.

    A uniform value comes to a region as a parameter (number is its place among them) and goes into the bank. counts:
    whether it is an induction variable (analysis/induction_variables.py).
    """

    name: str
    type: ValueType
    offset: int
    number: int = -1
    counts: bool = False

    @property
    def uniform(self) -> bool:
        """Whether all threads share the value."""
        return self.number >= 0

    @property
    def stored(self) -> str:
        """The type it has in memory and as a parameter: a bit is a byte there."""
        return "i8" if self.type.text == "i1" else self.type.text


def lay_out(types: Mapping[str, ValueType]) -> tuple[dict[str, Slot], int]:
    """Return a slot for each value and the slab's bytes per thread; the strictest alignment comes first."""
    slots: dict[str, Slot] = {}
    offset = 0
    for name, kind in sorted(types.items(), key=lambda item: -item[1].align):
        slots[name] = Slot(name=name, type=kind, offset=offset)
        offset += kind.stride
    return slots, -(-offset // 16) * 16
