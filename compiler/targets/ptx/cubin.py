"""Cubins, read without a driver: their sections by name, their symbols, and the resources of their kernels.

Also the symbols that cubins and PTX define twice.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from gridjit.base.regexes import regex
from gridjit.base.values import dataclass
from gridjit.compiler.values.elf import SYMBOLS, named_sections
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.target import LinkedFile

_GLOBAL = 1
_FUNCTION = regex(rb"^\s*\.visible\s+\.(?:func|entry)\s*(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
_VARIABLE = regex(rb"^\s*\.visible\s+\.(?:global|const)\b[^;={]*?([\w$]+)(?:\[\d*\])*\s*[;={]", re.MULTILINE)
# A .nv.info record is a format, an attribute and a 16-bit value; in records of the format _SIZED that is a length.
_SIZED = 4
_MAX_THREADS = 0x05
# Attributes that say something of one function: its symbol's index, and a number.
_PER_FUNCTION = {0x2F: "registers", 0x11: "local_bytes", 0x12: "local_bytes"}
# Of a multiprocessor, on every architecture from sm_75 on.
_REGISTERS = 64 * 1024
# From sm_90 on, a kernel's shared section begins with memory that the system keeps for itself. A symbol of this family
# says that it does; one of them, which LTO leaves out, has the size for its value. The driver does not count it either.
_RESERVED = ".nv.reservedSmem."
_RESERVED_SIZE = ".nv.reservedSmem.cap"
_RESERVED_DEFAULT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinSection:
    """One section: its size, and its bytes (none if it only reserves memory)."""

    type: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinSymbol:
    """One symbol; defined: strongly and here, so that a second symbol of its name clashes."""

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
    itself; the contents of archives and fat binaries are compressed.
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


def read_resources(cubin: bytes, entry: str) -> dict[str, int]:
    """Return the resource usage of kernel entry of cubin, in numbers.

    registers per thread; shared_bytes, static and per block; local_bytes, stack per thread; constant_bytes, of the
    module's constant variables; max_threads of a block, only if the kernel was compiled with launch bounds.
    Raises CompileError if cubin does not hold the kernel.
    """
    sections = read_cubin(cubin)
    if f".text.{entry}" not in sections:
        raise CompileError(f"the linked cubin holds no kernel {entry!r}; is it marked as one and kept by llvm.used?")
    symbols = read_symbols(sections)
    found = {
        "registers": 0,
        "shared_bytes": max(0, _size(sections, f".nv.shared.{entry}") - _reserved(symbols)),
        "local_bytes": 0,
        "constant_bytes": _size(sections, ".nv.constant3"),
    }
    for attribute, value in _records(sections, ".nv.info"):
        if attribute in _PER_FUNCTION and len(value) == 8:
            index, number = struct.unpack("<II", value)
            if index < len(symbols) and symbols[index].name == entry:
                name = _PER_FUNCTION[attribute]
                found[name] = max(found[name], number)
    return found | _thread_limit(sections, entry)


def fits(threads: int, registers: int) -> bool:
    """Return whether a multiprocessor has the registers of a block of so many threads, dealt out a warp at a time."""
    return -(-threads // 32) * -(-registers // 8) * 8 * 32 <= _REGISTERS


def _reserved(symbols: Sequence[CubinSymbol]) -> int:
    """Return how much of a kernel's shared section is the system's, in bytes."""
    sizes = {symbol.name: symbol.value for symbol in symbols if symbol.name.startswith(_RESERVED)}
    return sizes.get(_RESERVED_SIZE, _RESERVED_DEFAULT) if sizes else 0


def _thread_limit(sections: dict[str, CubinSection], entry: str) -> dict[str, int]:
    for attribute, value in _records(sections, f".nv.info.{entry}"):
        if attribute == _MAX_THREADS and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            return {"max_threads": x * y * z}
    return {}


def _size(sections: dict[str, CubinSection], name: str) -> int:
    return sections[name].size if name in sections else 0


def _records(sections: dict[str, CubinSection], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (attribute, value) of a .nv.info section; an absent section has none."""
    data = sections[name].data if name in sections else b""
    at = 0
    while at + 4 <= len(data):
        kind, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        length = value if kind == _SIZED else 0
        yield attribute, data[at : at + length]
        at += length
