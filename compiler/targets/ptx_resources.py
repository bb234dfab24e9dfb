"""What a kernel of a cubin uses: registers, memory and thread limits, read from the ELF file without a driver."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Attributes of .nv.info sections; each record is format, attribute and a 16-bit value or, for _SIZED, a length.
_SIZED = 4
_MAX_THREADS = 0x05
_FRAME_SIZE = 0x11
_MIN_STACK_SIZE = 0x12
_REGISTERS = 0x2F
_SYMBOL_TABLE = 2
# From sm_90 on, a kernel's shared section begins with memory that the system keeps for itself; this symbol's value is
# how much. The driver adds it too, so it counts neither as the kernel's own nor against the limit of a block.
_RESERVED_SHARED = ".nv.reservedSmem.cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    type: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Symbol:
    name: str
    value: int


def read_resources(cubin: bytes, entry: str) -> dict[str, int]:
    """Return what kernel entry of cubin uses, in numbers.

    registers per thread; shared_bytes, static and per block; local_bytes, stack per thread; constant_bytes, of the
    module's constant variables; max_threads of a block, only if the kernel was compiled with launch bounds.
    """
    sections = {section.name: section for section in _sections(cubin)}
    symbols = tuple(_symbols(sections))
    reserved = max((symbol.value for symbol in symbols if symbol.name == _RESERVED_SHARED), default=0)
    found = {
        "registers": 0,
        "shared_bytes": max(0, _size(sections, f".nv.shared.{entry}") - reserved),
        "local_bytes": 0,
        "constant_bytes": _size(sections, ".nv.constant3"),
    }
    for attribute, value in _records(sections, ".nv.info"):
        if attribute in _PER_FUNCTION and len(value) == 8:
            index, number = struct.unpack("<II", value)
            if index < len(symbols) and symbols[index].name == entry:
                name = _PER_FUNCTION[attribute]
                found[name] = max(found[name], number)
    for attribute, value in _records(sections, f".nv.info.{entry}"):
        if attribute == _MAX_THREADS and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            found["max_threads"] = x * y * z
    return found


_PER_FUNCTION = {_REGISTERS: "registers", _FRAME_SIZE: "local_bytes", _MIN_STACK_SIZE: "local_bytes"}


def _size(sections: dict[str, _Section], name: str) -> int:
    return sections[name].size if name in sections else 0


def _sections(cubin: bytes) -> Iterator[_Section]:
    """Yield the sections of a 64-bit little-endian ELF file."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("the linker's output is no 64-bit ELF file")
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + index * size) for index in range(count)]
    names_at = headers[names][4]
    for name, type_, _flags, _address, at, length in headers:
        end = cubin.index(b"\0", names_at + name)
        yield _Section(
            name=cubin[names_at + name : end].decode(), type=type_, size=length, data=cubin[at : at + length]
        )


def _symbols(sections: dict[str, _Section]) -> Iterator[_Symbol]:
    """Yield the symbols in the order of their index."""
    table = next((section.data for section in sections.values() if section.type == _SYMBOL_TABLE), b"")
    names = sections[".strtab"].data if ".strtab" in sections else b""
    for name, _info, _other, _section, value, _size in struct.iter_unpack("<IBBHQQ", table):
        yield _Symbol(name=names[name : names.index(b"\0", name)].decode(), value=value)


def _records(sections: dict[str, _Section], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (attribute, value) of a .nv.info section; an absent section has none."""
    data = sections[name].data if name in sections else b""
    at = 0
    while at + 4 <= len(data):
        kind, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        length = value if kind == _SIZED else 0
        yield attribute, data[at : at + length] if kind == _SIZED else struct.pack("<H", value)
        at += length
