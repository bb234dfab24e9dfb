"""retarget: one module of numba-cuda's NVVM dialect as LLVM IR text that any target's LLVM can read.

Parsing rewrites NVVM intrinsics into forms that only a GPU has, so they are renamed before LLVM sees them. Shared
memory, coordinates and barriers become calls of functions without a body, which later stages replace.

A function's local memory is allocated once, at its beginning. numba-cuda's bindings to C++ allocate it where they call.
There, each pass would allocate it on the stack again, and a thread that continues after a barrier could not reach it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridjit.base.digests import sha256
from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir import intrinsics
from gridjit.compiler.targets.host.ir.debug_locations import without_debug_location
from gridjit.compiler.targets.host.ir.source_locations import with_locations
from gridjit.compiler.targets.host.library.ptx.inline_asm import replace_asm
from gridjit.compiler.values.errors import UnsupportedError

# What the lines begin with that are left out; where places in the source are kept, fewer are.
_DROPPED_BUT_LINES = ("target triple", "target datalayout", "source_filename", "!nvvm")
_DROPPED = (*_DROPPED_BUT_LINES, "!llvm.dbg", "!llvm.module.flags")
_DEBUG_CALL = regex(r'^ *call void @"?llvm\.dbg\.[^\n]*\n?', re.MULTILINE)
_DEBUG_DECLARE = regex(r'^declare void @"?llvm\.dbg\.[^\n]*\n', re.MULTILINE)
_SHARED = regex(
    r'^@"?(?P<name>[^"\s]+)"? = (?P<external>external )?addrspace\(3\) global (?P<type>\[.*\]) ?(?:undef)?'
    r"(?:, align (?P<align>\d+))?[ \t]*$",
    re.MULTILINE,
)
_SHARED_USE = regex(r'addrspacecast \[.*\] addrspace\(3\)\* @"?(?P<name>[^"\s]+)"? to (?P<type>\S+)')
_ADDRESS_SPACE = regex(r" addrspace\((\d+)\)")
_ARITHMETIC = regex(r"(= f(?:add|sub|mul)) (?=float|double|half|<)")
_FAST_ARITHMETIC = regex(r"(= f(?:add|sub|mul|div|rem|neg)) (?=float|double|half|<)")
_DECLARE = regex(r'^declare [^\n]*?@"?([^"(\s]+)"?\([^\n]*$', re.MULTILINE)
_DECLARATION = "\ndeclare "
# LLVM cuts names of local values after 1,024 characters, and what tells them apart is at their ends.
_LONG_NAME = regex(r'%"([^"]{200})([^"]{200,})"')
# Every local array starts with such a store. LLVM splits it into items, which takes minutes for many items.
_ZEROS = regex(r'^ *store (?P<type>\[.*\]) zeroinitializer, (?P=type)\* (?P<at>%"[^"]+"|%[-\w.$]+)', re.MULTILINE)
_SET_START = "  call void @llvm.memset.p0.i64(ptr "
_SIZE = r"ptrtoint (ptr getelementptr (\g<type>, ptr null, i64 1) to i64)"
_SET = rf"{_SET_START}\g<at>, i8 0, i64 {_SIZE}, i1 false)"
_DECLARE_SET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
# Where checks look for unwritten memory, a local array is known by a call where its thread begins.
_LOCAL_ARRAY = regex(rf"{re.escape(_SET_START)}(?P<at>%\"_cudapy_lmem[^\"]*\"), i8 0, i64 (?P<size>.*), i1 false\)")

# The function that a local array is given to, in checked code, where its thread begins.
LOCAL = "gridjit.local"

# NVVM contracts multiply-adds by default. If the host does too, its results differ less from a GPU's.
# What fastmath allows here, of which all code may be contracted. Results stay infinite, or NaN, where they are.
_FAST = ("reassoc", "nsz", "arcp", "contract", "afn")
_FUNCTION = "\ndefine "
_LABEL = regex(r'^(?:"[^"\n]*"|[-\w.$]+):[^\n]*\n', re.MULTILINE)
# Of a size that is known: there is no value behind the type.
_FIXED = regex(r'^ *(?:%"[^"\n]*"|%[-\w.$]+) = alloca [^%\n]*\n', re.MULTILINE)
_WORD = " = alloca "


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedArray:
    """A shared array of a kernel: the text of its LLVM type, its alignment, and whether its size comes at launch."""

    name: str
    type: str
    align: int
    dynamic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retargeted:
    """A module for the host: its text, the shared arrays it uses, and every function it only declares."""

    text: str
    shared: tuple[SharedArray, ...]
    declared: frozenset[str]


def retarget(
    text: str,
    *,
    kernel: str,
    fastmath: bool | tuple[str, ...],
    exactly: bool = False,
    lines: bool = False,
    checked: bool = False,
    locations: bool = False,
) -> Retargeted:
    """Return one module's text for the host; raises UnsupportedError for memory spaces that the host lacks.

    exactly: contract all that may be contracted. lines: keep places in the source. checked: tell where local arrays
    begin. locations: tell where each load is from, not only those next to what threads wait with.
    """
    dropped = _DROPPED_BUT_LINES if lines else _DROPPED
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(dropped))
    text = _LONG_NAME.sub(lambda found: f'%"{found[1]}.{sha256(found[2].encode()).hex()}"', text)
    # A search that begins at each line takes as long as parsing the text, so it is only made for what is there.
    if "!dbg" in text or "llvm.dbg." in text:
        text = _DEBUG_CALL.sub("", text)
        text = _DEBUG_DECLARE.sub("", text if lines else without_debug_location(text))
    text = text.replace(f'@"{intrinsics.THEIRS}', f'@"{intrinsics.OURS}').replace(
        f"@{intrinsics.THEIRS}", f"@{intrinsics.OURS}"
    )
    text, asm = replace_asm(hoisted(text))
    text = with_locations(text, always=locations)
    shared: tuple[SharedArray, ...] = ()
    if " addrspace(3) " in text:
        shared = tuple(_shared_array(found) for found in _SHARED.finditer(text))
        text = _SHARED_USE.sub(rf'call ptr @"{intrinsics.SHARED_ARRAY}\g<name>"()', _SHARED.sub("", text))
    # Otherwise a function that no earlier module mentions would be lost when modules are linked one by one.
    text = _flatten(text, kernel).replace("define linkonce_odr ", "define weak_odr ")
    if not exactly:
        allowed = _FAST if fastmath is True else [flag for flag in _FAST if flag in ("contract", *(fastmath or ()))]
        text = (_FAST_ARITHMETIC if fastmath else _ARITHMETIC).sub(rf"\1 {' '.join(allowed)} ", text)
    text, zeros = _ZEROS.subn(_SET, text) if "] zeroinitializer, " in text else (text, 0)
    arrays = 0
    if checked:
        text, arrays = _LOCAL_ARRAY.subn(rf"\g<0>\n  call void @{LOCAL}(ptr \g<at>, i64 \g<size>)", text)
    text, have = _redeclared(text)
    extra = [
        *asm,
        *[_DECLARE_SET][:zeros],
        *[f"declare void @{LOCAL}(ptr, i64)"][:arrays],
        *(f'declare ptr @"{intrinsics.SHARED_ARRAY}{array.name}"() memory(none)' for array in shared),
    ]
    extra = [_DECLARE.sub(_redeclare, line) for line in extra]
    added = "\n".join(line for line in extra if not (found := _DECLARE.match(line)) or found[1] not in have)
    return Retargeted(text=f"{text}\n{added}", shared=shared, declared=have.union(_DECLARE.findall(added)))


def _shared_array(found: re.Match[str]) -> SharedArray:
    return SharedArray(
        name=found["name"],
        type=found["type"],
        align=int(found["align"] or 16),
        dynamic=found["external"] is not None,
    )


def _redeclared(text: str) -> tuple[str, frozenset[str]]:
    """Return text with the host's own declarations, and the names that it declares; the text is searched once."""
    first, *others = f"\n{text}".split(_DECLARATION)
    made, declared = [first], set[str]()
    for other in others:
        line, end, rest = f"declare {other}".partition("\n")
        line = _DECLARE.sub(_redeclare, line)
        declared.update(_DECLARE.findall(line))
        made.append(f"{line}{end}{rest}")
    return "\n".join(made)[1:], frozenset(declared)


