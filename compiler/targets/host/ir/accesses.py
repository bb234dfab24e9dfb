"""Access: one access to memory that an instruction of a kernel's body makes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.parse import parse

_UPDATES = frozenset(("atomicrmw", "cmpxchg"))
_COPIES = ("llvm.memcpy.", "llvm.memmove.")
_SCALAR = regex(r"\b(?:i\d+|half|bfloat|float|double|ptr)\b")
# Types whose written values are compared with what is there, and integers of their sizes.
_BITS = {**{f"i{n}": f"i{n}" for n in (8, 16, 32, 64)}, "half": "i16", "float": "i32", "double": "i64"}
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
# What locks are made of.
_LOCKS = ("xchg",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An access: "read", "write" or "atomic", its address, its bytes as a constant, and the least they are aligned to.

    grain: bytes that divide size and address. scalar: the bytes of a number, else 0. bits, value: of a write
    whose value can be compared with what is there, an integer type of its size, and the value with its type. fill:
    whether it is the call of a function.
    """

    kind: str
    at: str
    size: str
    grain: int = 1
    scalar: int = 0
    bits: str = ""
    value: str = ""
    fill: bool = False


def accesses(line: str) -> list[Access]:
    """Return the accesses of an instruction."""
    one = parse(line)
    if one.opcode == "load" and one.known:
        return [_access("atomic" if one.is_atomic else "read", one, one.type)]
    if one.opcode == "store" and one.known:
        return [_stored(one)]
    if one.opcode in _UPDATES and one.known:
        return [_access("atomic", one, one.operands[1].type)]
    if one.callee_name.startswith(_COPIES):
        to, at, size, *_ = one.values
        return [Access(kind="read", at=at, size=size), Access(kind="write", at=to, size=size)]
    if one.callee_name.startswith("llvm.memset."):
        at, _, size, *_ = one.values
        return [Access(kind="write", at=at, size=size, fill=True)]
    return []


def synchronizes(line: str) -> tuple[str, bool] | None:
    """Return the address of an atomic operation, and whether locks are made with it; None for any other instruction."""
    one = parse(line)
    if one.opcode not in _UPDATES or not one.known:
        return None
    return one.pointer, one.opcode == "cmpxchg" or one.predicate in _LOCKS


def _stored(one: Instruction) -> Access:
    value = one.operands[0]
    if one.is_atomic:
        return _access("atomic", one, value.type)
    access = _access("write", one, value.type)
    bits = _BITS.get(value.type, "")
    return replace(access, bits=bits, value=str(value)) if bits else access


def _access(kind: str, one: Instruction, type_: str) -> Access:
    parts = list(map(_bytes, _SCALAR.findall(type_)))
    # A power of two that divides the size and the address.
    grain = min([*(part & -part for part in parts), one.alignment or 8, 8])
    return Access(
        kind=kind,
        at=one.pointer,
        size=f"ptrtoint (ptr getelementptr ({type_}, ptr null, i64 1) to i64)",
        grain=grain if parts or one.alignment else 1,
        scalar=parts[0] if _SCALAR.fullmatch(type_) else 0,
    )


def _bytes(scalar: str) -> int:
    return _BYTES.get(scalar) or -(-int(scalar[1:]) // 8)
