"""Refusals: the errors for users if LLVM, NVVM or the linker refuses the code that the compiler made."""

from __future__ import annotations

import re
from typing import Final

from gridjit.base.regexes import regex

_CAST: Final = regex(r"invalid cast opcode for cast from '(?P<given>\w+)' to '(?P<taken>\w+)'")
_SHARED: Final = regex(r"uses too much shared data \((?P<used>0x[0-9a-f]+) bytes, (?P<most>0x[0-9a-f]+) max")
_PARAMETERS: Final = regex(r"parameter space overflowed \((?P<used>\d+) bytes required, max (?P<most>\d+) bytes")
# The words of LLVM and NVVM for an array of more bytes than 64 bits count.
_TOO_LARGE: Final = "expected number in address space"
# Functions of numba's runtime (NRT) for strings and lists, which exist for the processor alone.
_RUNTIME: Final = regex(r"(?:^|Undefined reference to ')NRT_")
# Bytes of static shared arrays in a block of a GPU before sm_90. From sm_90 on, code is for an architecture by
# its own name ("sm_90a"), where the assembler takes as much as a block may have at all.
STATIC_SHARED: Final = 48 << 10
_FLOATS: Final = {"half": "float16", "float": "float32", "double": "float64"}


def of_code(words: str) -> str | None:
    """Return the fault of code that LLVM or NVVM refuses; None if the words say something else.

    Some of numba's functions do not look at the types of their arguments, nor at the size of an array: only the parser
    meets wrong types and sizes.
    """
    if _TOO_LARGE in words:
        return "a shared or local array that it declares is larger than all memory there is; make its shape smaller"
    if (found := _PARAMETERS.search(words)) is not None:
        return of_parameters(int(found["used"]), int(found["most"]))
    if (found := _CAST.search(words)) is None:
        return None
    given, taken = (_FLOATS.get(found[name]) or re.sub(r"^i(?=\d)", "int", found[name]) for name in ("given", "taken"))
    return (
        f"a function that it calls is given a {given} where it takes an {taken}, as a mask or a lane of "
        "cuda.shfl_sync; convert it, as in int(x)"
    )


def of_parameters(used: int, most: int) -> str:
    """Return the fault of arguments of more bytes than a launch passes."""
    return f"its arguments need {used:,} bytes, and a launch passes {most:,}; pass an array instead of a long tuple"


def of_undefined(words: str) -> str | None:
    """Return the fault of code that calls a function of numba's runtime that no kernel has; None for other words."""
    if _RUNTIME.search(words) is None:
        return None
    return "it makes a string, or a list that grows, which no kernel can; print(...) takes several values"


def of_shared_memory(words: str) -> str | None:
    """Return how much shared memory a kernel needs where it is too much; None if the words say something else."""
    if (found := _SHARED.search(words)) is None:
        return None
    return of_shared_arrays(int(found["used"], 16), int(found["most"], 16))


def of_shared_arrays(used: int, most: int) -> str:
    """Return the fault of static shared arrays of more bytes than there are for them in a block."""
    if most > STATIC_SHARED:
        return f"its shared arrays need {used:,} bytes, and a block has {most:,}; make them smaller, or split the work"
    return (
        f"its static shared arrays need {used:,} bytes, and this GPU has {most:,} for them; make them smaller, or use "
        "dynamic shared memory: cuda.shared.array(0, dtype), and its bytes in kernel[grid, block, stream, bytes]"
    )
