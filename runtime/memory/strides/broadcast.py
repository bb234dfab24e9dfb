"""broadcast: the strides of an array that is repeated along axes, which are 0 there."""

from __future__ import annotations

from gridjit.compiler.errors import LayoutError
from gridjit.runtime.memory.strides.whole import Numbers


def repeated(shape: Numbers, steps: Numbers, wanted: Numbers) -> Numbers:
    """Return the strides of an array in a wanted shape, to which it is broadcast."""
    new = len(wanted) - len(shape)
    fits = new >= 0 and all(mine in (1, theirs) for mine, theirs in zip(shape, wanted[new:], strict=True))
    if not fits:
        how = "each axis, counted from the last, has 1 item or as many as there"
        raise LayoutError(f"shape {shape} cannot be broadcast to {wanted}: {how}")
    kept = (0 if mine == 1 else step for mine, step in zip(shape, steps, strict=True))
    return (*[0] * new, *kept)
