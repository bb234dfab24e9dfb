"""machine_code: has repeated launches found by machine code, which reads what a launcher's Repeats knows.

It compares what Repeats.again compares, in the same order. If this interpreter keeps anything of it elsewhere than
expected, Python does all of this.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gridjit.cache.store import Store
from gridjit.runtime.attention import CHOSEN
from gridjit.runtime.hazards.clocks import Line
from gridjit.runtime.hazards.places import Site
from gridjit.runtime.hazards.ranges import MemoryUse, UsedMemory
from gridjit.runtime.hazards.repeats import Repeat, Repeats
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.native.placement import environment, for_ever, repeats_address
from gridjit.runtime.native.probes import offsets_of, only, slot_offset, word
from gridjit.runtime.native.repeats.records import API, RepeatSlots, RepeatsRecord


def finds_repeats(launched: Any, launch: int, python: Callable[..., None], store: Store) -> int | None:
    """Return the address of the function that objects like launched are to be called by; None if Python is.

    launch: the address of the launch function, which makes those launches that are repeats. python: called with the
    object and its arguments for all others; the same function each time. store: where machine code is kept.
    """
    slots, record = _slots(type(launched), type(launched.launcher)), _record(launch, python)
    if slots is None or record is None:
        return None
    environment.repeats = ctypes.addressof(for_ever(record))
    return repeats_address(store, slots)


def _slots(configured: type, launcher: type) -> RepeatSlots | None:
    try:
        return RepeatSlots(**dict(_found(configured, launcher)), ended_size=_length_of_deques())
    except LookupError:
        return None


def _found(configured: type, launcher: type) -> Iterator[tuple[str, int]]:
    """Yield where each slot is, by the names that RepeatSlots has for them; raises LookupError."""
    for name, owner, slot in (
        ("launcher", configured, "launcher"),
        ("repeats", launcher, "repeats"),
        ("ended", Repeats, "_ended"),
        ("line", Repeats, "line"),
        ("known", Repeats, "_known"),
        ("line_window", Line, "window"),
        ("line_conflicts", Line, "conflicts"),
        ("line_time", Line, "time"),
        ("window", Repeat, "window"),
        ("conflicts", Repeat, "conflicts"),
        ("time", Repeat, "time"),
        ("pattern", Repeat, "pattern"),
        ("site", Repeat, "site"),
        ("marks", Repeat, "marks"),
        ("use_time", MemoryUse, "time"),
        ("use_what", MemoryUse, "what"),
        ("place", Site, "place"),
        ("places", Site, "places"),
        ("key", UsedMemory, "key"),
        ("parameters", DeviceArray, "_parameters"),
    ):
        if (offset := slot_offset(owner, slot)) is None:
            raise LookupError(slot)
        yield name, offset


def _length_of_deques() -> int:
    """Return where a deque has its length; raises LookupError if that is not clear."""
    samples = [deque(range(length + 5)) for length in (977, 1234)]
    for sample in samples:
        for _ in range(5):  # otherwise the number of its changes would stay the same
            sample.pop()
    return only(offsets_of(deque.__basicsize__, [(sample, word(len(sample))) for sample in samples]))


def _record(launch: int, python: Callable[..., None]) -> RepeatsRecord | None:
    made = RepeatsRecord(launch=launch, python=id(for_ever(python)), chosen=CHOSEN)
    made.repeats_type, made.piece_type, made.array_type = id(Repeats), id(UsedMemory), id(DeviceArray)
    try:
        for name in API:
            setattr(made, name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    except AttributeError:
        return None
    return made
