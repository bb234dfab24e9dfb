"""What is implemented in CUDA C++, which becomes LTO-IR when a kernel that calls it is compiled; on GPUs only."""

from __future__ import annotations

from typing import Any


def triple(x: Any) -> Any:
    """Three times a float64."""
    raise TypeError("this is for kernels")


from blockwise import _linked  # noqa: E402, F401  # what implements it, imported with it
