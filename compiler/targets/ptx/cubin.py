"""Cubins: their sections by name and symbols, read without a driver; and symbols that cubins and PTX define twice."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from gridjit.compiler.elf import SYMBOLS, named_sections
from gridjit.compiler.errors import CompileError
from gridjit.compiler.target import LinkedFile
from gridjit.regexes import regex
from gridjit.values import dataclass

_GLOBAL = 1
_FUNCTION = regex(rb"^\s*\.visible\s+\.(?:func|entry)\s*(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
_VARIABLE = regex(rb"^\s*\.visible\s+\.(?:global|const)\b[^;={]*?([\w$]+)(?:\[\d*\])*\s*[;={]", re.MULTILINE)


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


def check_definitions(pieces: Sequence[LinkedFile]) -> None:
    """Raise CompileError, naming the name and both files, if two pieces of PTX or cubin define one name.

    nvJitLink 13 only prints a line about them, takes the first, and at times crashes the process. It checks LTO-IR
    itself; what archives and fat binaries hold is compressed.
    """
    if len(pieces) < 2:
        return
    first: dict[str, str] = {}
    for piece in pieces:
        names = _definitions(piece)
        for name in sorted(names & first.keys()):
            raise CompileError(f"{name!r} is defined twice: in {first[name]} and in {piece.name}; link only one")
        first |= dict.fromkeys(names, piece.name)


def _definitions(piece: LinkedFile) -> frozenset[str]:
    if piece.kind == "ptx":
        names = [*_FUNCTION.findall(piece.data), *_VARIABLE.findall(piece.data)]
        return frozenset(name.decode() for name in names)
    if piece.kind == "cubin" and piece.data.startswith(b"\x7fELF"):
        return frozenset(symbol.name for symbol in read_symbols(read_cubin(piece.data)) if symbol.defined)
    return frozenset()


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
