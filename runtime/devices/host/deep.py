"""deep: what is said of a recursion that was too deep for the stack of the thread that ran it."""

from __future__ import annotations

import ctypes

from gridjit.runtime.devices.host.load import HostFunction


def too_deep(function: HostFunction) -> str:
    """Return what happened, and what to do about it, with the numbers if the code tells them."""
    return (
        "recursion too deep: a device function calls itself until the stack of the thread that runs it, where its "
        f"local arrays are, has no room left{_numbers(function)}; call it less often, declare smaller arrays, "
        "write it as a loop, or launch from a thread with a larger stack (threading.stack_size, ulimit -s)"
    )


def _numbers(function: HostFunction) -> str:
    if not function.told:
        return ""
    taken, more, limit = (ctypes.c_int64 * 3).from_address(function.told)
    return f" (it takes {taken:,} bytes of {limit:,} that there are for it, and the next call may take {more:,} more)"
