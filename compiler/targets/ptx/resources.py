"""The resources of a cubin's kernel: registers, memory and thread limits, read without a driver."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from gridjit.compiler.errors import CompileError
from gridjit.compiler.targets.ptx.cubin import CubinSection, CubinSymbol, read_cubin, read_symbols

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
