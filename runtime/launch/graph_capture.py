"""graph_capture: refuses what a launch cannot do while its stream is captured, and says what to do instead.

The driver would refuse it too, but with a code, and the capture would be lost by then. Code is compiled and loaded as
ever: that is not captured.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.errors import ArgumentError
from gridjit.runtime.streams import Timeline, stream_handle


def refuse_to_copy(timeline: Timeline, stream: Any) -> None:
    """Raise ArgumentError if an array would have to be copied to the device and back while stream is captured."""
    if timeline.capturing(stream_handle(stream)):
        raise ArgumentError(
            "an array on the host is copied to the device for one launch, which a graph cannot repeat: give the "
            "captured launch an array that is already on the device, made with cuda.to_device() before the capture"
        )
