"""numba.cuda's vocabulary under gridjit's compiler: `from gridjit import cuda` for `from numba import cuda`.

jit, device arrays, streams and events are gridjit's own and work on either target; every other name is looked up in
numba.cuda on first use. Importing this module imports no compiler.
"""

from __future__ import annotations

import importlib
from typing import Any

from gridjit.runtime.jit import jit

__all__ = ["jit"]

# Name here -> (module, name there).
_OURS = {
    "DeviceArray": ("gridjit.runtime.memory.device_array", "DeviceArray"),
    "In": ("gridjit.runtime.args.direction", "In"),
    "InOut": ("gridjit.runtime.args.direction", "InOut"),
    "Out": ("gridjit.runtime.args.direction", "Out"),
    "as_cuda_array": ("gridjit.runtime.memory.create", "as_device_array"),
    "default_stream": ("gridjit.runtime.current", "default_stream"),
    "device_array": ("gridjit.runtime.memory.create", "device_array"),
    "device_array_like": ("gridjit.runtime.memory.create", "device_array_like"),
    "event": ("gridjit.runtime.vocabulary", "event"),
    "event_elapsed_time": ("gridjit.runtime.streams", "event_elapsed_time"),
    "external_stream": ("gridjit.runtime.current", "external_stream"),
    "get_current_device": ("gridjit.runtime.devices.cuda.device", "current_device"),
    "is_available": ("gridjit.runtime.vocabulary", "is_available"),
    "is_cuda_array": ("gridjit.runtime.vocabulary", "is_cuda_array"),
    "launchconfig": ("gridjit.launchconfig", ""),
    "list_devices": ("gridjit.runtime.devices.cuda.device", "devices"),
    "managed_array": ("gridjit.runtime.memory.create", "managed_array"),
    "mapped_array": ("gridjit.runtime.memory.create", "mapped_array"),
    "mapped_array_like": ("gridjit.runtime.memory.create", "mapped_array_like"),
    "per_thread_default_stream": ("gridjit.runtime.current", "per_thread_default_stream"),
    "pinned": ("gridjit.runtime.memory.create", "pinned"),
    "pinned_array": ("gridjit.runtime.memory.create", "pinned_array"),
    "pinned_array_like": ("gridjit.runtime.memory.create", "pinned_array_like"),
    "select_device": ("gridjit.runtime.devices.cuda.device", "select_device"),
    "stream": ("gridjit.runtime.vocabulary", "stream"),
    "synchronize": ("gridjit.runtime.current", "synchronize"),
    "to_device": ("gridjit.runtime.memory.create", "to_device"),
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'gridjit.cuda' has no attribute {name!r}")
    if name in _OURS:
        module, attribute = _OURS[name]
        found = importlib.import_module(module)
        value = globals()[name] = getattr(found, attribute) if attribute else found
        return value
    if name == "_numba_type_":  # asked where a kernel uses the module, and only there
        from gridjit.compiler.frontend.vocabulary import module_type

        return module_type()
    from gridjit.compiler.frontend.bootstrap import numba_cuda

    try:
        return getattr(numba_cuda(), name)
    except AttributeError:
        raise AttributeError(f"neither gridjit nor numba.cuda has {name!r}") from None


def __dir__() -> list[str]:
    from gridjit.compiler.frontend.bootstrap import numba_cuda

    return sorted({*globals(), *_OURS, *dir(numba_cuda())})
