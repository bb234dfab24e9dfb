"""Cubins as ELF files: their sections and symbols, read without a driver."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gridjit.compiler.errors import CompileError
from gridjit.values import dataclass

_SYMBOL_TABLE = 2
_GLOBAL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section: its size, and its bytes (none if it only reserves memory)."""

    name: str
    type: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """One symbol; defined: strongly and here, so that a second one of its name clashes."""

    name: str
    value: int
    defined: bool


def read_sections(cubin: bytes) -> dict[str, Section]:
    """Return the sections of a cubin by name; raises CompileError for bytes that are none."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise CompileError("these bytes are not a cubin: not a 64-bit ELF file")
    try:
        return {section.name: section for section in _sections(cubin)}
    except (struct.error, ValueError, IndexError) as error:
        raise CompileError(f"these bytes are not a cubin: {error}") from error


def _sections(cubin: bytes) -> Iterator[Section]:
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + index * size) for index in range(count)]
    for name, type_, _flags, _address, at, length in headers:
        text = _text(cubin, headers[names][4] + name)
        yield Section(name=text, type=type_, size=length, data=cubin[at : at + length])


def read_symbols(sections: dict[str, Section]) -> tuple[Symbol, ...]:
    """Return the symbols in the order of their index."""
    table = next((section.data for section in sections.values() if section.type == _SYMBOL_TABLE), b"")
    names = sections[".strtab"].data if ".strtab" in sections else b""
    return tuple(
        Symbol(name=_text(names, name), value=value, defined=info >> 4 == _GLOBAL and section != 0)
        for name, info, _other, section, value, _size in struct.iter_unpack("<IBBHQQ", table)
    )


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
