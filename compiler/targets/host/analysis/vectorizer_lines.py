"""Instructions as values, with the properties that the search for chains of uniform values asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.module import values
from gridjit.compiler.targets.host.ir.opcodes import is_operation
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.types import LABEL

# A comparison that tells what a value is where it holds: LLVM replaces the value there.
_EQUAL = frozenset(("eq", "ne", "oeq", "ueq", "one", "une"))
_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))
_ROOTS = frozenset(("load", "call", "atomicrmw", "cmpxchg"))
# If one operand is 0, the result is 0.
MAY_VANISH = frozenset(("mul", "and", "shl", "lshr", "ashr")) | _DIVISIONS
# An instruction that copies memory.
COPY = "copy"
_COPIES = ("llvm.memcpy", "llvm.memmove")
# Where a region keeps a value that crosses barriers, and each thread's own memory that it comes from.
BOX, CELL = "gj.box.", "gj.cell."


class LoopValue(NamedTuple):
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
    made = parse(text)
    line = LoopValue(block, made.result, made.opcode, _used(made), root=_is_root(made, text))
    if not made.known:
        return line._replace(operation=COPY if made.opcode == "call" else made.opcode, equal=True, bound=True)
    match made.opcode:
        case "phi":
            return line._replace(chosen=tuple(map(_named, made.values)))
        case "select":
            return line._replace(chosen=tuple(map(_named, made.values[1:])))
        case "load" | "store":
            return _access(line, made)
        case "getelementptr":
            return line._replace(at=_named(made.pointer))
        case "icmp" | "fcmp":
            bound = made.values[1].removeprefix("-").isdecimal()
            return line._replace(equal=made.predicate in _EQUAL, bound=bound)
        case "switch":
            return line._replace(equal=True)
        case "call" if made.callee_name.startswith(_COPIES):
            return line._replace(operation=COPY)
    return line


def _used(made: Instruction) -> tuple[str, ...]:
    """Return the values that an instruction reads, each as often as it does."""
    if made.known and made.opcode != "call":
        return tuple(one.value for one in made.operands if one.value.startswith("%") and one.type != LABEL)
    return tuple(values(" ".join((made.callee, *made.values, made.notes))))


def _is_root(made: Instruction, text: str) -> bool:
    """Return whether LLVM may not move an instruction out of a loop, as it may change or must not run early."""
    if made.opcode in _DIVISIONS:
        return not made.known or bool(_named(made.values[1]))
    return made.opcode in _ROOTS and not (made.opcode == "call" and is_operation(text))


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


def _access(line: LoopValue, made: Instruction) -> LoopValue:
    """Return a load or store with the memory that it is of: a box, a cell, or all that holds values of its type."""
    kind, value = (made.type, "") if made.opcode == "load" else made.operands[0][:2]
    own = made.pointer if made.pointer.lstrip('%"').startswith((BOX, CELL)) else ""
    return line._replace(value=_named(value), at=_named(made.pointer), memory=own or kind, root=line.root and not own)


def _named(value: str) -> str:
    return value if value.startswith("%") else ""
