"""Trial: one kernel of a library's, how it is compiled, and how its result is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A kernel to compile, and to launch where there is a GPU.

    signature: the arguments' numba types. link: what the library says the kernel must be linked with. arguments: fresh
    ones for a launch. right: whether they are as they should be after it.
    """

    name: str
    kernel: Callable[..., None]
    signature: Sequence[Any]
    block: int | tuple[int, ...] = 128
    link: Sequence[Any] = ()
    arguments: Callable[[], Sequence[Any]] = tuple
    right: Callable[..., bool] = lambda *arguments: True
