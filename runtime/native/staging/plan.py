"""plan: what a launch copies, in the order in which it lies in a room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridjit.runtime.native.staging.records import MAX_ARRAYS, StagingRecord

if TYPE_CHECKING:
    from gridjit.runtime.native.operation import Moved, Operation


def can_stage(operations: Sequence[Operation]) -> bool:
    """Return whether machine code can copy what a launch moves: a few arrays, one of which at least is waited for."""
    moved = [op.moved for op in operations if op.moved is not None]
    return len(moved) <= MAX_ARRAYS and any(one.writes for one in moved)


def staging_record(operations: Sequence[Operation], offsets: Sequence[int], rooms: int) -> StagingRecord:
    """Return what the launch copies. offsets: of each operation's parameters. rooms: address of a RoomsRecord."""
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
    """Return what sorts arrays: those first that are only read, those last that are only written."""
    return how.writes, not how.reads
