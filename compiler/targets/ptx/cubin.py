"""Cubins: their sections by name and their symbols, read without a driver."""

from __future__ import annotations

import struct

from gridjit.compiler.elf import SYMBOLS, named_sections
from gridjit.compiler.errors import CompileError
from gridjit.values import dataclass

_GLOBAL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinSection:
    """One section: its size, and its bytes (none if it only reserves memory)."""

    type: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinSymbol:
    """One symbol; defined: strongly and here, so that a second one of its name clashes."""

    name: str
    value: int
    defined: bool


def read_cubin(cubin: bytes) -> dict[str, CubinSection]:
    """Return the sections of a cubin by name; raises CompileError for bytes that are not one."""
    try:
        found = named_sections(cubin)
    except ValueError as error:
        raise CompileError(f"these bytes are not a cubin: {error}") from error
    return {name: CubinSection(type=header.type, size=header.size, data=data) for name, header, data in found}


def read_symbols(sections: dict[str, CubinSection]) -> tuple[CubinSymbol, ...]:
    """Return the symbols in the order of their index."""
    table = next((section.data for section in sections.values() if section.type == SYMBOLS), b"")
    names = sections[".strtab"].data if ".strtab" in sections else b""
    return tuple(
        CubinSymbol(name=_text(names, name), value=value, defined=info >> 4 == _GLOBAL and section != 0)
        for name, info, _other, section, value, _size in struct.iter_unpack("<IBBHQQ", table)
    )


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
