"""address: the address of a compile server, and whether the process at the other end of a socket is this user's.

The address is a name of Linux's, not a file: it is gone with the process that listens there, however that ends. It
names the user, the cache, the interpreter and their view of the file system, so programs that differ in any of these do
not meet.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from pathlib import Path

from gridjit.base.digests import sha256, utf8

# The system's record of the process at the other end: its number, its user's and its group's.
_PEER = struct.Struct("iII")


def address(cache: Path) -> str:
    """Return the name at which programs of this user, interpreter and cache folder find a compile server."""
    python = (sys.prefix, str(sys.implementation.cache_tag), str(sys.flags.optimize))
    said = (os.path.realpath(cache), *python, *map(str, _file_system()))
    return f"\0gridjit-{os.geteuid()}-{sha256(utf8(chr(0).join(said))).hex()[:32]}"


def connected(cache: Path) -> socket.socket | None:
    """Return a socket to this user's compile server of a cache folder; None if there is none."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        made.setblocking(False)  # a server that does not accept connections is not waited for
        made.connect(address(cache))
        made.setblocking(True)
        if is_this_user(made):
            return made
    except OSError:
        pass
    except BaseException:
        made.close()
        raise
    made.close()
    return None


def listening_process(cache: Path) -> int | None:
    """Return the number of the process that is the compile server of a cache folder; None if there is none."""
    there = connected(cache)
    if there is None:
        return None
    with there:
        return process_of(there)


def process_of(other: socket.socket) -> int:
    """Return the number of the process at the other end of a socket; of a connected socket, the listener's."""
    return _peer(other)[0]


def is_this_user(other: socket.socket) -> bool:
    """Return whether the process at the other end of a socket has this process's user and group."""
    return _peer(other)[1:] == (os.geteuid(), os.getegid())


def _peer(other: socket.socket) -> tuple[int, int, int]:
    found: tuple[int, int, int] = _PEER.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return found


def _file_system() -> tuple[int, ...]:
    """Return numbers that tell this process's view of the file system from a container's."""
    found = [os.stat("/")]
    with contextlib.suppress(OSError):
        found.append(os.stat("/proc/self/ns/mnt"))
    return tuple(number for one in found for number in (one.st_dev, one.st_ino))
