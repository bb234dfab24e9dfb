"""PerformanceWarning: something works, but costs more than it needs to."""

from __future__ import annotations


class PerformanceWarning(UserWarning):
    """A launch does more than it would have to."""
