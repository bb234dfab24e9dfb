"""Forward progress: whether an instruction of a thread changed something that other threads can see, as LLVM IR.

A turn of a spin loop, in which nothing changed, was spent in vain. If all threads of a grid spend theirs so, and
nobody else writes to their memory, none of them will ever get on.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME, opcode

_STORE = regex(rf"store (?:atomic |volatile )*[^%@]*?.* ptr ({NAME}|@\S+?)(?:,|$)")
_EXCHANGE = regex(r"cmpxchg (?:weak )?(?:volatile )?ptr [^,]+, (\S+) ([^,]+), \S+ ([^ ,]+) ")
_UPDATE = regex(r"atomicrmw (?:volatile )?(\S+) ptr [^,]+, (\S+) ([^ ,]+) ")
_FILLS = regex(r"call [^@]*@llvm\.mem(?:set|cpy|move)\.")
_NOTHING = regex(r"[-+]?0(?:\.0+e\+00)?")
_UNLESS_ZERO = ("add", "sub", "or", "xor", "fadd", "fsub")


def progress(line: str, name: str, local: Collection[str]) -> tuple[list[str], str]:
    """Return the code that finds out whether an instruction just made progress, and its answer; "" if it never does.

    name: for a value of that code. local: the arrays that only the thread itself sees.
    """
    match opcode(line):
        case "store":
            found = _STORE.search(line)
            return [], "" if found and found[1] in local else "true"
        case "call":
            return [], "true" if _FILLS.search(line) else ""
        case "cmpxchg":
            return _exchanged(line, name)
        case "atomicrmw":
            return _updated(line, name)
        case _:
            return [], ""


def _exchanged(line: str, name: str) -> tuple[list[str], str]:
    result = line.split(" = ")[0]
    found = _EXCHANGE.search(line)
    if found is None:
        return [], "true"
    kind, expected, new = found.groups()
    return [
        f"{name}.done = extractvalue {{ {kind}, i1 }} {result}, 1",
        f"{name}.other = icmp ne {kind} {expected}, {new}",
        f"{name} = and i1 {name}.done, {name}.other",
    ], name


def _updated(line: str, name: str) -> tuple[list[str], str]:
    result = line.split(" = ")[0]
    found = _UPDATE.search(line)
    if found is None:
        return [], "true"
    operation, kind, operand = found.groups()
    if operation in _UNLESS_ZERO and _NOTHING.fullmatch(operand):
        return [], ""
    if operation == "xchg" and kind.startswith("i"):
        return [f"{name} = icmp ne {kind} {result}, {operand}"], name
    if operation in ("max", "min", "umax", "umin"):
        sign = operation if operation.startswith("u") else f"s{operation}"
        return _against(name, kind, result, f"call {kind} @llvm.{sign}.{kind}({kind} {result}, {kind} {operand})")
    if operation in ("and", "or", "xor"):
        return _against(name, kind, result, f"{operation} {kind} {result}, {operand}")
    return [], "true"


def _against(name: str, kind: str, old: str, new: str) -> tuple[list[str], str]:
    return [f"{name}.new = {new}", f"{name} = icmp ne {kind} {name}.new, {old}"], name
