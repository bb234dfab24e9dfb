"""load: object bytes made executable in this process, without importing llvmlite, and written to files for gdb."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridjit.base.messages import warn_or_log
from gridjit.base.values import dataclass, field
from gridjit.compiler.targets.host.llvm.libllvm import NO_SYMBOLS, LoadedCode, load_library, load_object
from gridjit.compiler.values.elf import place_of
from gridjit.compiler.values.errors import ConfigWarning

# i32 entry(ptr params, ptr launch, i64 first, i64 last, ptr status); ctypes drops the GIL around the call.
Entry = Callable[[Any, Any, int, int, Any], int]
_ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
# See the host target's stack_overflow.py.
_TOLD = "gridjit.stack.told"
# The libraries of mathematics that objects call; only such objects miss an absent library.
_LIBRARIES = ("libm.so.6", "libmvec.so.1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostFunction:
    """A kernel's entry in this process. Its code is unloaded when the last reference to it goes."""

    name: str
    address: int
    call: Entry = field(repr=False)
    # The addresses of the other symbols asked for.
    others: tuple[int, ...] = ()
    # The address of the stack size that a too deep recursion took; 0 if the code does not tell it.
    told: int = 0
    # LLVM's claim on the code; dropping it unloads.
    _code: LoadedCode = field(repr=False)


def load(
    image: bytes,
    entry: str,
    symbols: Mapping[str, int] = NO_SYMBOLS,
    others: Sequence[str] = (),
    *,
    recursive: bool = False,
) -> HostFunction:
    """Return the function called entry of an object file; raises LaunchError if it does not link here.

    symbols: addresses of this process's symbols for the code. others: symbols whose addresses are asked for. recursive:
    whether the code has functions that call themselves.
    """
    _know_mathematics()
    code = load_object(image, entry, symbols, [*others, _TOLD] if recursive else others)
    call, found = _ENTRY(code.address), tuple(code.others)
    told = found[-1] if recursive else 0
    return HostFunction(name=entry, address=code.address, call=call, others=found[: len(others)], told=told, _code=code)


@functools.cache
def _know_mathematics() -> None:
    for name in _LIBRARIES:
        load_library(name)


_numbers = itertools.count(1)


def write_symbols(folder: Path, image: bytes, entry: str, address: int) -> None:
    """Write a loaded object file, and add a line to the process's script for gdb; a failure is a warning."""
    place = place_of(image, entry)
    if place is None:
        return
    path = folder / f"{entry}-{os.getpid()}-{next(_numbers)}.o"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        with open(folder / f"gdb-{os.getpid()}", "a") as script:
            script.write(f'add-symbol-file "{path}" {address - place[0]:#x}\n')
    except OSError as error:
        words = f"GRIDJIT_HOST_SYMBOLS: {path} cannot be written: {error}"
        warn_or_log(ConfigWarning(words), logger="gridjit")
