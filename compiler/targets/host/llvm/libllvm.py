"""libllvm: this computer's processor, and the calls that stored code needs, bound to llvmlite's shared library.

llvmlite.binding makes the same calls, but importing it takes 20 ms and imports llvmlite.ir, which only compiling needs.
A process that finds its kernels in the cache needs neither. The functions are those of llvmlite 0.50.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import itertools
import sys
import weakref
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_size_t, c_uint8, c_uint64, c_void_p
from pathlib import Path
from types import MappingProxyType

from gridjit.base.forking import lock, section
from gridjit.base.interrupts import let_through
from gridjit.compiler.values.elf import runs_here
from gridjit.compiler.values.errors import DeviceError, LaunchError
from gridjit.compiler.values.target import Target

_OBJECT, _THIS_PROCESS = 2, 3
# A pseudo-feature besides LLVM's own: which of glibc's vector functions the code may call, so that code that calls
# them is not loaded where they are missing. 1: since glibc 2.22, 2: since glibc 2.35.
LIBMVEC = "libmvec"
_LIBMVEC_SYMBOLS = {2: "_ZGVbN2v_tan", 1: "_ZGVbN2v_sin"}
NO_SYMBOLS: Mapping[str, int] = MappingProxyType({})
_LIBRARY = {"darwin": "libllvmlite.dylib", "win32": "llvmlite.dll"}.get(sys.platform, "libllvmlite.so")


class _Element(ctypes.Structure):
    """A piece of a library to be linked: its kind, its bytes, their number."""

    _fields_ = (("kind", c_uint8), ("value", c_char_p), ("length", c_size_t))


class _Symbol(ctypes.Structure):
    """A symbol's name and, once linked, its address."""

    _fields_ = (("name", c_char_p), ("address", c_uint64))


_TEXT = POINTER(c_char_p)
_SIGNATURES = {
    "LLVMPY_GetHostCPUName": (None, [_TEXT]),
    "LLVMPY_GetHostCPUFeatures": (ctypes.c_int, [_TEXT]),
    "LLVMPY_DisposeString": (None, [c_char_p]),
    "LLVMPY_InitializeNativeTarget": (None, []),
    "LLVMPY_InitializeNativeAsmPrinter": (None, []),
    "LLVMPY_LoadLibraryPermanently": (ctypes.c_int, [c_char_p, POINTER(c_char_p)]),
    "LLVMPY_CreateLLJITCompiler": (c_void_p, [c_void_p, c_bool, c_bool, _TEXT]),
    "LLVMPY_LLJIT_Link": (
        c_void_p,
        [c_void_p, c_char_p, POINTER(_Element), c_size_t, c_void_p, c_size_t, POINTER(_Symbol), c_size_t, _TEXT],
    ),
    "LLVMPY_LLJITDispose": (None, [c_void_p]),
    "LLVMPY_LLJIT_Dylib_Tracker_Dispose": (c_bool, [c_void_p, _TEXT]),
}


class _Text:
    """A string that LLVM returns through a pointer, and frees when it is asked to."""

    def __init__(self) -> None:
        self.pointer = c_char_p()

    def take(self) -> str:
        """Return the string, and let LLVM free its own copy."""
        if self.pointer.value is None:
            return ""
        text = self.pointer.value.decode(errors="replace")
        _library().LLVMPY_DisposeString(self.pointer)
        return text


class LoadedCode:
    """An object file linked into this process: where its entry and others are. The code goes when this does."""

    def __init__(self, tracker: int, addresses: tuple[int, ...], linker: _Linker) -> None:
        self.address, *self.others = addresses
        # At interpreter exit, code may still be running on other threads; then it stays.
        weakref.finalize(self, _unload, tracker, linker).atexit = False


def host_target() -> Target:
    """Return the processor this process runs on, its name and features as LLVM knows them."""
    features = [name for name in cpu_features().split(",") if name]
    if level := _libmvec_level():
        features.append(f"{LIBMVEC}={level}")
    return Target(kind="host", arch=cpu_name(), features=",".join(sorted(features)))


def cpu_name() -> str:
    """Return LLVM's name of this computer's processor ("znver4")."""
    text = _Text()
    with section():
        _library().LLVMPY_GetHostCPUName(byref(text.pointer))
        return text.take()


