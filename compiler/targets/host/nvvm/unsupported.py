"""Unsupported operations: found in a kernel's LLVM IR and reported in the user's own words.

It runs before any code is generated, because LLVM ends the process at an instruction that it cannot compile.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.targets.host.ir.calls import asm_calls, calls
from gridjit.compiler.targets.host.ir.debug_locations import DEBUG_LOCATION
from gridjit.compiler.targets.host.ir.intrinsics import is_intrinsic
from gridjit.compiler.targets.host.ir.metadata import nodes
from gridjit.compiler.targets.host.ir.module import declarations, definitions
from gridjit.compiler.targets.host.library.device_libraries import is_provided
from gridjit.compiler.targets.host.library.maths import is_maths
from gridjit.compiler.targets.host.library.ptx.inline_asm import asm_function
from gridjit.compiler.targets.refusals import of_undefined
from gridjit.compiler.values.errors import UnsupportedError
from gridjit.compiler.values.target import Lowered

# What functions begin with that are not of cuda.declare_device, but numba-cuda's or CUDA's own.
_OWN = ("brkpt", "cuda", "nv", "_")
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
    defined = {one.name for text in lowered.modules for one in definitions(text)} | linked
    for text in lowered.modules:
        for name in _missing(text, defined):
            raise UnsupportedError(_sentence(lowered, name, _line(text, name), function=True))
        for call in asm_calls(text):
            if asm_function(call.instructions) is None:
                line = _line_of(text, text[call.start :].partition("\n")[0])
                raise UnsupportedError(_sentence(lowered, call.instructions, line))


def _missing(text: str, defined: set[str]) -> Iterable[str]:
    for name in (one.name for one in declarations(text)):
        if not (name in defined or is_intrinsic(name) or is_maths(name) or is_provided(name)):
            yield name


def _sentence(lowered: Lowered, name: str, line: int | None, *, function: bool = False) -> str:
    place, words = kernel_place(lowered, line), _words(name)
    if function and (fault := of_undefined(name)) is not None:
        return f"{place}: {fault}"
    if function and name.isascii() and name.isidentifier() and not name.startswith(_OWN):
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


def _line(text: str, name: str) -> int | None:
    """Return the source line of the first call of a function, where the code carries debug locations."""
    lines = (_line_of(text, call.line) for call in calls(text) if call.name == name)
    return next(filter(None, lines), None)


def _line_of(text: str, instruction: str) -> int | None:
    found = DEBUG_LOCATION.search(instruction)
    location = nodes(text).get(found[1]) if found else None
    return int(location.fields["line"]) if location else None
