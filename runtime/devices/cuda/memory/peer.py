"""peer: copies from one device's memory into another's, without the host, in the order of both devices' streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridjit.runtime.devices.cuda.last_launched import attributed
from gridjit.runtime.memory.copies import Array, address_of, straightening
from gridjit.runtime.streams import new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice


def copy_between(
    here: CudaDevice, destination: Array, stream: Any, there: CudaDevice, source: Array, source_stream: Any
) -> bool:
    """Copy source, a ghost on one device, into destination on another; False if they are laid out differently.

    It is in the order of stream, which is here, and of source_stream, which is there: earlier work there is
    waited for, and what comes after waits.
    """
    turn = straightening(destination)
    block = turn.of(destination)
    if destination.strides != source.strides or not block.flags.c_contiguous:
        return False
    if not block.size:
        return True
    mine, theirs = stream_handle(stream), stream_handle(source_stream)
    _wait(here, mine, there, theirs)
    with here.current, attributed(mine, here.ordinal):
        here.driver.copy_peer(
            (address_of(block), here.context), (address_of(turn.of(source)), there.context), block.nbytes, mine
        )
    _wait(there, theirs, here, mine)
    return True


def _wait(device: CudaDevice, stream: int, other: CudaDevice, others_stream: int) -> None:
    """Have what comes next in a device's stream wait for what another device's has been given."""
    with new_event(other.timeline, timing=False) as event:
        event.record(others_stream)
        device.timeline.wait(stream, event.handle)
