"""Unsupported operations: found in a kernel's LLVM IR and reported in the user's own words.

It runs before any code is generated, because LLVM ends the process at an instruction that it cannot compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.intrinsics import is_intrinsic
from gridjit.compiler.targets.host.library.device_libraries import is_provided
from gridjit.compiler.targets.host.library.maths import is_maths
from gridjit.compiler.targets.host.library.ptx.inline_asm import asm_function
from gridjit.compiler.values.errors import UnsupportedError
from gridjit.compiler.values.target import Lowered

_ASM = regex(r'^[^"\n]*(?:"[^"\n]*"[^"\n]*)?\bcall [^@"\n]*\basm\b[^"\n]*"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_DEBUG = regex(r"!dbg !(\d+)")

# A function of cuda.declare_device, not one of numba-cuda's or CUDA's own.
_DECLARED_BY_USERS = regex(r"(?!brkpt|cuda|nv)[A-Za-z]\w*")
# The operations as a user knows them, by the first part of the name that the front end gives their function.
_VOCABULARY = (
    ("brkpt", "breakpoint()"),
    ("__nv_", "the libdevice function {}"),
    ("llvm.nvvm.", "the device intrinsic {}"),
)


def refuse_unsupported(lowered: Lowered, linked: frozenset[str] = frozenset()) -> None:
    """Raise UnsupportedError for the first operation of lowered that the host does not support.

    linked: what files that the kernel is linked with define.
    """
    defined = {name for text in lowered.modules for name in _named(text, "define")} | linked
    for text in lowered.modules:
        for name in _missing(text, defined):
            raise UnsupportedError(_sentence(lowered, text, name, rf'@"?{re.escape(name)}"?\('))
        for instruction in _ASM.findall(text) if " asm " in text else ():
            if asm_function(instruction) is None:
                raise UnsupportedError(_sentence(lowered, text, instruction, re.escape(f'"{instruction}"')))


def _missing(text: str, defined: set[str]) -> Iterable[str]:
    for name in _named(text, "declare"):
        if not (name in defined or is_intrinsic(name) or is_maths(name) or is_provided(name)):
            yield name


def _named(text: str, how: str) -> Iterator[str]:
    """Yield the names of the functions that a module's text defines, or declares."""
    for one in f"\n{text}".split(f"\n{how} ")[1:]:
        name = one.partition("@")[2]
        yield name[1:].partition('"')[0] if name.startswith('"') else name.partition("(")[0]


def _sentence(lowered: Lowered, text: str, name: str, pattern: str) -> str:
    place, words = kernel_place(lowered, _line(text, pattern)), _words(name)
    if pattern.startswith("@") and _DECLARED_BY_USERS.fullmatch(name):
        return (
            f"{place} calls {name}, which no file for the host defines; put C or LLVM IR with it beside the file for a "
            "GPU that is linked, under the same name with .c, .ll or .bc"
        )
    return f"{place} uses {words}, which the host target does not offer; do without it, or run the kernel on a GPU"


def _words(name: str) -> str:
    found = next((words for start, words in _VOCABULARY if name.startswith(start)), "{}")
    return found.format(name)


def kernel_place(lowered: Lowered, line: int | None = None) -> str:
    """Return what a kernel is called, with the place of a line of it, or of its first."""
    file, first = lowered.source
    where = f" ({file}:{line or first})" if file else ""
    return f"kernel {lowered.kernel or lowered.entry}{where}"


def _line(text: str, pattern: str) -> int | None:
    """Return the source line of the first use of pattern, where the code carries debug locations."""
    for use in re.finditer(rf"^.*call.*{pattern}.*$", text, re.MULTILINE):
        if (debug := _DEBUG.search(use.group())) and (
            found := re.search(rf"^!{debug.group(1)} = .*?DILocation\(.*?line: (\d+)", text, re.MULTILINE)
        ):
            return int(found.group(1))
    return None
