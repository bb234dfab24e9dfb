"""ELF: whether bytes are a 64-bit little-endian ELF file that LLVM and the driver can be given.

Given anything else, they do not always report an error: LLVM ends the process. So an object file for this
computer is first checked for all parts that LLVM will read: sections, symbols, relocations.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

_MAGIC = b"\x7fELF\x02\x01"
# Of an ELF header: where segments and sections are, then their sizes and counts, and which section has the names.
_HEADER = struct.Struct("<32x QQ 6x HHHHH")
_KIND = struct.Struct("<16x HH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
SYMBOLS, _STRINGS, RELOCATIONS, _NO_BITS, SHORT_RELOCATIONS = 2, 3, 4, 8, 9
_RELOCATABLE = 1
# How a symbol is bound that others see: global, weak.
_FOR_OTHERS = (1, 2)
_UNDEFINED, _FUNCTION, _OF_A_SECTION, _OF_A_FILE = 0, 2, 3, 4
_IN_MEMORY, _EXECUTABLE, _OF_A_THREAD = 2, 4, 0x400
# x86-64's that LLVM writes and can link: absolute and relative to the place, to the table of addresses, to stubs.
_KNOWN_RELOCATIONS = {62: frozenset((0, 1, 2, 4, 9, 10, 11, 24, 41, 42))}
# From here on a symbol's section is not a section but a meaning: absolute, common.
_RESERVED = 0xFF00
_MOST_BYTES, _MOST_ALIGNMENT = 1 << 31, 1 << 16
_MACHINES = {"x86_64": 62, "aarch64": 183, "arm64": 183, "ppc64le": 21, "riscv64": 243}


class Section(NamedTuple):
    """A section's header; each field is named as in the ELF format, less sh_."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    addralign: int
    entsize: int


def is_code(image: bytes, entry: str, *, linked: bool) -> bool:
    """Return whether image is an ELF file, all sections of which are inside it, that names entry.

    linked: whether it is for the driver. If not, LLVM links it, and all in it that refers to something is looked at.
    """
    sections = read_sections(image)
    if not sections or entry.encode() + b"\0" not in image:  # in a table of names one may be the end of another
        return False
    return linked or (_are_sound(image, sections) and all(_refers_inside(image, sections, one) for one in sections))


def runs_here(image: bytes) -> bool:
    """Return whether an ELF file is an object file for this computer's kind of processor."""
    if image[:6] != _MAGIC or len(image) < _HEADER.size:
        return False
    kind, machine = _KIND.unpack_from(image)
    return bool(kind == _RELOCATABLE and machine == _MACHINES.get(os.uname().machine, machine))


def read_sections(image: bytes) -> list[Section]:
    """Return the headers of an ELF file's sections, if all are inside it and have names; else none."""
    if image[:6] != _MAGIC or len(image) < _HEADER.size:
        return []
    segments, start, segment_size, segment_count, size, count, names = _HEADER.unpack_from(image)
    end = start + size * count
    if size != _SECTION.size or max(end, segments + segment_size * segment_count) > len(image):
        return []
    sections = [*map(Section._make, _SECTION.iter_unpack(image[start:end]))]
    inside = all(one.type == _NO_BITS or one.offset + one.size <= len(image) for one in sections)
    return sections if inside and names < count and sections[names].type == _STRINGS else []


def named_sections(image: bytes) -> list[tuple[str, Section, bytes]]:
    """Return each section's name, header and bytes (none if it only reserves memory).

    Raises ValueError for bytes that are not an ELF file with all its sections and their names inside.
    """
    if not (sections := read_sections(image)):
        raise ValueError("not a 64-bit ELF file with all its sections inside")
    names = _content(image, sections[_HEADER.unpack_from(image)[-1]])
    return [(names[one.name : names.index(b"\0", one.name)].decode(), one, _content(image, one)) for one in sections]


