"""deep: the error message for a recursion that was too deep for the stack of its thread."""

from __future__ import annotations

import ctypes

from gridjit.runtime.devices.host.load import HostFunction


def too_deep(function: HostFunction) -> str:
    """Return what happened, and what to do about it, with the numbers if the code tells them."""
    return (
        "recursion too deep: a device function calls itself until the stack of its thread, which also holds its "
        f"local arrays, is full{_numbers(function)}; recurse less deeply, declare smaller arrays, "
        "write it as a loop, or launch from a thread with a larger stack (threading.stack_size, ulimit -s)"
    )


def _numbers(function: HostFunction) -> str:
    if not function.told:
        return ""
    taken, more, limit = (ctypes.c_int64 * 3).from_address(function.told)
    return f" (it takes {taken:,} of the {limit:,} bytes available, and the next call may take {more:,} more)"
