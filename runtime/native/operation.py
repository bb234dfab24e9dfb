"""Operation: how the native launch function reads one argument, a row of its table. A frozen value."""

from __future__ import annotations

import enum

from gridjit.values import dataclass


class Read(enum.IntEnum):
    """The ways to read an argument. The numbers are the cases of the native function's switch."""

    COPY = 0  # `size` bytes at `at[0]` in the object; if mask, the word at at[1] & mask must be tag
    DOUBLES_TO_FLOATS = 1  # `size` / 4 doubles at at[0], rounded
    INT = 2  # a Python int from tag to limit (as signed numbers), `size` bytes
    UNSIGNED = 3  # a Python int of 64 bits without a sign; one below 2**63, also a negative one, only if limit is 1
    INT_TO_DOUBLE = 4
    INT_TO_FLOAT = 5
    BOOL = 6  # True or False
    SLOT = 7  # `size` bytes of a bytes object in the slot at at[0], if the slot at at[1] holds the object `tag`
    STRIDED = 8  # pointers to shape and strides (bytes) in the object: NumPy's arrays and their like
    DLPACK = 9  # what a DLPack exchange function writes
    IGNORED = 10  # no parameters, any value of the type
    ITSELF = 11  # the object `tag` and no other; its parameter is a null pointer


LAYOUTS = {"C": 0, "F": 1, "A": 2, "any": 3}
PLACES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One argument: of exactly this Python type (by id), read in this way.

    type: id of the Python type. size: bytes of parameters. The rest is what its way of reading says:
    tag, mask, limit: words to compare with. ndim, itemsize, layout: of arrays; layout as LAYOUTS numbers it.
    at: offsets in the object, found by probes. call: address of a function. keep: objects that ids above stand for.
    follow: address of a function without arguments that returns the stream that the argument's library works in, which
    must be the launch's own; 0: no need.
    """

    read: Read
    type: int
    size: int
    alignment: int = 8
    tag: int = 0
    mask: int = 0
    limit: int = 0
    ndim: int = 0
    itemsize: int = 0
    layout: int = 0
    at: tuple[int, ...] = ()
    call: int = 0
    follow: int = 0
    keep: tuple[object, ...] = ()
