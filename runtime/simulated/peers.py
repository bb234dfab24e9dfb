"""peers: which simulated devices may use each other's memory: any two, once one of them has asked for it."""

from __future__ import annotations

# (the device that asked, the other one)
_enabled: set[tuple[int, int]] = set()


def can_access(ordinal: int, other: int, count: int) -> bool:
    """Return whether a device may ask for access to another's memory: to that of any but itself."""
    return ordinal != other and 0 <= other < count


def enable(ordinal: int, other: int) -> bool:
    """Note that a device uses another's memory; returns False if it does already."""
    if (ordinal, other) in _enabled:
        return False
    _enabled.add((ordinal, other))
    return True


def forget(ordinal: int) -> None:
    """Forget what a device asked for, as when its context is reset."""
    for pair in [pair for pair in _enabled if pair[0] == ordinal]:
        _enabled.discard(pair)
