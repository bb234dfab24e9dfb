"""Instructions as values, with the properties that the search for chains of uniform values asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import arms
from gridjit.compiler.targets.host.ir.opcodes import is_operation

_NAME = regex(r'%(?:"[^"]+"|[-\w.$]+)')
_LABEL = regex(r'label %("[^"]+"|[-\w.$]+)')
_INSTRUCTION = regex(r"\s*(?:(%\S+) = )?(?:(?:tail|musttail|notail) )?(\w+)(.*)", re.DOTALL)
_STORE = regex(r" (?:volatile |atomic )*(?P<type>.+) (?P<value>\S+), ptr (?P<at>[^,\s]+)")
_LOAD = regex(r" (?:volatile |atomic )*(?P<type>.+?), ptr (?P<at>[^,\s]+)")
# A comparison that tells what a value is where it holds: LLVM replaces the value there.
_EQUAL = frozenset(("eq", "ne", "oeq", "ueq", "one", "une"))
_POINTER = ", ptr "
_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))
_ROOTS = frozenset(("load", "call", "atomicrmw", "cmpxchg")) | _DIVISIONS
# If one operand is 0, the result is 0.
MAY_VANISH = frozenset(("mul", "and", "shl", "lshr", "ashr")) | _DIVISIONS
# An instruction that copies memory.
COPY = "copy"
# Where a region keeps a value that crosses barriers, and each thread's own memory that it comes from.
BOX, CELL = "gj.box.", "gj.cell."


@dataclass(frozen=True, slots=True)
class LoopValue:
    """An instruction: its block, result, operation, what it reads, and the memory that a load or store is of.

    chosen: what the result may be a copy of; None if it is computed. at: the pointer that is followed or moved. A
    constant is "". equal: whether it compares for equality; bound: whether it compares with a number.
    """

    block: int
    name: str
    operation: str
    used: tuple[str, ...]
    chosen: tuple[str, ...] | None = None
    value: str = ""
    at: str = ""
    memory: str = ""
    root: bool = False
    equal: bool = False
    bound: bool = False


def read(block: int, text: str) -> LoopValue:
    """Return the instruction of a text, which stands in that block."""
    found = _INSTRUCTION.match(text.partition(", !")[0])
    if found is None:
        return LoopValue(block, "", "br", ())
    name, operation, rest = found[1] or "", found[2], found[3]
    used = tuple(_NAME.findall(_LABEL.sub("", rest) if "label " in rest else rest))
    root = operation in _ROOTS and not (operation == "call" and is_operation(text))
    root &= operation not in _DIVISIONS or bool(_named(rest.split()[-1]))
    if operation == "phi":
        values = tuple(_named(value) for value, _ in arms(text))
        return LoopValue(block, name, operation, tuple(filter(None, values)), values)
    if operation == "select":
        return LoopValue(
            block, name, operation, used, tuple(_named(part.split()[-1]) for part in rest.split(", ")[-2:])
        )
    if memory := {"store": _STORE, "load": _LOAD}.get(operation):
        return _access(LoopValue(block, name, operation, used, root=root), memory.match(rest))
    if operation == "getelementptr":
        moved = rest.partition(_POINTER)[2].partition(",")[0]
        return LoopValue(block, name, operation, used, at=_named(moved))
    if operation in ("icmp", "fcmp", "switch"):
        equal = operation == "switch" or not _EQUAL.isdisjoint(rest.partition("%")[0].split())
        bound = rest.rpartition(", ")[2].removeprefix("-").isdecimal()
        return LoopValue(block, name, operation, used, equal=equal, bound=bound)
    copies = "@llvm.memcpy" in rest or "@llvm.memmove" in rest
    return LoopValue(block, name, COPY if copies else operation, used, root=root)


def leads_to(body: Sequence[str]) -> list[str]:
    """Return the names of the blocks that a block leads to."""
    return _LABEL.findall(body[-1] if body else "")


def origins(lines: Sequence[LoopValue]) -> dict[str, str]:
    """Return the parameter or variable that each pointer to something in it was made from; "" if it is not known."""
    defined = {line.name: line for line in lines if line.name}
    found: dict[str, str] = {}
    for line in lines:
        if line.at:
            found[line.at] = _origin(line.at, defined)
    return found


def _origin(name: str, defined: Mapping[str, LoopValue]) -> str:
    while name in defined and defined[name].operation == "getelementptr":
        name = defined[name].at
    if name in defined and defined[name].operation != "alloca":
        return ""
    return "%gj" if name.lstrip('%"').startswith("gj.") and name not in defined else name


def _access(line: LoopValue, found: re.Match[str] | None) -> LoopValue:
    """Return a load or store with the memory that it is of: a box, a cell, or all that holds values of its type."""
    if found is None:
        return line
    at, value = found["at"], _named(found.groupdict().get("value", ""))
    own = next((at for kind in (BOX, CELL) if at.lstrip('%"').startswith(kind)), "")
    root = line.root and not own
    return LoopValue(
        line.block, line.name, line.operation, line.used, None, value, _named(at), own or found["type"], root
    )


def _named(value: str) -> str:
    return value if value.startswith("%") else ""
