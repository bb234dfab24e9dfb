"""ahead: imports for a first array and a first launch, done by another thread while the driver starts.

The driver needs some 200 ms to start and to make a context, in which no thread has to wait for Python's lock.
"""

from __future__ import annotations

import contextlib

from gridjit.base.stacks import start_with_room


def import_ahead() -> None:
    """Import later needs in a thread while the driver starts; a sooner need imports them as ever."""
    with contextlib.suppress(RuntimeError):  # no new threads while the interpreter ends, or no more threads
        start_with_room(_import)


def _import() -> None:
    with contextlib.suppress(Exception):  # the user of the module gets the error
        import gridjit.runtime.args.device_arrays
        import gridjit.runtime.devices.cuda.device
        import gridjit.runtime.memory.device_array
        import gridjit.runtime.native.function
        import gridjit.runtime.native.object_code  # noqa: F401
