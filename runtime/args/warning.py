"""PerformanceWarning: something works, but costs more than it needs to."""

from __future__ import annotations

from gridjit.compiler.kindred import Kindred


class PerformanceWarning(Kindred, UserWarning):
    """A launch does more than it would have to."""

    kin = ("numba.cuda.core.errors:NumbaPerformanceWarning",)
