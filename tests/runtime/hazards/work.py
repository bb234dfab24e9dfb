"""What the tests of hazards launch, and arrays that nothing works on yet."""

from __future__ import annotations

from typing import Any

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def scale(values: Any, factor: float) -> None:
    """Multiply."""
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= factor


@gridjit.jit
def add(into: Any, values: Any) -> None:
    """Add values to others."""
    i = cuda.grid(1)
    if i < into.size:
        into[i] += values[i]


def ones(count: int = 64) -> Any:
    """Return an array of ones on the device."""
    made = cuda.to_device(np.ones(count))
    cuda.synchronize()
    return made
