"""native_table: the native function's table for a launch that Python has just made, or None if only Python can."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.native.layout.probes import slot_offset
from gridjit.runtime.native.operation import Operation
from gridjit.runtime.native.table import LaunchTable, SlotGuard
from gridjit.runtime.process.arguments import place_on
from gridjit.runtime.process.session import session
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.streams import LEGACY, Stream, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready

# The slot of gridjit's streams that holds another object once the stream is destroyed.
LIVE = "_live"


def table_of(launcher: Launcher, ready: Ready, args: tuple[Any, ...], context: int) -> LaunchTable | None:
    """Return the native function's table for such arguments, or None if only Python can launch them.

    context: the number of the calling thread's context.
    """
    loaded, config, stream = ready.loaded, launcher.config, launcher.stream
    plain = config.cluster is None and not (config.cooperative or config.programmatic or loaded.artifact.cooperative)
    if not plain or not session().settings.native_launch:
        return None
    if (function := loaded.grid_function or loaded.driver_function) is None:
        return None
    place = place_on(loaded.device)
    found = [
        handler_of(arg).operation(arg, place, declared) for arg, declared in zip(args, ready.declared, strict=True)
    ]
    operations = tuple(operation for operation in found if operation is not None)
    if len(operations) < len(args) or not _can_watch(stream):
        return None
    handle = stream_handle(stream)
    guard, hold_gil = _guard(stream, place), launcher.kernel.hold_gil
    if handle > LEGACY and (timeline := loaded.device.timeline).queued(handle):
        # While it has the GIL and the stream has no work, no other thread can give it any.
        word = timeline.word(handle) if loaded.is_brief(config) else None
        if word is None:
            return None
        guard, hold_gil = SlotGuard(address=ctypes.addressof(word), holds=0, keep=(word,)), True
    follow, followed = _followed(operations)
    if follow and (followed or LEGACY) != (handle or LEGACY):
        return None
    entry, rooms = loaded.entry(context), None
    if any(operation.moved for operation in operations):
        from gridjit.runtime.native.layout.staging_records import can_stage  # most launches copy nothing

        rooms = entry.rooms() if entry.rooms is not None and can_stage(operations) else None
        if rooms is None or not rooms.grow(handle):
            return None
        hold_gil = False  # the awaited work may need it
    table = LaunchTable(
        launch=function,
        entry=entry,
        config=config,
        sharedmem=ready.sharedmem,
        stream=handle,
        operations=operations,
        hold_gil=hold_gil,
        guard=guard,
        follow=follow,
        followed=followed,
        keep=(loaded, stream),
        kernel=loaded.artifact.kernel,
        device=loaded.device.ordinal,
        rooms=rooms,
    )
    return table if table.fits and table.places[1] == struct.calcsize(loaded.artifact.parameters) else None


def _followed(operations: Sequence[Operation]) -> tuple[int, int]:
    """Return the function that tells the current stream of the arguments' library, and the stream; zeros if none."""
    functions = {operation.follow for operation in operations} - {0}
    if not functions:
        return 0, 0
    # Only one known library has such a function.
    (function,) = functions
    return function, stream_followed(function)


def stream_followed(function: int) -> int:
    """Return the stream that a function at an address returns."""
    return int(ctypes.PYFUNCTYPE(ctypes.c_int64)(function)())


def _can_watch(stream: Any) -> bool:
    """Return whether the native function can see that a stream's handle is still valid."""
    return not isinstance(stream, Stream) or slot_offset(type(stream), LIVE) is not None


def _guard(stream: Any, place: Place) -> SlotGuard | None:
    """Return the condition for launching in a stream in machine code; None if it always holds.

    Its handle must be valid. Where none is named, no thread may have chosen a stream; and the host's default stream
    waits for others, which machine code cannot do.
    """
    if type(stream) is int and stream == 0:
        return SlotGuard(address=attention.EITHER, holds=0)
    if place.is_host and stream_handle(stream) <= LEGACY:
        return SlotGuard(address=attention.BUSY, holds=0)
    if not isinstance(stream, Stream):
        return None
    offset = slot_offset(type(stream), LIVE)
    return None if offset is None else SlotGuard(address=id(stream) + offset, holds=id(stream._live))
