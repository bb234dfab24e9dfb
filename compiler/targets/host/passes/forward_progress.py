"""Forward progress: whether an instruction of a thread changed something that other threads can see, as LLVM IR.

A turn of a spin loop, in which nothing changed, was spent in vain. If all threads of a grid spend theirs so, and
nobody else writes to their memory, none of them will ever get on.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.ir.instructions import Instruction, Operand
from gridjit.compiler.targets.host.ir.parse import parse

_NOTHING = frozenset(("0", "0.000000e+00", "-0.000000e+00"))
_UNLESS_ZERO = ("add", "sub", "or", "xor", "fadd", "fsub")


def progress(line: str, name: str, local: Collection[str]) -> tuple[list[str], str]:
    """Return the code that finds out whether an instruction just made progress, and its answer; "" if it never does.

    name: for a value of that code. local: the arrays that only the thread itself sees.
    """
    made = parse(line)
    match made.opcode:
        case "store":
            return [], "" if made.pointer in local else "true"
        case "call":
            return [], "true" if made.fills else ""
        case "cmpxchg":
            return _exchanged(made, name) if made.known else ([], "true")
        case "atomicrmw":
            return _updated(made, name) if made.known else ([], "true")
        case _:
            return [], ""


def _exchanged(made: Instruction, name: str) -> tuple[list[str], str]:
    _, expected, new = made.operands
    return [
        f"{name}.done = extractvalue {{ {new.type}, i1 }} {made.result}, 1",
        f"{name}.other = icmp ne {expected}, {new.value}",
        f"{name} = and i1 {name}.done, {name}.other",
    ], name


def _updated(made: Instruction, name: str) -> tuple[list[str], str]:
    operation, operand = made.predicate, made.operands[1]
    old = Operand(operand.type, made.result)
    if operation in _UNLESS_ZERO and operand.value in _NOTHING:
        return [], ""
    if operation == "xchg" and operand.type.startswith("i"):
        return [f"{name} = icmp ne {old}, {operand.value}"], name
    if operation in ("max", "min", "umax", "umin"):
        sign = operation if operation.startswith("u") else f"s{operation}"
        return _against(name, old, f"call {operand.type} @llvm.{sign}.{operand.type}({old}, {operand})")
    if operation in ("and", "or", "xor"):
        return _against(name, old, f"{operation} {old}, {operand.value}")
    return [], "true"


def _against(name: str, old: Operand, new: str) -> tuple[list[str], str]:
    return [f"{name}.new = {new}", f"{name} = icmp ne {old.type} {name}.new, {old.value}"], name
