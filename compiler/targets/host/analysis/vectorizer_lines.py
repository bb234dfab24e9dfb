"""Instructions as values, with the properties that the search for chains of uniform values asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.ir.body import arms, defined, opcode
from gridjit.compiler.targets.host.ir.module import values
from gridjit.compiler.targets.host.ir.opcodes import is_operation

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
    line = text.partition(", !")[0]
    name, operation = defined(line) or "", opcode(line)
    rest = line.removeprefix(name).partition(operation)[2]
    used = tuple(values(rest.partition("label ")[0]))
    root = operation in _ROOTS and not (operation == "call" and is_operation(text))
    root &= operation not in _DIVISIONS or bool(_named(rest.split()[-1]))
    if operation == "phi":
        chosen = tuple(_named(value) for value, _ in arms(text))
        return LoopValue(block, name, operation, tuple(filter(None, chosen)), chosen)
    if operation == "select":
        return LoopValue(
            block, name, operation, used, tuple(_named(part.split()[-1]) for part in rest.split(", ")[-2:])
        )
    if operation in ("store", "load"):
        return _access(LoopValue(block, name, operation, used, root=root), rest)
    if operation == "getelementptr":
        moved = rest.partition(_POINTER)[2].partition(",")[0]
        return LoopValue(block, name, operation, used, at=_named(moved))
    if operation in ("icmp", "fcmp", "switch"):
        equal = operation == "switch" or not _EQUAL.isdisjoint(rest.partition("%")[0].split())
        bound = rest.rpartition(", ")[2].removeprefix("-").isdecimal()
        return LoopValue(block, name, operation, used, equal=equal, bound=bound)
    copies = "@llvm.memcpy" in rest or "@llvm.memmove" in rest
    return LoopValue(block, name, COPY if copies else operation, used, root=root)


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


def _access(line: LoopValue, rest: str) -> LoopValue:
    """Return a load or store with the memory that it is of: a box, a cell, or all that holds values of its type."""
    accessed, _, pointer = rest.rpartition(_POINTER)
    at, kind, value = pointer.partition(",")[0].partition(" ")[0], accessed.strip(), ""
    for word in ("atomic ", "volatile "):
        kind = kind.removeprefix(word)
    if line.operation == "store":
        kind, _, value = kind.rpartition(" ")
    own = next((at for word in (BOX, CELL) if at.lstrip('%"').startswith(word)), "")
    root = line.root and not own
    return LoopValue(
        line.block, line.name, line.operation, line.used, None, _named(value), _named(at), own or kind, root
    )


def _named(value: str) -> str:
    return value if value.startswith("%") else ""
