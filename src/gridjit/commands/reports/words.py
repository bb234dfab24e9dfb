"""Numbers as people read them in a report."""

from __future__ import annotations


def milliseconds(value: float) -> str:
    """Return a time: 0.4 ms, 37 ms, 1.9 s, 3.2 min."""
    if value >= 120_000:
        return f"{value / 60_000:.1f} min"
    if value >= 1000:
        return f"{value / 1000:.2f} s" if value < 10_000 else f"{value / 1000:.0f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def share_text(value: float) -> str:
    """Return a share as percents; only all of it is 100%."""
    return f"{min(99.9, value * 100):.1f}%".replace(".0%", "%") if value < 1 else "100%"


def count(noun: str, number: int, *, shown: bool = True) -> str:
    """Return a number of things: 1 kernel, 2 kernels."""
    words = noun if number == 1 else f"{noun}s"
    return f"{number} {words}" if shown else words
