"""LaunchTable: the native launch function's table for one shape of launch and one kind of arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from gridjit.base.values import dataclass
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.native.layout import launch_records as records
from gridjit.runtime.native.operation import Operation

if TYPE_CHECKING:
    from gridjit.runtime.native.layout.staging_records import Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGuard:
    """A slot (its address) that must still hold an object (its id), for a launch to go ahead."""

    address: int
    holds: int
    keep: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHandle:
    """The kernel that the driver launches. handle: good in one context only, if ask is not 0.

    ask: address of a function like cuCtxGetId, which must tell the number `context` for the calling thread's context.
    fail: on the host, where launches report kernels' errors: it raises the error, given the configuration and the
    report. None: the function to launch by is like cuLaunchKernel.
    rooms: returns the rooms through which host arrays are copied in that context; None: only Python copies them.
    """

    handle: int
    ask: int = 0
    context: int = 0
    fail: Callable[[LaunchConfig, bytes], NoReturn] | None = None
    rooms: Callable[[], Rooms] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTable:
    """One launch, but for the values of its arguments.

    launch: address of a function like cuLaunchKernel, or like launch_grid on the host. entry: the kernel. stream: its
    handle. sharedmem: dynamic shared memory in bytes. guard: a condition for stream to be valid.
    follow, followed: a function's address and the result it must have. keep: owners of handles and addresses.
    kernel, device: its name in messages, and the number of the device that it is launched on. describes: launch
    nothing; return the object that the entry's handle is the address of, and the parameters. rooms: the rooms through
    which the host's arrays are copied; None if none are copied.
    """

    launch: int
    entry: KernelHandle
    config: LaunchConfig
    sharedmem: int
    stream: int
    operations: tuple[Operation, ...]
    hold_gil: bool = False
    guard: SlotGuard | None = None
    follow: int = 0
    followed: int = 0
    keep: tuple[object, ...] = ()
    kernel: str = ""
    device: int | None = None
    describes: bool = False
    rooms: Rooms | None = None

    @property
    def places(self) -> tuple[tuple[int, ...], int]:
        """Where each argument's parameters go, with natural alignment, and the bytes that all of them take."""
        return layout_of(self.operations)

    @property
    def fits(self) -> bool:
        """Whether the native function can launch it: its parameters must have room on the stack."""
        return self.places[1] <= records.MAX_BUFFER and len(self.operations) <= records.MAX_ARGUMENTS

    def in_memory(self, following: int) -> ctypes.Array[ctypes.c_char]:
        """Return the table as the native function reads it; following: address of the table to try next, or 0."""
        offsets, size = self.places
        head = records.TableRecord(
            next=following,
            nargs=len(self.operations),
            flags=self._flags(size),
            size=size,
            launch=self.launch,
            handle=self.entry.handle,
            stream=self.stream,
            guard=self.guard.address if self.guard else 0,
            guarded=self.guard.holds if self.guard else 0,
            ask=self.entry.ask,
            context=_signed(self.entry.context),
            follow=self.follow,
            followed=_signed(self.followed),
            shared=self.sharedmem,
        )
        head.gx, head.gy, head.gz = self.config.griddim
        head.bx, head.by, head.bz = self.config.blockdim
        rows = (_record_at(op, offset) for op, offset in zip(self.operations, offsets, strict=True))
        if self.rooms is None:
            data = b"".join(map(bytes, (head, *rows)))
            return ctypes.create_string_buffer(data, len(data))
        from gridjit.runtime.native.layout.staging_records import staging_record  # most launches copy nothing

        data = b"".join(map(bytes, (head, *rows)))
        staging = bytes(staging_record(self.operations, offsets, self.rooms.address))
        memory = ctypes.create_string_buffer(data + staging, len(data) + len(staging))
        records.TableRecord.from_buffer(memory).staging = ctypes.addressof(memory) + len(data)
        return memory

    def _flags(self, size: int) -> int:
        padded = sum(op.size for op in self.operations) != size
        return (
            (records.HOLD_GIL if self.hold_gil else 0)
            | (records.PADDED if padded else 0)
            | (records.HOST if self.entry.fail else 0)
            | (records.STAGED if self.rooms else 0)
            | (records.DESCRIBED if self.describes else 0)
        )


def layout_of(operations: Sequence[Operation]) -> tuple[tuple[int, ...], int]:
    """Return the offsets of operations' parameters, each aligned by itself, and the size of all."""
    offsets, end = [], 0
    for op in operations:
        end = -(-end // op.alignment) * op.alignment
        offsets.append(end)
        end += op.size
    return tuple(offsets), end


def _record_at(op: Operation, offset: int) -> records.OperationRecord:
    record = op.record()
    record.offset = offset
    return record


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word
