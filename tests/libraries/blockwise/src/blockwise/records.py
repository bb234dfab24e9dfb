"""Values that kernels take: classes of the host, with no code of numba's; see _records for their types in kernels."""

from __future__ import annotations

from typing import Any


class Span:
    """A start and a length, which a kernel sees as attributes `start`, `length` and `end`."""

    def __init__(self, start: float, length: float) -> None:
        self.start = start
        self.length = length


class Tag:
    """Nothing but its name, which is the name of its type: kernels are compiled for it, and are passed nothing."""

    def __init__(self, name: str) -> None:
        self.name = name


class Wanted:
    """An object that a compile looks for, by identity, among the arguments of the launch."""

    def __init__(self, name: str) -> None:
        self.name = name


# What is looked for.
WANTED = Wanted("the one")
OTHER = Wanted("another")


def index_of_wanted(tag: Any) -> Any:
    """In a kernel: which argument of the launch is WANTED, -1 for none."""
    raise TypeError("this is for kernels")


class Quantity:
    """A number with a unit; a class for each unit, with a type of its own in kernels."""

    def __init__(self, value: float) -> None:
        self.value = value


_UNITS = ("Metre", "Second", "Gram", "Ampere", "Kelvin", "Mole", "Candela", "Radian", "Hertz", "Newton", "Pascal")
QUANTITIES = {name: type(name, (Quantity,), {"__module__": __name__}) for name in _UNITS}
Metre, Second, Gram = (QUANTITIES[name] for name in ("Metre", "Second", "Gram"))
