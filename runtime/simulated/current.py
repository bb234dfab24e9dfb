"""current: a thread's simulated device - the top of its own stack of devices, as the driver keeps contexts.

Only numbers are kept here, so that memory can be counted without the devices being made.
"""

from __future__ import annotations

import threading


class _Stack(threading.local):
    def __init__(self) -> None:
        self.numbers: list[int] = []


_stack = _Stack()


def ordinal() -> int:
    """Return the number of the calling thread's device; 0 if it has not chosen any."""
    return _stack.numbers[-1] if _stack.numbers else 0


def is_chosen() -> bool:
    """Return whether the calling thread has a device."""
    return bool(_stack.numbers)


def push(number: int) -> None:
    """Make a device the calling thread's, until it is popped."""
    _stack.numbers.append(number)


def pop() -> int | None:
    """Restore the thread's device before; returns the number of the device that it leaves, None if it had none."""
    return _stack.numbers.pop() if _stack.numbers else None


def choose(number: int) -> None:
    """Make a device the calling thread's, in place of its own."""
    _stack.numbers[-1:] = [number]


def leave() -> None:
    """Leave the thread without a device."""
    _stack.numbers.clear()


# (the requesting device, the other device)
_enabled: set[tuple[int, int]] = set()


def can_access(ordinal: int, other: int, count: int) -> bool:
    """Return whether a device may request access to another's memory: to any device's but its own."""
    return ordinal != other and 0 <= other < count


def enable(ordinal: int, other: int) -> bool:
    """Note that a device uses another's memory; returns False if it does already."""
    if (ordinal, other) in _enabled:
        return False
    _enabled.add((ordinal, other))
    return True


def forget(ordinal: int) -> None:
    """Forget a device's requests, as when its context is reset."""
    for pair in [pair for pair in _enabled if pair[0] == ordinal]:
        _enabled.discard(pair)
