"""presence: whether a CUDA driver and a device are available, found without importing any bindings."""

from __future__ import annotations

import ctypes
import functools
import sys

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED


@functools.cache
def device_count() -> int:
    """Return how many CUDA devices this process can use; 0 without a driver."""
    return 0 if why_not() else _devices(_library())


@functools.cache
def why_not() -> str:
    """Return why there is no CUDA device to use, in words; "" if there is one."""
    try:
        library = _library()
    except OSError:
        return f"there is no CUDA driver ({_LIBRARY} was not found)"
    if code := library.cuInit(0):
        return f"the CUDA driver cannot be initialized: {_name(library, code)}"
    return "" if _devices(library) else "the CUDA driver sees no device (is CUDA_VISIBLE_DEVICES set?)"


def has_to_start() -> bool:
    """Return whether there is a driver that this process has not called yet."""
    if why_not.cache_info().currsize:
        return False
    try:
        return int(_library().cuDeviceGetCount(ctypes.byref(ctypes.c_int(0)))) == _NOT_INITIALIZED
    except OSError:
        return False


def may_be_asked() -> bool:
    """Return whether calling the driver does no harm: it was called before, or there is none.

    A process that has called the driver once cannot be forked into processes that use it.
    """
    if why_not.cache_info().currsize:
        return True
    try:
        _library()
    except OSError:
        return True
    return False


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(_LIBRARY)


def _devices(library: ctypes.CDLL) -> int:
    count = ctypes.c_int(0)
    return 0 if library.cuDeviceGetCount(ctypes.byref(count)) else count.value


def _name(library: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    library.cuGetErrorName(code, ctypes.byref(text))
    return text.value.decode() if text.value else f"error {code}"
