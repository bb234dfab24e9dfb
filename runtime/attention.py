"""attention: numbers that machine code looks at before a launch in the default stream: whether Python has to see to it.

They are 0 in programs that neither give the host's streams work nor choose a stream, so such launches lose nothing.
"""

from __future__ import annotations

import ctypes

from gridjit.forking import in_child, lock


class _Numbers(ctypes.Structure):
    """busy: blocking streams of the host that have work, or went wrong untold; twice. chosen: by a `with`.

    The first two are one word to machine code.
    """

    _fields_ = (("busy", ctypes.c_int32), ("chosen", ctypes.c_int32), ("busy_alone", ctypes.c_int64))


_numbers = _Numbers()
_choosing = lock()

# Where machine code looks for launches that name no stream, and for those in the default stream by its name.
EITHER = ctypes.addressof(_numbers)
BUSY = EITHER + _Numbers.busy_alone.offset


def busy() -> bool:
    """Return whether a blocking stream of the host has work, or went wrong and nobody was told."""
    return bool(_numbers.busy)


def chosen() -> bool:
    """Return whether some thread has chosen a stream."""
    return bool(_numbers.chosen)


def set_busy(count: int) -> None:
    """Note how many blocking streams there are of these; whoever counts them holds the lock of that."""
    _numbers.busy = _numbers.busy_alone = count


def add_chosen(count: int) -> None:
    """Note that so many more streams are chosen."""
    with _choosing:
        _numbers.chosen += count


# The parent's work is not the child's.
in_child(lambda: set_busy(0))
