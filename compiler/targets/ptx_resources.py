"""What a kernel of a cubin uses: registers, memory and thread limits, read without a driver."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gridjit.compiler.errors import CompileError
from gridjit.compiler.targets.ptx_elf import Section, read_sections, read_symbols

# A .nv.info record is a format, an attribute and a 16-bit value; in records of the format _SIZED that is a length.
_SIZED = 4
_MAX_THREADS = 0x05
# Attributes that say something of one function: its symbol's index, and a number.
_PER_FUNCTION = {0x2F: "registers", 0x11: "local_bytes", 0x12: "local_bytes"}
# From sm_90 on, a kernel's shared section begins with memory that the system keeps for itself; this symbol's value is
# how much. It is none of the kernel's own.
_RESERVED_SHARED = ".nv.reservedSmem.cap"


def read_resources(cubin: bytes, entry: str) -> dict[str, int]:
    """Return what kernel entry of cubin uses, in numbers.

    registers per thread; shared_bytes, static and per block; local_bytes, stack per thread; constant_bytes, of the
    module's constant variables; max_threads of a block, only if the kernel was compiled with launch bounds.
    Raises CompileError if cubin does not hold the kernel.
    """
    sections = read_sections(cubin)
    if f".text.{entry}" not in sections:
        raise CompileError(f"the linked cubin holds no kernel {entry!r}; is it marked as one and kept by llvm.used?")
    symbols = read_symbols(sections)
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
    return found | _thread_limit(sections, entry)


def _thread_limit(sections: dict[str, Section], entry: str) -> dict[str, int]:
    for attribute, value in _records(sections, f".nv.info.{entry}"):
        if attribute == _MAX_THREADS and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            return {"max_threads": x * y * z}
    return {}


def _size(sections: dict[str, Section], name: str) -> int:
    return sections[name].size if name in sections else 0


def _records(sections: dict[str, Section], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (attribute, value) of a .nv.info section; an absent section has none."""
    data = sections[name].data if name in sections else b""
    at = 0
    while at + 4 <= len(data):
        kind, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        length = value if kind == _SIZED else 0
        yield attribute, data[at : at + length]
        at += length
