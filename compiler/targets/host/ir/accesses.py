"""Access: one access to memory that an instruction of a kernel's body makes, read from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME

_TYPE = r"(?P<type>[^,]+?|\{[^}]*\}|\[[^\]]*\]|<[^>]*>)"
# A constant address is an expression of expressions: parentheses within parentheses, up to four deep.
_WITHIN = r"[^()]*"
for _ in range(3):
    _WITHIN = rf"(?:[^()]|\({_WITHIN}\))*"
_POINTER = rf"ptr (?P<at>{NAME}|@[^\s,]+|(?:inttoptr|getelementptr)[^@%(]*\({_WITHIN}\))"
_LOAD = regex(rf"= load (?P<atomic>atomic )?(?:volatile )?{_TYPE}, {_POINTER}")
_STORE = regex(rf"^store (?P<atomic>atomic )?(?:volatile )?(?P<type>[^%@]*?) \S+, {_POINTER}")
_AGGREGATE = regex(rf"^store (?:volatile )?(?P<type>(?:\{{.*?\}}|\[.*?\]|<.*?>)) .*, {_POINTER}")
_RMW = regex(rf"= atomicrmw (?:volatile )?(?P<operation>\w+) {_POINTER}, (?P<type>\S+) ")
_EXCHANGE = regex(rf"= cmpxchg (?:weak )?(?:volatile )?{_POINTER}, (?P<type>\S+) ")
_COPY = regex(
    rf"call void @llvm\.mem(?:cpy|move)\.\S+\(ptr [^%@]*(?P<to>{NAME}|@[^\s,]+), ptr [^%@]*(?P<at>{NAME}|@[^\s,]+), "
    r"i\d+ (?P<size>\S+),"
)
_FILL = regex(rf"call void @llvm\.memset\.\S+\(ptr [^%@]*(?P<at>{NAME}|@[^\s,]+), i8 \S+, i\d+ (?P<size>\S+),")
_ALIGN = regex(r", align (\d+)")
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


def accesses(plain: str) -> list[Access]:
    """Return the accesses of an instruction without its debug location."""
    if (found := _LOAD.search(plain)) is not None:
        return [_sized("atomic" if found["atomic"] else "read", found, plain)]
    if plain.startswith("store ") and (found := _AGGREGATE.search(plain) or _STORE.search(plain)) is not None:
        return [_stored(found, plain)]
    if (found := _RMW.search(plain) or _EXCHANGE.search(plain)) is not None:
        return [_sized("atomic", found, plain)]
    if found := _COPY.search(plain):
        size = found["size"]
        return [Access(kind="read", at=found["at"], size=size), Access(kind="write", at=found["to"], size=size)]
    if found := _FILL.search(plain):
        return [Access(kind="write", at=found["at"], size=found["size"], fill=True)]
    return []


def synchronizes(plain: str) -> tuple[str, bool] | None:
    """Return the address of an atomic operation, and whether locks are made with it; None for any other instruction."""
    if (found := _RMW.search(plain) or _EXCHANGE.search(plain)) is None:
        return None
    return found["at"], "operation" not in found.groupdict() or found["operation"] in _LOCKS


def _stored(found: re.Match[str], plain: str) -> Access:
    if "store atomic" in plain:
        return _sized("atomic", found, plain)
    kind = found["type"]
    if (bits := _BITS.get(kind)) is None:
        return _sized("write", found, plain)
    value = plain.partition(kind)[2].split(", ptr ")[0].strip()
    return _sized("write", found, plain, bits, f"{kind} {value}")


def _sized(kind: str, found: re.Match[str], plain: str, bits: str = "", value: str = "") -> Access:
    size = f"ptrtoint (ptr getelementptr ({found['type']}, ptr null, i64 1) to i64)"
    grain, scalar = _grain(found["type"], plain), _SCALAR.fullmatch(found["type"]) is not None
    return Access(
        kind=kind,
        at=found["at"],
        size=size,
        grain=grain,
        scalar=_bytes(found["type"]) if scalar else 0,
        bits=bits,
        value=value,
    )


def _grain(kind: str, plain: str) -> int:
    """Return a power of two that divides the size and the address of an access of a type."""
    parts = [_bytes(part) for part in _SCALAR.findall(kind)]
    aligned = _ALIGN.search(plain)
    return min([*(part & -part for part in parts), *([int(aligned[1])] if aligned else []), 8], default=1)


def _bytes(scalar: str) -> int:
    return _BYTES.get(scalar) or -(-int(scalar[1:]) // 8)
