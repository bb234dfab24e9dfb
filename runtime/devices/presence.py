"""presence: the CUDA driver and the devices that this process can use, found without bindings or a context."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

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


# The driver's numbers of the two parts of a compute capability.
_MAJOR, _MINOR = 75, 76


def driver_version() -> str | None:
    """Return the newest CUDA that the driver serves, such as "13.0"; None without a driver."""
    try:
        library = _library()
    except OSError:
        return None
    version = ctypes.c_int(0)
    if library.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def gpus() -> list[dict[str, Any]]:
    """Return the number, name, architecture and bytes of memory of each GPU."""
    if why_not():
        return []
    library = _library()
    return [_gpu(library, number) for number in range(device_count())]


def _gpu(library: ctypes.CDLL, number: int) -> dict[str, Any]:
    device, size, name = ctypes.c_int(0), ctypes.c_size_t(0), ctypes.create_string_buffer(256)
    library.cuDeviceGet(ctypes.byref(device), number)
    library.cuDeviceGetName(name, len(name), device)
    library.cuDeviceTotalMem_v2(ctypes.byref(size), device)
    major, minor = (_attribute(library, device, which) for which in (_MAJOR, _MINOR))
    return {
        "device": number,
        "name": name.value.decode("utf-8", "replace"),
        "arch": f"sm_{major}{minor}",
        "bytes": size.value,
    }


def _attribute(library: ctypes.CDLL, device: ctypes.c_int, which: int) -> int:
    found = ctypes.c_int(0)
    library.cuDeviceGetAttribute(ctypes.byref(found), which, device)
    return found.value
