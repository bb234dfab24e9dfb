"""foreign_described: torch's tensors and CuPy's arrays, read by the machine code that reads them for launches.

If an array of that kind was seen before, it returns the parameters of a launch, which are what a view keeps.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.memory.array_facts import Kind
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.process.session import session
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.streams import LEGACY

if TYPE_CHECKING:
    from gridjit.runtime.arrays.foreign_over import Seen
    from gridjit.runtime.native.function import NativeFunction
    from gridjit.runtime.native.operation import Operation

# Kinds that the machine code of one type of arrays is told of; its tables are never freed.
_MOST = 64
_NO_ITEMS = bytes(8)
_EMPTY: dict[type, Describer] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of arrays of a kind. seen: one of them, without the array itself. odd: bits of misaligned ones."""

    kind: Kind
    seen: Seen
    odd: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Describer:
    """What describes arrays of one type. native: its call returns a Known and parameters, or None.

    session: whose device they are for. has_gradients: whether an array may ask for those, which are then not seen to.
    told: how arrays are read that machine code was told of.
    """

    native: NativeFunction
    describe: Callable[[Any], tuple[Known, bytes] | None]
    session: Any
    has_gradients: bool
    told: set[Operation]


# By the type of an array: for views in the current stream, and for views that wait for nothing.
_describers: dict[int, dict[type, Describer]] = {0: {}, -1: {}}
_telling = lock()


def made_by_description(obj: Any, stream: int) -> tuple[Callable[[], DeviceArray], Kind, bytes] | None:
    """Return what a view of obj is, if one of its kind was told of; its producer's work needs no wait then."""
    known = _describers.get(stream, _EMPTY).get(type(obj))
    if known is None or known.session is not session() or (found := known.describe(obj)) is None:
        return None
    what, parameters = found
    # Items that are not aligned are of another kind. Where there are none, their address is another.
    if parameters[32] & what.odd or parameters[16:24] == _NO_ITEMS or (known.has_gradients and obj.requires_grad):
        return None
    return partial(_over, what.seen, obj, parameters), what.kind, parameters


def _over(seen: Seen, obj: Any, parameters: bytes) -> DeviceArray:
    """Return an array over obj's memory. seen: of an array of its kind."""
    words = struct.unpack(f"{len(parameters) // 8}q", parameters)
    ndim = (len(words) - 5) // 2
    array = dataclasses.replace(seen.array, address=words[4], shape=words[5 : 5 + ndim], strides=words[5 + ndim :])
    return dataclasses.replace(seen, array=array, owner=obj).over()


def learn_description(obj: Any, seen: Seen, kind: Kind) -> None:
    """Have arrays like obj described from now on, if machine code can. seen: without what keeps obj alive."""
    if not session().settings.native_launch or (operation := _operation(obj)) is None:
        return
    alignment = seen.array.dtype.alignment
    if seen.array.address % alignment:
        return
    with section(), _telling:
        for stream in _describers:
            known = _describers[stream].get(type(obj))
            if known is None or known.session is not session():
                if (known := _describer(obj)) is None:
                    return
            elif operation in known.told or len(known.told) >= _MOST:
                continue
            if _tell(known, operation, stream, Known(kind=kind, seen=seen, odd=alignment - 1)):
                known.told.add(operation)
                _describers[stream][type(obj)] = known


def _describer(obj: Any) -> Describer | None:
    from gridjit.runtime.native.function import native_function

    native = native_function(session().store(True), _not_known, _not_known)
    if native is None:
        return None
    return Describer(
        native=native,
        describe=native.call,
        session=session(),
        has_gradients=type(obj).__module__.partition(".")[0] == "torch",
        told=set(),
    )


def _tell(known: Describer, operation: Operation, stream: int, what: Known) -> bool:
    """Have machine code describe arrays of a kind; return whether it can where their library works now."""
    from gridjit.runtime.native.table import KernelHandle, LaunchTable, SlotGuard

    follow = followed = 0
    if stream == 0 and operation.follow:
        from gridjit.runtime.launch.native_table import stream_followed

        follow, followed = operation.follow, stream_followed(operation.follow)
        if followed not in (0, LEGACY):
            return False
    known.native.add(
        LaunchTable(
            launch=0,
            entry=KernelHandle(handle=id(what)),
            config=LaunchConfig.of(1, 1),
            sharedmem=0,
            stream=0,
            operations=(operation,),
            guard=SlotGuard(address=attention.EITHER, holds=0) if follow else None,
            follow=follow,
            followed=followed,
            keep=(what,),
            describes=True,
        )
    )
    return True


def _operation(obj: Any) -> Operation | None:
    """Return how a launch on the current device reads obj; None if only Python can."""
    from gridjit.runtime.args.handler import handler_of
    from gridjit.runtime.process.arguments import place_on

    handler, place = handler_of(obj), place_on(session().device(None))
    try:
        return handler.operation(obj, place, handler.type_of(obj, place))
    except ArgumentError:
        return None  # it is on another device


def _not_known(*_: Any) -> None:
    """Return None, for what machine code was not told of."""
