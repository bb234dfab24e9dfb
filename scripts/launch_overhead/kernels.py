"""kernels: empty functions of 0 to 4 and 26 arguments, for any compiler of numba's language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def take0():
    pass


def take1(a):
    pass


def take2(a, b):
    pass


def take3(a, b, c):
    pass


def take4(a, b, c, d):
    pass


def take26(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z):  # noqa: E741
    pass


TAKING: dict[int, Callable[..., Any]] = {0: take0, 1: take1, 2: take2, 3: take3, 4: take4, 26: take26}
ARRAY_WORDS = 7  # of a 1-D array: meminfo, parent, nitems, itemsize, data, shape, stride


def scalars(count: int) -> list[int | float]:
    """Return Python ints and floats in turns."""
    return [index + 0.5 if index % 2 else index for index in range(count)]


def signature(what: str, count: int) -> str:
    """Return the types of so many arguments of a kind, as jit takes them."""
    types = [("float64" if index % 2 else "int64") if what == "scalars" else "float32[::1]" for index in range(count)]
    return f"void({', '.join(types)})"


def words(what: str, count: int) -> int:
    """Return how many 8-byte words such arguments come to as numba's parameters."""
    return count if what == "scalars" else ARRAY_WORDS * count
