"""launch_table: the native function's table for a launch that Python has just made, or None if only Python can."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridjit.runtime.args.base import Place, handler_of
from gridjit.runtime.native.layout import slot_offset
from gridjit.runtime.native.operation import Operation
from gridjit.runtime.native.table import Entry, Guard, LaunchTable
from gridjit.runtime.session import session
from gridjit.runtime.streams import LEGACY, Stream, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.dispatch import Launcher, Ready

# The slot of our own streams that holds another object once the stream is destroyed.
LIVE = "_live"


def context_of(loaded: Any) -> int:
    """Return the number of the context that a table made now is for; 0 where contexts are no matter."""
    return int(getattr(loaded, "context", 0))


def table_of(launcher: Launcher, ready: Ready, args: tuple[Any, ...], context: int) -> LaunchTable | None:
    """Return the native function's table for such arguments, or None if only Python can launch them.

    context: the number of the calling thread's context.
    """
    loaded: Any = ready.loaded
    config, stream = launcher.config, launcher.stream
    plain = config.cluster is None and not config.cooperative and not getattr(loaded, "checked", False)
    # A module with callbacks has to be asked before each launch whether it is set up.
    plain = plain and getattr(loaded, "module", None) is None
    wanted = getattr(session().settings, "native_launch", True)
    if not plain or not wanted or loaded.artifact.cooperative:
        return None
    place = _place_of_loaded(loaded)
    found = [
        handler_of(arg).operation(arg, place, declared) for arg, declared in zip(args, ready.declared, strict=True)
    ]
    operations = tuple(operation for operation in found if operation is not None)
    if len(operations) < len(args) or not _can_watch(stream):
        return None
    handle = stream_handle(stream)
    follow, followed = _followed(operations)
    if follow and (followed or LEGACY) != (handle or LEGACY):
        return None
    table = LaunchTable(
        launch=loaded.address,
        entry=loaded.entry(context) if context else Entry(handle=loaded.handle),
        config=config,
        sharedmem=ready.sharedmem,
        stream=handle,
        operations=operations,
        hold_gil=bool(getattr(launcher.kernel, "hold_gil", False)),
        guard=_guard(stream),
        follow=follow,
        followed=followed,
        keep=(loaded, stream),
        kernel=loaded.artifact.kernel,
        device=getattr(getattr(loaded, "device", None), "ordinal", None),
    )
    return table if table.fits and table.places[1] == struct.calcsize(loaded.artifact.parameters) else None


def _followed(operations: Sequence[Operation]) -> tuple[int, int]:
    """Return the function that tells the stream that arguments' library works in, and the stream; zeros if none."""
    functions = {operation.follow for operation in operations} - {0}
    if not functions:
        return 0, 0
    # Only one library is known that has such a function.
    (function,) = functions
    return function, ctypes.PYFUNCTYPE(ctypes.c_int64)(function)()


def _place_of_loaded(loaded: Any) -> Place:
    """Return which memory a loaded kernel works on."""
    if space_of(loaded) is None:
        return Place()
    return Place(kind="ptx", ordinal=getattr(loaded.device, "ordinal", None))


def space_of(loaded: Any) -> Any:
    """Return the memory that arguments must be in; None for the host's own."""
    return getattr(getattr(loaded, "device", None), "space", None)


def _can_watch(stream: Any) -> bool:
    """Return whether the native function can see that a stream's handle is still good."""
    return not isinstance(stream, Stream) or slot_offset(type(stream), LIVE) is not None


def _guard(stream: Any) -> Guard | None:
    """Return what must hold for a stream's handle to be good; None if it always is."""
    if not isinstance(stream, Stream):
        return None
    place = slot_offset(type(stream), LIVE)
    return None if place is None else Guard(address=id(stream) + place, holds=id(getattr(stream, LIVE)))
