"""arguments: which of a launch's arguments are arrays, where in its parameters, and which of them it may write.

What a kernel may write is what its code is not proven to leave alone. The proof is made once for each of a kernel's
specializations, from the code that the front end makes of it again. Arguments of read-only types are not written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gridjit.compiler.signature import ArgType, ArrayType, RecordType, TupleType
from gridjit.runtime.numba_names.overload import Overload

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.ready import Ready


class Passed(NamedTuple):
    """An array, or a record, among a launch's parameters, at some of its bytes.

    size: of a record, its own bytes; of an array, 0. writes: whether the kernel may write it.
    """

    name: str
    start: int
    end: int
    size: int
    writes: bool


def arrays_of(kernel: Kernel, ready: Ready) -> tuple[Passed, ...]:
    """Return the arrays and records that a kernel takes, in tuples too."""
    names = kernel.parameter_names
    if not any(map(_has_memory, ready.declared)):
        return ()
    written = _written(kernel, ready)
    found: list[Passed] = []
    codes = "@"
    for name, declared in zip(names, ready.declared, strict=True):
        for part in _leaves(declared):
            if isinstance(part, ArrayType | RecordType):
                start = struct.calcsize(f"{codes}0P")
                found.append(_passed(name, start, part, name in written))
            codes += part.codes
    return tuple(found)


def _passed(name: str, start: int, part: ArrayType | RecordType, written: bool) -> Passed:
    end = start + struct.calcsize(f"@{part.codes}")
    if isinstance(part, RecordType):
        return Passed(name, start, end, part.size, written)
    return Passed(name, start, end, 0, written and not part.readonly)


def _leaves(declared: ArgType) -> Iterator[ArgType]:
    if isinstance(declared, TupleType):
        for item in declared.items:
            yield from _leaves(item)
    else:
        yield declared


def _has_memory(declared: ArgType) -> bool:
    return any(isinstance(part, ArrayType | RecordType) for part in _leaves(declared))


def _written(kernel: Kernel, ready: Ready) -> frozenset[str]:
    """Return the arguments that the kernel may write; all of them where its code cannot be made again."""
    try:
        return Overload(kernel.form_of(ready.found), ready.found).written()
    except Exception:
        return frozenset(kernel.parameter_names)
