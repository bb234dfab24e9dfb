"""foreign_described: torch's tensors and CuPy's arrays, read by the machine code that reads them for launches.

If an array of that kind was seen before, it returns the parameters of a launch, which a view keeps.
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

# The most kinds that the machine code of one type of arrays knows; its tables are never freed.
_MOST = 64
_NO_ITEMS = bytes(8)
_EMPTY: dict[type, Describer] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A known kind of arrays. seen: such an array, without its owner. odd: address bits of misaligned arrays."""

    kind: Kind
    seen: Seen
    odd: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Describer:
    """Describes arrays of one type. native: its call returns a Known and parameters, or None.

    session: its device is theirs. has_gradients: whether an array may require gradients, which machine code ignores.
    told: the operations that machine code knows.
    """

    native: NativeFunction
    describe: Callable[[Any], tuple[Known, bytes] | None]
    session: Any
    has_gradients: bool
    told: set[Operation]


# By the type of an array: for views in the current stream, and for views that do not wait.
_describers: dict[int, dict[type, Describer]] = {0: {}, -1: {}}
_telling = lock()


def made_by_description(obj: Any, stream: int) -> tuple[Callable[[], DeviceArray], Kind, bytes] | None:
    """Return a view of obj, if machine code knows its kind; then its producer's work needs no wait."""
    known = _describers.get(stream, _EMPTY).get(type(obj))
    if known is None or known.session is not session() or (found := known.describe(obj)) is None:
        return None
    what, parameters = found
    # Misaligned items are another kind. An array without items has another address.
    if parameters[32] & what.odd or parameters[16:24] == _NO_ITEMS or (known.has_gradients and obj.requires_grad):
        return None
    return partial(_over, what.seen, obj, parameters), what.kind, parameters


def _over(seen: Seen, obj: Any, parameters: bytes) -> DeviceArray:
    """Return an array over obj's memory. seen: an array of its kind."""
    words = struct.unpack(f"{len(parameters) // 8}q", parameters)
    ndim = (len(words) - 5) // 2
    array = dataclasses.replace(seen.array, address=words[4], shape=words[5 : 5 + ndim], strides=words[5 + ndim :])
    return dataclasses.replace(seen, array=array, owner=obj).over()


def learn_description(obj: Any, seen: Seen, kind: Kind) -> None:
    """Describe arrays like obj from now on, if machine code can. seen: does not keep obj alive."""
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
    """Teach machine code a kind of arrays; return whether it works with their library's current stream."""
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
    """Return a launch's operation for obj on the current device; None if only Python can."""
    from gridjit.runtime.args.handler import handler_of
    from gridjit.runtime.process.arguments import place_on

    handler, place = handler_of(obj), place_on(session().device(None))
    try:
        return handler.operation(obj, place, handler.type_of(obj, place))
    except ArgumentError:
        return None  # it is on another device


def _not_known(*_: Any) -> None:
    """Return None, for arrays that machine code does not know."""
