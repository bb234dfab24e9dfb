"""The records of launches that copy host arrays: one launch's copies, and the rooms to copy through.

A room is host memory and as much of the device's. A launch takes a free one, and gives it back when the
device is done with it; so no launch ever waits for another's. The host's is not page-locked: to get such memory, the
driver may wait for everybody's work, and it copies so few bytes as part of the command.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from gridjit.compiler.values.launch_config import LaunchConfig

if TYPE_CHECKING:
    from gridjit.runtime.native.operation import Moved, Operation

# A launch with more arrays, or more bytes of them, is made from Python.
MAX_ARRAYS = 8
ROOM_BYTES = 1 << 16
# In a room, each array begins at a multiple of this, as the device's allocations do.
ALIGNMENT = 256
MAX_ROOMS = 8

# Codes that are not the driver's: Python has to make this launch; it has to, as each room is taken.
BY_PYTHON = -2
NO_ROOM = -3
# Added to the driver's code where the launch was made, and something failed after it.
AFTER = 1 << 20


class StagingRecord(ctypes.Structure):
    """One launch's copies. rooms: address of a RoomsRecord. offset0...: of each array's parameters in the buffer.

    The arrays that are only read come first, the arrays that are only written last: the first `read` arrays are copied
    to the device, and the arrays from number `written` on are copied back.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("rooms", "count", "read", "written")),
        *((f"offset{index}", ctypes.c_int64) for index in range(MAX_ARRAYS)),
    ]


class RoomRecord(ctypes.Structure):
    """One room. taken: 1 while a launch uses it. here, there: its memory on the host, and on the device."""

    _fields_ = [(name, ctypes.c_int64) for name in ("taken", "here", "there")]


class RoomsRecord(ctypes.Structure):
    """The rooms of one context, the first `count` of which there are, and the functions that a launch calls.

    copy_in, copy_out: like cuMemcpyHtoDAsync and cuMemcpyDtoHAsync. synchronize: like cuStreamSynchronize. capturing:
    like cuStreamIsCapturing. move: memmove. bytes: of one room.
    """

    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in ("copy_in", "copy_out", "synchronize", "capturing", "move", "bytes", "count")
        ),
        ("rooms", RoomRecord * MAX_ROOMS),
    ]


class Rooms(Protocol):
    """The rooms of one context of a device."""

    @property
    def address(self) -> int:
        """The address of a RoomsRecord, which stays as long as this does."""

    def grow(self, stream: int) -> bool:
        """Make another room in stream, which is waited for, if all are taken; return whether there is any."""

    def fail(self, code: int, kernel: str, config: LaunchConfig, stream: int) -> None:
        """Raise the error of a code that the driver returned after a launch was made."""


def can_stage(operations: Sequence[Operation]) -> bool:
    """Return whether machine code can copy a launch's arrays: a few, at least one of which is waited for."""
    moved = [op.moved for op in operations if op.moved is not None]
    return len(moved) <= MAX_ARRAYS and any(one.writes for one in moved)


def staging_record(operations: Sequence[Operation], offsets: Sequence[int], rooms: int) -> StagingRecord:
    """Return a launch's copies. offsets: of each operation's parameters. rooms: address of a RoomsRecord."""
    moved = [(op.moved, offset) for op, offset in zip(operations, offsets, strict=True) if op.moved is not None]
    moved.sort(key=lambda one: _place(one[0]))
    record = StagingRecord(
        rooms=rooms,
        count=len(moved),
        read=sum(how.reads for how, _ in moved),
        written=sum(not how.writes for how, _ in moved),
    )
    for number, (_, offset) in enumerate(moved):
        setattr(record, f"offset{number}", offset)
    return record


def _place(how: Moved) -> tuple[bool, bool]:
    """Return the key that sorts arrays: first arrays that are only read, last arrays that are only written."""
    return how.writes, not how.reads