def place_of(image: bytes, function: str) -> tuple[int, int] | None:
    """Return where a function of an object file is in its section, and the section's size; None if it is not there."""
    sections = read_sections(image)
    for one in sections:
        if one.type == SYMBOLS and _are_items(one, _SYMBOL.size) and one.link < len(sections):
            names = _content(image, sections[one.link])
            for name, kind, _, number, value, _ in _SYMBOL.iter_unpack(_content(image, one)):
                if kind & 15 == _FUNCTION and 0 < number < len(sections) and _text_at(names, name) == function:
                    return value, sections[number].size
    return None


def defined_symbols(image: bytes) -> frozenset[str]:
    """Return the names of functions and data that an object file defines for others."""
    sections, found = read_sections(image), set[str]()
    for one in sections:
        if one.type == SYMBOLS and _are_items(one, _SYMBOL.size) and one.link < len(sections):
            names = _content(image, sections[one.link])
            for name, kind, _, number, *_ in _SYMBOL.iter_unpack(_content(image, one)):
                if number != _UNDEFINED and kind >> 4 in _FOR_OTHERS:
                    found.add(_text_at(names, name))
    return frozenset(found)


def _text_at(names: bytes, start: int) -> str:
    end = names.find(b"\0", start)
    return names[start : end if end >= 0 else None].decode(errors="replace")


def _content(image: bytes, one: Section) -> bytes:
    return b"" if one.type == _NO_BITS else image[one.offset : one.offset + one.size]


def _are_sound(image: bytes, sections: list[Section]) -> bool:
    names = sections[_HEADER.unpack_from(image)[-1]]
    kept = sorted((one.offset, one.size) for one in sections if one.size and one.type != _NO_BITS)
    ends = [_HEADER.size, *(start + size for start, size in kept)]
    apart = all(start >= end for (start, _), end in zip(kept, ends, strict=False))
    return (
        apart
        and sum(one.size for one in sections) < _MOST_BYTES
        and all(
            one.name < max(1, names.size)
            and not one.flags & _OF_A_THREAD
            and one.link < len(sections)
            and one.addralign & (one.addralign - 1) == 0
            and one.addralign <= _MOST_ALIGNMENT
            and (one.type != _STRINGS or not one.size or image[one.offset + one.size - 1] == 0)
            for one in sections
        )
    )


def _refers_inside(image: bytes, sections: list[Section], one: Section) -> bool:
    """Return whether the symbols or relocations of a section are whole, and of things that are there."""
    content, other = image[one.offset : one.offset + one.size], sections[one.link]
    if one.type == SYMBOLS:
        return _are_items(one, _SYMBOL.size) and all(
            name < max(1, other.size) and _is_placed(sections, symbol) for name, *symbol in _SYMBOL.iter_unpack(content)
        )
    if one.type == RELOCATIONS:
        whole = _are_items(one, _RELOCATION.size) and other.type == SYMBOLS and one.info < len(sections)
        target, count = sections[one.info if whole else 0], other.size // _SYMBOL.size
        known = _KNOWN_RELOCATIONS.get(_KIND.unpack_from(image)[1])
        return (
            whole
            and target.type != _NO_BITS
            and all(
                at + _widest(kind) <= target.size
                and symbol < count
                and abs(addend) < _MOST_BYTES
                and (known is None or kind in known)
                for at, kind, symbol, addend in _RELOCATION.iter_unpack(content)
            )
        )
    return one.type != SHORT_RELOCATIONS


def _is_placed(sections: list[Section], symbol: list[int]) -> bool:
    """Return whether a symbol - its kind, its visibility, its section, value and size - is inside its section."""
    kind, _, number, value, size = symbol
    if number == _UNDEFINED or number >= _RESERVED:
        return kind & 15 == _OF_A_FILE or number == _UNDEFINED
    if number >= len(sections):
        return False
    section = sections[number]
    inside = value + size <= section.size and (section.flags & _IN_MEMORY or kind & 15 == _OF_A_SECTION)
    return bool(inside) and (kind & 15 != _FUNCTION or bool(section.flags & _EXECUTABLE and section.type != _NO_BITS))


def _widest(kind: int) -> int:
    """Return how many bytes a relocation writes at most."""
    return 8 if kind in (1, 24, 257, 260) else 4


def _are_items(one: Section, size: int) -> bool:
    return one.entsize == size and one.size % size == 0
