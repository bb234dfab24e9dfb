"""retarget: one module of numba-cuda's NVVM dialect as LLVM IR text that any target's LLVM can read.

Parsing rewrites NVVM intrinsics into forms that only a GPU has, so they are renamed before LLVM sees them. Shared
memory, coordinates and barriers become calls of functions without a body, which later stages replace.

A function's local memory is allocated once, at its beginning. numba-cuda's bindings to C++ allocate it where they call.
There, each pass would allocate it on the stack again, and a thread that continues after a barrier could not reach it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from gridjit.base.digests import sha256
from gridjit.compiler.targets.host.ir import intrinsics
from gridjit.compiler.targets.host.ir.debug_locations import without_debug_location
from gridjit.compiler.targets.host.ir.module import (
    FunctionText,
    declarations,
    label_of,
    name_of,
    symbol,
    with_declarations,
    with_definitions,
    with_each_line,
)
from gridjit.compiler.targets.host.ir.source_locations import with_locations
from gridjit.compiler.targets.host.library.ptx.inline_asm import replace_asm
from gridjit.compiler.values.errors import UnsupportedError

# What the lines begin with that are left out; where places in the source are kept, fewer are.
_DROPPED_BUT_LINES = ("target triple", "target datalayout", "source_filename", "!nvvm")
_DROPPED = (*_DROPPED_BUT_LINES, "!llvm.dbg", "!llvm.module.flags")
_DEBUG = "llvm.dbg."
_SHARED, _SHARED_USE, _SPACE = " addrspace(3) global [", " = addrspacecast [", " addrspace("
# Operations on floats, and the types that they have where they have no flags.
_FLOAT, _TYPES = " = f", ("float", "double", "half", "<")
_ARITHMETIC = ("add", "sub", "mul")
_FAST_ARITHMETIC = (*_ARITHMETIC, "div", "rem", "neg")
# LLVM cuts names of local values after 1,024 characters, and what tells them apart is at their ends.
_LONG, _KEPT = 400, 200
# Every local array starts with such a store. LLVM splits it into items, which takes minutes for many items.
_ZEROS, _SET = "] zeroinitializer, ", "@llvm.memset.p0.i64"
# Where checks look for unwritten memory, a local array is known by a call where its thread begins.
_LOCAL_ARRAY = '%"_cudapy_lmem'

# The function that a local array is given to, in checked code, where its thread begins.
LOCAL = "gridjit.local"

# NVVM contracts multiply-adds by default. If the host does too, its results differ less from a GPU's.
# What fastmath allows here, of which all code may be contracted. Results stay infinite, or NaN, where they are.
_FAST = ("reassoc", "nsz", "arcp", "contract", "afn")
_ALLOCA = " = alloca "


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
    dropped, debug = _DROPPED_BUT_LINES if lines else _DROPPED, _DEBUG in text
    kept = (line for line in text.splitlines(keepends=True) if not line.startswith(dropped))
    text = _short("".join(line for line in kept if not (debug and _is_debug(line))))
    # A search that begins at each line takes as long as parsing the text, so it is only made for what is there.
    if "!dbg" in text and not lines:
        text = without_debug_location(text)
    text = text.replace(f'@"{intrinsics.THEIRS}', f'@"{intrinsics.OURS}').replace(
        f"@{intrinsics.THEIRS}", f"@{intrinsics.OURS}"
    )
    text, asm = replace_asm(hoisted(text))
    text = with_locations(text, always=locations)
    shared = tuple(filter(None, map(_shared_array, text.split("\n")))) if _SHARED in text else ()
    text = with_each_line(text, _SHARED, lambda line: line if _shared_array(line) is None else "")
    # Otherwise a function that no earlier module mentions would be lost when modules are linked one by one.
    text = _flatten(with_each_line(text, _SHARED_USE, _shared_use), kernel)
    text = text.replace("define linkonce_odr ", "define weak_odr ")
    if not exactly:
        allowed = _FAST if fastmath is True else [flag for flag in _FAST if flag in ("contract", *(fastmath or ()))]
        text = _with_flags(text, _FAST_ARITHMETIC if fastmath else _ARITHMETIC, " ".join(allowed))
    text = _redeclared(with_each_line(text, _ZEROS, partial(_set, checked=checked)))
    have = _names(text)
    extra = _redeclared("\n".join(asm + _declared(text, shared)))
    added = (
        line for line in extra.split("\n") if not line.startswith("declare ") or FunctionText(line).name not in have
    )
    return Retargeted(text="\n".join([text, *added]), shared=shared, declared=have | _names(extra))


def _is_debug(line: str) -> bool:
    """Return whether a line calls or declares a function that tells where variables are."""
    return _DEBUG in line and name_of(symbol(line)).startswith(_DEBUG)


def _short(text: str) -> str:
    """Return a text with digests in place of the ends of long names of local values."""
    parts = text.split('"')
    for place, part in enumerate(parts[1:-1], 1):
        if len(part) >= _LONG and parts[place - 1].endswith("%"):
            parts[place] = f"{part[:_KEPT]}.{sha256(part[_KEPT:].encode()).hex()}"
    return '"'.join(parts)


def _shared_array(line: str) -> SharedArray | None:
    """Return the shared array that a line is the variable of; None for another line."""
    before, is_shared, value = line.partition(_SHARED)
    linkage, (items, _, rest) = before.partition(" =")[2], value.rpartition("]")
    unknown, _, align = rest.strip().removeprefix("undef").partition(", align ")
    if not is_shared or unknown or linkage not in ("", " external"):
        return None
    kind, name = f"[{items}]", name_of(symbol(before))
    return SharedArray(name=name, type=kind, align=int(align or 16), dynamic=bool(linkage))


def _shared_use(line: str) -> str:
    """Return an instruction that makes a pointer of a shared array's address as a call."""
    result, _, cast = line.partition(_SHARED_USE)
    is_shared, (_, _, rest) = "] addrspace(3)* @" in cast, cast.partition(" to ")[2].partition(" ")
    call = f'{result} = call ptr @"{intrinsics.SHARED_ARRAY}{name_of(symbol(cast))}"()'
    return f"{call} {rest}".rstrip() if is_shared else line


