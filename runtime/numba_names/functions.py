"""The small functions that numba.cuda has under names of its own: stream, event, is_available, is_cuda_array."""

from __future__ import annotations

from typing import Any

from gridjit.runtime.process.current import create_event, create_stream
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import Event, Stream


def stream() -> Stream:
    """Return a new stream of the current device."""
    return create_stream()


def event(timing: bool = True) -> Event:
    """Return a new event; timing: whether elapsed times to other events can be taken."""
    return create_event(timing=timing)


def is_available() -> bool:
    """Return whether kernels run: on a GPU, or on the host, which simulates a GPU."""
    if session().is_host:
        return True
    from gridjit.runtime.devices import presence

    return presence.device_count() > 0


def is_cuda_array(obj: Any) -> bool:
    """Return whether obj has __cuda_array_interface__."""
    return hasattr(obj, "__cuda_array_interface__")
