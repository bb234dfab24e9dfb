"""foreign_streams: the handle of a library's stream, by __cuda_stream__ or as torch, CuPy and numba-cuda have it."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.errors import ArgumentError


def foreign_handle(stream: Any) -> int | None:
    """Return the handle of an object that is a stream; None if it is not."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ArgumentError(f"stream {stream!r} has version {version} of __cuda_stream__; only 0 is supported")
        return int(handle)
    for name in ("cuda_stream", "ptr", "handle"):
        if (value := getattr(stream, name, None)) is not None:
            return _number(value)
    return None


def _number(value: Any) -> int | None:
    """Return a handle that is an int, a ctypes pointer (None inside: 0), or converts to an int."""
    if hasattr(value, "value"):
        return int(value.value or 0)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
