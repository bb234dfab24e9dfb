"""Census: the driver and the GPUs that this process can use, for people; found without bindings or a context."""

from __future__ import annotations

import ctypes
from typing import Any

from gridjit.runtime.devices import presence

# The driver's numbers of the two parts of a compute capability.
_MAJOR, _MINOR = 75, 76


def driver_version() -> str | None:
    """Return the newest CUDA that the driver serves, such as "13.0"; None without a driver."""
    try:
        library = presence._library()
    except OSError:
        return None
    version = ctypes.c_int(0)
    if library.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def gpus() -> list[dict[str, Any]]:
    """Return the number, name, architecture and bytes of memory of each GPU."""
    if presence.why_not():
        return []
    library = presence._library()
    return [_gpu(library, number) for number in range(presence.device_count())]


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
