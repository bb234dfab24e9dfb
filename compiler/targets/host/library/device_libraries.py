"""Device libraries: functions of the device's own libraries, besides maths and intrinsics, with a body on the host.

Some need a symbol of the process that loads the code; an artifact's resources say which.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.library import allocation, printing, reshaping, rounding
from gridjit.compiler.targets.host.library.narrow_floats import table as halves
from gridjit.compiler.targets.host.library.symbols import RESOURCES
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.target import Target

# Too long for a copy wherever they are called.
APART = rounding.APART | {printing.NAME, reshaping.NAME, "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor"}


def is_provided(name: str) -> bool:
    """Return whether the host has a body for a function that the front end declared."""
    own = name in (printing.NAME, reshaping.NAME) or name in allocation.NAMES
    return own or halves.definition(name) is not None


def definitions(names: set[str], target: Target) -> tuple[str, ...]:
    """Return modules of LLVM IR text that define the functions among names that have a body here."""
    found = []
    if printing.NAME in names:
        found.append(printing.definition(llvm.triple(target)))
    if not allocation.NAMES.isdisjoint(names):
        found.append(allocation.definition())
    if reshaping.NAME in names:
        found.append(reshaping.definition())
    if text := halves.definitions(names):
        found.append(text)
    return tuple(found)


def maths_of(names: set[str]) -> set[str]:
    """Return the `__nv_` functions that the definitions of names call."""
    return halves.maths_of(names)


def needs(image: bytes) -> dict[str, int]:
    """Return the resources that stand for the symbols which an object file names."""
    return {resource: 1 for resource, symbol in RESOURCES.items() if symbol.encode() in image}
