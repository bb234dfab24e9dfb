"""all_readers: the functions that read arguments, as LLVM IR, one for each of READS.

    i1 read_xxx(ptr env, ptr operation, ptr object, ptr out)

writes the argument's parameters to out and returns true, or returns false for an argument that is not as expected.
The type of the object has been compared already.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.launch_records import READS
from gridjit.runtime.native.readers import dlpack, integers, plain, strided
from gridjit.runtime.native.readers.shapes import SHAPES
from gridjit.runtime.native.readers.words import reader

_BODIES = {
    **plain.READERS,
    **integers.READERS,
    **strided.READERS,
    **dlpack.READERS,
}


def all_readers() -> str:
    """Return the text of all of them, and of what they call."""
    return "".join(reader(read, _BODIES[read]) for read in READS) + SHAPES
