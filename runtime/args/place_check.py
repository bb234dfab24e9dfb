"""check_device: an argument's memory must be where the kernel runs."""

from __future__ import annotations

from gridjit.compiler.errors import ArgumentError
from gridjit.runtime.args.handler import Place


def check_device(what: str, device: int | None, place: Place) -> None:
    """Raise ArgumentError if memory on a CUDA device (its number), or on the host (None), is not usable at place."""
    if place.is_host:
        if device is not None:
            raise ArgumentError(
                f"{what} on CUDA device {device} cannot be passed to a kernel on the host; copy it to the host first"
            )
    elif device is None:
        raise ArgumentError(
            f"{what} in host memory cannot be passed to a kernel on {place}; move it to the device first"
        )
    elif place.ordinal is not None and device != place.ordinal:
        raise ArgumentError(
            f"{what} on CUDA device {device} cannot be passed to a kernel on {place}; move it there, or make its "
            "device the current one"
        )