def _flatten(text: str, kernel: str) -> str:
    """Return text with constant memory as plain memory; the host has one address space."""
    first, *others = text.split(_SPACE)
    spaces = {int(other.partition(")")[0]) for other in others}
    if spaces - {1, 4, 5}:
        raise UnsupportedError(
            f"kernel {kernel} uses shared memory in a way the host target does not offer (address spaces "
            f"{', '.join(map(str, sorted(spaces)))}); declare it with cuda.shared.array"
        )
    flat = first + "".join(other.partition(")")[2] for other in others)
    return flat.replace("addrspacecast", "bitcast") if spaces else text


def _with_flags(text: str, operations: Collection[str], flags: str) -> str:
    """Return a text with flags of operations on floats that have none."""
    first, *others = text.split(_FLOAT)
    return _FLOAT.join([first, *(_flagged(other, operations, flags) for other in others)])


def _flagged(operation: str, operations: Collection[str], flags: str) -> str:
    word, _, rest = operation.partition(" ")
    return f"{word} {flags} {rest}" if word in operations and rest.startswith(_TYPES) else operation


def _set(line: str, *, checked: bool) -> str:
    """Return a store of an array of zeros as a call; in checked code, a local array is given to LOCAL."""
    stored, _, after = line.strip().partition(_ZEROS)
    kind = stored.removeprefix("store ") + "]"
    if not stored.startswith("store [") or not after.startswith(f"{kind}* "):
        return line
    at = _value(after.removeprefix(f"{kind}* "))
    rest, size = after[len(f"{kind}* {at}") :], f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"
    local = f"\n  call void @{LOCAL}(ptr {at}, i64 {size})" if checked and at.startswith(_LOCAL_ARRAY) else ""
    return f"  call void {_SET}(ptr {at}, i8 0, i64 {size}, i1 false){local}{rest}"


def _value(text: str) -> str:
    """Return the local value that a text begins with."""
    return text[: text.find('"', 2) + 1] if text.startswith('%"') else text.partition(",")[0].partition(" ")[0]


def _declared(text: str, shared: Sequence[SharedArray]) -> list[str]:
    """Return declarations of the functions that stand for stores of zeros, local arrays and shared arrays."""
    arrays = (f'declare ptr @"{intrinsics.SHARED_ARRAY}{array.name}"() memory(none)' for array in shared)
    others = {_SET: "(ptr, i8, i64, i1)", f"@{LOCAL}": "(ptr, i64)"}
    return [*(f"declare void {name}{types}" for name, types in others.items() if f"{name}(" in text), *arrays]


def _redeclared(text: str) -> str:
    """Return a text with the host's own declarations."""
    return with_declarations(text, lambda one: f"{own}\n" if (own := intrinsics.declaration(one.name)) else one.text)


def _names(text: str) -> frozenset[str]:
    return frozenset(one.name for one in declarations(text))


def hoisted(text: str) -> str:
    """Return a module of LLVM IR text whose functions set memory of a known size aside in their first block."""
    return with_definitions(text, _in_first_block) if _ALLOCA in text else text


def _in_first_block(function: FunctionText) -> str:
    lines = function.text.splitlines(keepends=True)
    first, second, *_ = [*(place for place, line in enumerate(lines) if label_of(line)), len(lines), len(lines)]
    fixed = [line for line in lines[second:] if _is_fixed(line)]
    if not fixed:
        return function.text
    later = (line for line in lines[second:] if not _is_fixed(line))
    return "".join([*lines[: first + 1], *fixed, *lines[first + 1 : second], *later])


def _is_fixed(line: str) -> bool:
    """Return whether a line sets memory aside whose size is known: there is no value behind its type."""
    _, is_alloca, kind = line.partition(_ALLOCA)
    return bool(is_alloca) and "%" not in kind
