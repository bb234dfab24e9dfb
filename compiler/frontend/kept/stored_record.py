"""StoredUnit: a unit as plain data, and an entry's bytes: several units of one function.

An entry is the units' LLVM IR, one after the other, then a JSON description, its length in 8 bytes (little endian) and
an 8-byte magic. Bytes of any other form hold no units.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from gridjit.base import reading

# A question with its answer, or a use of another unit: a kind, then texts and numbers.
StoredEvent: TypeAlias = "tuple[Any, ...]"

_MAGIC = b"gjunits1"
_TRAILER = struct.Struct("<Q8s")
# How many units are kept of a function for the same arguments: for other launches, or from other values.
MOST_ALIKE = 4
_MOST_EVENTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """numba-cuda's description of a compiled function: names, types and calling convention.

    name: its qualified name with numba-cuda's number. symbol, env: its names in LLVM IR. arguments, returns: rows of
    types.
    """

    name: str
    module: str
    qualname: str
    symbol: str
    env: str
    library: str
    names: tuple[str, ...]
    tags: tuple[str, ...]
    arguments: tuple[Any, ...]
    returns: Any
    inline: bool
    noalias: bool
    cooperative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUnit:
    """One unit."""

    descriptor: Descriptor
    events: tuple[StoredEvent, ...]
    text: str


def to_bytes(units: tuple[StoredUnit, ...]) -> bytes:
    """Return the entry of units."""
    texts = [unit.text.encode() for unit in units]
    described = [_described(unit, len(text)) for unit, text in zip(units, texts, strict=True)]
    data = json.dumps(described, separators=(",", ":")).encode()
    return b"".join((*texts, data, _TRAILER.pack(len(data), _MAGIC)))


def from_bytes(data: bytes | None) -> tuple[StoredUnit, ...]:
    """Return the units of an entry; none if data is anything else."""
    try:
        return tuple(_units(data or b""))
    except (reading.Unreadable, struct.error, UnicodeDecodeError):
        return ()


def _described(unit: StoredUnit, size: int) -> dict[str, Any]:
    parts = {name: getattr(unit.descriptor, name) for name in Descriptor.__slots__}
    return {"descriptor": parts, "events": unit.events, "size": size}


def _units(data: bytes) -> list[StoredUnit]:
    length, magic = _TRAILER.unpack_from(data, max(0, len(data) - _TRAILER.size))
    start = len(data) - _TRAILER.size - length
    if magic != _MAGIC or start < 0:
        raise reading.Unreadable("not an entry of units")
    described = reading.items(reading.parse(data[start : len(data) - _TRAILER.size]), _fields, most=MOST_ALIKE)
    found, position = [], 0
    for given in described:
        end = position + reading.whole(given["size"], most=start - position)
        found.append(_unit(given, data[position:end].decode()))
        position = end
    if position != start:
        raise reading.Unreadable("not all of it is of a unit")
    return found


def _fields(value: Any) -> dict[str, Any]:
    return reading.fields(value, ("descriptor", "events", "size"))


def _unit(given: dict[str, Any], text: str) -> StoredUnit:
    return StoredUnit(
        descriptor=_descriptor(reading.fields(given["descriptor"], Descriptor.__slots__)),
        events=reading.items(given["events"], _event, most=_MOST_EVENTS),
        text=text,
    )


def _descriptor(given: dict[str, Any]) -> Descriptor:
    return Descriptor(**{name: _READ[name](value) for name, value in given.items()})


def _some(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda value: reading.items(value, read, most=1000)


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("name", "module", "qualname", "symbol", "env", "library"), reading.text),
    **dict.fromkeys(("names", "tags"), _some(reading.text)),
    **dict.fromkeys(("inline", "noalias", "cooperative"), reading.flag),
    "arguments": _some(reading.nested),
    "returns": reading.nested,
}


def _event(value: Any) -> StoredEvent:
    kind, *rest = reading.items(reading.nested(value), lambda item: item, most=64) or ("",)
    return (reading.text(kind), *rest)
