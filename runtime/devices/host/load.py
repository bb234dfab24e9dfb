"""load: object bytes made executable in this process. Imports llvmlite's binding and nothing heavier."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as binding

from gridjit.compiler.errors import LaunchError

# i32 entry(ptr params, ptr launch, i64 first, i64 last, ptr status); ctypes drops the GIL around the call.
Entry = Callable[[Any, Any, int, int, Any], int]
_ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
# Where the mathematics is that objects call; absent ones are only missed by objects that need them.
_LIBRARIES = ("libm.so.6", "libmvec.so.1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostFunction:
    """A kernel's entry in this process. Its code is unloaded when the last reference to it goes."""

    name: str
    address: int
    call: Entry = field(repr=False)
    # LLVM's claim on the code; dropping it unloads.
    _code: Any = field(repr=False)


def load(image: bytes, entry: str) -> HostFunction:
    """Return the function called entry of an object file; raises LaunchError if it does not link here."""
    with _lock:
        engine = _engine()
        library = binding.JITLibraryBuilder().add_object_img(image).add_current_process().export_symbol(entry)
        try:
            code = library.link(engine, f"{entry}#{next(_numbers)}")
            address = code[entry]
        except (RuntimeError, KeyError) as error:
            raise LaunchError(f"the object code of {entry} does not load on this computer: {error}") from error
    return HostFunction(name=entry, address=address, call=_ENTRY(address), _code=code)


_lock = threading.Lock()
_numbers = itertools.count()
_engines: list[Any] = []


def _engine() -> Any:
    """Return the process's one linker of objects, made on first use."""
    if not _engines:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        for name in _LIBRARIES:
            with contextlib.suppress(RuntimeError):
                binding.load_library_permanently(name)
        _engines.append(binding.create_lljit_compiler(suppress_errors=True))
    return _engines[0]
