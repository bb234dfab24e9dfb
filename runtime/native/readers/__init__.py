"""The ways to read an argument, as LLVM IR: one function for each of READS.

    i1 read_xxx(ptr env, ptr operation, ptr object, ptr out)

writes the argument's parameters to out and returns true, or returns false for an argument that is not as expected.
The type of the object has been compared already.
"""

from __future__ import annotations

from gridjit.runtime.native.readers import directed, dlpack, integers, plain, slots, strided
from gridjit.runtime.native.readers.shapes import SHAPES
from gridjit.runtime.native.readers.words import reader
from gridjit.runtime.native.records import READS

_BODIES = {
    **plain.READERS,
    **integers.READERS,
    **slots.READERS,
    **strided.READERS,
    **dlpack.READERS,
    **directed.READERS,
}


def readers() -> str:
    """Return all of them, and what they call."""
    return "".join(reader(read, _BODIES[read]) for read in READS) + SHAPES