def cpu_features() -> str:
    """Return the processor's features, as LLVM writes them ("+avx2,-amx-tile")."""
    text = _Text()
    with section():
        known = _library().LLVMPY_GetHostCPUFeatures(byref(text.pointer))
        features = text.take()
    return features if known else ""


def _libmvec_level() -> int:
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError as error:
        let_through(error)
        return 0
    return next((level for level, symbol in _LIBMVEC_SYMBOLS.items() if hasattr(library, symbol)), 0)


def load_library(name: str) -> bool:
    """Make a shared library's symbols known to code loaded later; return whether it was found."""
    text = _Text()
    with section():
        failed = _library().LLVMPY_LoadLibraryPermanently(name.encode(), byref(text.pointer))
        text.take()
    return not failed


def load_object(
    image: bytes, entry: str, symbols: Mapping[str, int] = NO_SYMBOLS, others: Sequence[str] = ()
) -> LoadedCode:
    """Return an object file's code, executable, with the addresses of entry and of other symbols.

    symbols: addresses of what this process provides for the code. Raises LaunchError if it does not link.
    """
    if not runs_here(image):
        raise LaunchError(f"{entry}: the object code does not load: it is not for this computer's kind of processor")
    elements = (_Element * 2)(_Element(_OBJECT, image, len(image)), _Element(_THIS_PROCESS, b"", 0))
    exports = (_Symbol * (1 + len(others)))(*(_Symbol(name.encode(), 0) for name in (entry, *others)))
    imports = (_Symbol * len(symbols))(*(_Symbol(symbol.encode(), address) for symbol, address in symbols.items()))
    error = _Text()
    with section(), _linking:
        linker = _linker()
        name = f"{entry}#{next(_numbers)}".encode()
        tracker = _library().LLVMPY_LLJIT_Link(
            linker.handle,
            name,
            elements,
            len(elements),
            imports,
            len(imports),
            exports,
            len(exports),
            byref(error.pointer),
        )
    if not tracker:
        raise LaunchError(f"the object code of {entry} does not load on this computer: {error.take()}")
    return LoadedCode(tracker, tuple(symbol.address for symbol in exports), linker)


_linking = lock()
_numbers = itertools.count()


@functools.cache
def _library() -> ctypes.CDLL:
    package = importlib.util.find_spec("llvmlite")
    places = () if package is None else package.submodule_search_locations or ()
    for place in places:
        path = Path(place) / "binding" / _LIBRARY
        if path.exists():
            library = ctypes.CDLL(str(path))
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            return library
    raise DeviceError("llvmlite's shared library is missing; reinstall it with: pip install --force-reinstall llvmlite")


class _Linker:
    """A linker of a few objects. It goes with the last of them.

    It keeps 9 KB for each object that it ever linked, even after that is unloaded, so none is used for ever. A new one
    takes 100 KB and a millisecond, so none is made for a single object.

    It places each object in one block of memory (LLVM's JITLink). LLVM's older linker puts sections wherever there is
    room. If they are more than 2 GB apart, as in programs that map a GPU's memory, their addresses do not fit, and it
    ends the process.
    """

    OBJECTS = 16
    SUPPRESS_ERRORS, ONE_BLOCK = True, True

    def __init__(self) -> None:
        library = _library()
        library.LLVMPY_InitializeNativeTarget()
        library.LLVMPY_InitializeNativeAsmPrinter()
        error = _Text()
        self.rest = self.OBJECTS
        self.handle: int | None = library.LLVMPY_CreateLLJITCompiler(
            None, self.SUPPRESS_ERRORS, self.ONE_BLOCK, byref(error.pointer)
        )
        if not self.handle:
            raise DeviceError(f"LLVM's linker does not start: {error.take()}")
        weakref.finalize(self, _end_linker, self.handle).atexit = False


_current: list[_Linker] = []


def _linker() -> _Linker:
    """Return the linker of the next object."""
    if not _current or _current[0].rest <= 0:
        _current[:] = [_Linker()]
    _current[0].rest -= 1
    return _current[0]


def _end_linker(handle: int) -> None:
    with section():
        _library().LLVMPY_LLJITDispose(handle)


def _unload(tracker: int, linker: _Linker) -> None:
    """Unload one object. Its linker is a parameter so that it lives at least until then."""
    error = _Text()
    with section():
        _library().LLVMPY_LLJIT_Dylib_Tracker_Dispose(tracker, byref(error.pointer))
        error.take()
