"""foreign_streams: the handle of a library's stream, by __cuda_stream__ or torch's, CuPy's and numba-cuda's names."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.values.errors import ArgumentError, shown


def foreign_handle(stream: Any) -> int | None:
    """Return the handle of an object that is a stream; None if it is not."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _of_protocol(stream, protocol() if callable(protocol) else protocol)
    for name in ("cuda_stream", "ptr", "handle"):
        if (value := getattr(stream, name, None)) is not None:
            return _number(value)
    return None


def _of_protocol(stream: Any, given: Any) -> int:
    """Return the handle in the value of __cuda_stream__; raises ArgumentError if there is none."""
    try:
        version, handle = given
        number = None if isinstance(handle, float | str | bytes) else int(handle)
    except (TypeError, ValueError):
        number = None
    if number is None:
        raise ArgumentError(f"stream {shown(stream)} gives {shown(given)} as __cuda_stream__; it has to be (0, handle)")
    if version != 0:
        raise ArgumentError(f"stream {shown(stream)} has version {version} of __cuda_stream__; only 0 is supported")
    return number


def _number(value: Any) -> int | None:
    """Return a handle that is an int, a ctypes pointer (None inside: 0), or converts to an int."""
    if hasattr(value, "value"):
        return int(value.value or 0)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
