"""Packets: messages between a program and its compiling processes. Each is sent and received whole, or not at all.

An interrupt can come between a system call and its acknowledgement, so a packet may be sent twice, the second time
right after the first: a receiver puts packets where a repetition makes no difference.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Iterator

from gridjit.base.values import dataclass

# A program's packets: how many processes it wants, to a server that it did not start, which answers in kind; the
# surroundings of the following tasks; a task; a task that it waits for.
HELLO, SURROUNDINGS, TASK, FIRST = b"H", b"S", b"T", b"F"
# Its answers: a task is begun, with its process's number; done, with its result; or lost, with the reason; or all its
# tasks are lost.
BEGUN, DONE, LOST, BROKEN = b"B", b"D", b"L", b"X"
# The reason for a lost task whose process died.
ENDED = "the process that compiled it ended"

_HEAD = struct.Struct("<cIII")
_SIZE = struct.Struct("<I")
_MOST_SIZE = (1 << 32) - 1
_PART = 48 << 10  # a packet must fit into a socket's buffer
MOST = _HEAD.size + _PART


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A part of a message about a task: one of `count`, in order. number: of the task, or of its surroundings."""

    kind: bytes
    number: int
    index: int
    count: int
    data: bytes

    @classmethod
    def read(cls, text: bytes) -> Packet:
        """Return a received packet."""
        kind, number, index, count = _HEAD.unpack_from(text)
        return cls(kind=kind, number=number, index=index, count=count, data=text[_HEAD.size :])


def packets(kind: bytes, number: int, data: bytes = b"") -> Iterator[bytes]:
    """Yield a message's packets."""
    count = max(1, -(-len(data) // _PART))
    for index in range(count):
        yield _HEAD.pack(kind, number, index, count) + data[index * _PART : (index + 1) * _PART]


def sized(size: int, data: bytes) -> bytes:
    """Return a task's message: its data, and its size, compared with other tasks."""
    return _SIZE.pack(min(size, _MOST_SIZE)) + data


def size_and_data(message: bytes) -> tuple[int, bytes]:
    """Return the size and the data of a task's message."""
    return _SIZE.unpack_from(message)[0], message[_SIZE.size :]


def short(kind: bytes, number: int, text: str) -> bytes:
    """Return a message of text as a single packet, cut off if it is too long."""
    (packet,) = packets(kind, number, text.encode("utf-8", "replace")[: _PART // 4])
    return packet


class Inbox:
    """Messages that are not complete yet."""

    def __init__(self) -> None:
        self._parts: dict[tuple[bytes, int], dict[int, bytes]] = {}

    def add(self, packet: Packet) -> bytes | None:
        """Return the message that a packet completes, or None."""
        parts = self._parts.setdefault((packet.kind, packet.number), {})
        parts[packet.index] = packet.data
        if len(parts) < packet.count:
            return None
        del self._parts[packet.kind, packet.number]
        return b"".join(parts[index] for index in range(packet.count))


class Outbox:
    """Packets on their way into a socket, which may not have room for them now."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, *messages: bytes) -> None:
        """Send packets after the waiting packets: all of them, or none if an interrupt comes."""
        self._waiting.extend(messages)

    def flush(self, to: socket.socket) -> None:
        """Send as many as there is room for; raises OSError without a receiver."""
        with contextlib.suppress(BlockingIOError):
            while self._waiting:
                to.send(self._waiting[0], socket.MSG_DONTWAIT)
                self._waiting.popleft()