def _redeclare(found: re.Match[str]) -> str:
    return intrinsics.declaration(found[1]) or found.group()


def _flatten(text: str, kernel: str) -> str:
    """Return text with constant memory as plain memory; the host has one address space."""
    spaces = {int(number) for number in _ADDRESS_SPACE.findall(text)}
    if spaces - {1, 4, 5}:
        raise UnsupportedError(
            f"kernel {kernel} uses shared memory in a way the host target does not offer (address spaces "
            f"{', '.join(map(str, sorted(spaces)))}); declare it with cuda.shared.array"
        )
    return _ADDRESS_SPACE.sub("", text).replace("addrspacecast", "bitcast") if spaces else text


def hoisted(text: str) -> str:
    """Return a module of LLVM IR text whose functions set memory of a known size aside in their first block."""
    return _FUNCTION.join(map(_in_first_block, text.split(_FUNCTION))) if _WORD in text else text


def _in_first_block(function: str) -> str:
    if (last := function.rfind(_WORD)) < 0:
        return function
    first = _LABEL.search(function)
    second = _LABEL.search(function, first.end()) if first else None
    if first is None or second is None or last < second.start():
        return function
    start, later = first.end(), second.start()
    found = "".join(_FIXED.findall(function, later))
    return function[:start] + found + function[start:later] + _FIXED.sub("", function[later:])
