"""What a piece of code defines for others to call, so that two definitions of one name are found before linking.

nvJitLink 13 only prints a line about them, takes the first, and at times crashes the process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gridjit.compiler.errors import CompileError
from gridjit.compiler.target import LinkedFile
from gridjit.compiler.targets.ptx.cubin import read_cubin, read_symbols

_FUNCTION = re.compile(rb"^\s*\.visible\s+\.(?:func|entry)\s*(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
_VARIABLE = re.compile(rb"^\s*\.visible\s+\.(?:global|const)\b[^;={]*?([\w$]+)(?:\[\d*\])*\s*[;={]", re.MULTILINE)


def check_definitions(pieces: Sequence[LinkedFile]) -> None:
    """Raise CompileError naming the name and both files if two pieces define one name.

    Looks into PTX and cubins; LTO-IR nvJitLink checks itself, and what archives and fat binaries hold is compressed.
    """
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
