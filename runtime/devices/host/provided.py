"""provided: what this process offers the host's code: the symbols that artifacts' resources name, with addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gridjit.compiler.targets.host.library.symbols import COUNTERS, RESOURCES, STREAM
from gridjit.runtime.devices.host.allocations import counters
from gridjit.runtime.devices.host.printed import stream_cell

_ADDRESSES: dict[str, Callable[[], int]] = {STREAM: stream_cell, COUNTERS: counters}


def addresses(resources: Iterable[str]) -> dict[str, int]:
    """Return the symbols that resources stand for, with their addresses."""
    return {RESOURCES[name]: _ADDRESSES[RESOURCES[name]]() for name in resources if name in RESOURCES}
