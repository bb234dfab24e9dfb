"""ahead: what a first array and a first launch import, imported by another thread while the driver starts.

The driver needs some 200 ms to start and to make a context, in which no thread has to wait for Python's lock.
"""

from __future__ import annotations

import contextlib

from gridjit.base.stacks import start_with_room


def import_ahead() -> None:
    """Have a thread import what comes after the driver's start; whoever needs it sooner imports it as ever."""
    with contextlib.suppress(RuntimeError):  # there are no new threads while the interpreter ends, or no more
        start_with_room(_import)


def _import() -> None:
    with contextlib.suppress(Exception):  # who needs it is told
        import gridjit.runtime.args.device_arrays
        import gridjit.runtime.devices.cuda.device
        import gridjit.runtime.memory.device_array
        import gridjit.runtime.native.function
        import gridjit.runtime.native.object_code  # noqa: F401
