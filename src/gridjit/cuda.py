"""numba.cuda's vocabulary under gridjit's compiler: `from gridjit import cuda` for `from numba import cuda`.

jit, device arrays, streams and events are gridjit's own and work on either target; every other name is looked up in
numba.cuda on first use. Importing this module does not import a compiler. Type checkers know the types of all names
that are gridjit's own, and numba's types.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import sys
from typing import TYPE_CHECKING, Any

from gridjit.runtime.jit import jit
from gridjit.runtime.process.session import session

if TYPE_CHECKING:
    from gridjit import launchconfig
    from gridjit.runtime.accepted import NumbaType
    from gridjit.runtime.args.direction import In, InOut, Out
    from gridjit.runtime.arrays.create import as_device_array as as_cuda_array
    from gridjit.runtime.arrays.create import (
        device_array,
        device_array_like,
        managed_array,
        mapped_array,
        mapped_array_like,
        pinned,
        pinned_array,
        pinned_array_like,
        to_device,
    )
    from gridjit.runtime.installed.ufuncs import guvectorize, vectorize
    from gridjit.runtime.memory.device_array import DeviceArray
    from gridjit.runtime.numba_names.devices import get_current_device, list_devices, select_device
    from gridjit.runtime.numba_names.functions import event, is_available, is_cuda_array, stream
    from gridjit.runtime.process.current import (
        current_stream,
        default_stream,
        external_stream,
        per_thread_default_stream,
        synchronize,
    )
    from gridjit.runtime.queues.streams import event_elapsed_time
    from gridjit.runtime.reduction import Reduce
    from gridjit.runtime.reduction import Reduce as reduce  # noqa: N813

    # numba's types. Every other name of its is Any.
    b1: NumbaType
    bfloat16: NumbaType
    bool: NumbaType
    bool_: NumbaType
    boolean: NumbaType
    byte: NumbaType
    c16: NumbaType
    c8: NumbaType
    char: NumbaType
    complex128: NumbaType
    complex64: NumbaType
    dim3: NumbaType
    double: NumbaType
    f4: NumbaType
    f8: NumbaType
    ffi: NumbaType
    ffi_forced_object: NumbaType
    float32: NumbaType
    float64: NumbaType
    grid_group: NumbaType
    i1: NumbaType
    i2: NumbaType
    i4: NumbaType
    i8: NumbaType
    int16: NumbaType
    int32: NumbaType
    int64: NumbaType
    int8: NumbaType
    int_: NumbaType
    intc: NumbaType
    intp: NumbaType
    long_: NumbaType
    longlong: NumbaType
    none: NumbaType
    short: NumbaType
    size_t: NumbaType
    ssize_t: NumbaType
    u1: NumbaType
    u2: NumbaType
    u4: NumbaType
    u8: NumbaType
    uchar: NumbaType
    uint: NumbaType
    uint16: NumbaType
    uint32: NumbaType
    uint64: NumbaType
    uint8: NumbaType
    uintc: NumbaType
    uintp: NumbaType
    ulong: NumbaType
    ulonglong: NumbaType
    ushort: NumbaType
    void: NumbaType

__all__ = [
    "DeviceArray",
    "In",
    "InOut",
    "Out",
    "Reduce",
    "as_cuda_array",
    "current_stream",
    "default_stream",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "get_current_device",
    "guvectorize",
    "is_available",
    "is_cuda_array",
    "jit",
    "launchconfig",
    "list_devices",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "reduce",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
    "vectorize",
]

# Name here -> (module, name there).
_OURS = {
    "DeviceArray": ("gridjit.runtime.memory.device_array", "DeviceArray"),
    "In": ("gridjit.runtime.args.direction", "In"),
    "InOut": ("gridjit.runtime.args.direction", "InOut"),
    "Out": ("gridjit.runtime.args.direction", "Out"),
    "as_cuda_array": ("gridjit.runtime.arrays.create", "as_device_array"),
    "current_stream": ("gridjit.runtime.process.current", "current_stream"),
    "default_stream": ("gridjit.runtime.process.current", "default_stream"),
    "device_array": ("gridjit.runtime.arrays.create", "device_array"),
    "device_array_like": ("gridjit.runtime.arrays.create", "device_array_like"),
    "event": ("gridjit.runtime.numba_names.functions", "event"),
    "event_elapsed_time": ("gridjit.runtime.queues.streams", "event_elapsed_time"),
    "external_stream": ("gridjit.runtime.process.current", "external_stream"),
    "get_current_device": ("gridjit.runtime.numba_names.devices", "get_current_device"),
    "guvectorize": ("gridjit.runtime.installed.ufuncs", "guvectorize"),
    "is_available": ("gridjit.runtime.numba_names.functions", "is_available"),
    "is_cuda_array": ("gridjit.runtime.numba_names.functions", "is_cuda_array"),
    "launchconfig": ("gridjit.launchconfig", ""),
    "list_devices": ("gridjit.runtime.numba_names.devices", "list_devices"),
    "managed_array": ("gridjit.runtime.arrays.create", "managed_array"),
    "mapped_array": ("gridjit.runtime.arrays.create", "mapped_array"),
    "mapped_array_like": ("gridjit.runtime.arrays.create", "mapped_array_like"),
    "per_thread_default_stream": ("gridjit.runtime.process.current", "per_thread_default_stream"),
    "pinned": ("gridjit.runtime.arrays.create", "pinned"),
    "pinned_array": ("gridjit.runtime.arrays.create", "pinned_array"),
    "pinned_array_like": ("gridjit.runtime.arrays.create", "pinned_array_like"),
    "select_device": ("gridjit.runtime.numba_names.devices", "select_device"),
    "stream": ("gridjit.runtime.numba_names.functions", "stream"),
    "synchronize": ("gridjit.runtime.process.current", "synchronize"),
    "to_device": ("gridjit.runtime.arrays.create", "to_device"),
    "vectorize": ("gridjit.runtime.installed.ufuncs", "vectorize"),
}

# Ours too, with kernels in this module's words.
_REDUCTIONS = ("Reduce", "reduce")

# Where numba-cuda has what kernels are written in: nothing of it uses a driver.
_OF_KERNELS = (
    "numba.core.types",
    "numba.cuda.bf16",
    "numba.cuda.cache_hints",
    "numba.cuda.cg",
    "numba.cuda.fp16",
    "numba.cuda.fp8",
    "numba.cuda.intrinsics",
    "numba.cuda.libdevice",
    "numba.cuda.stubs",
    "numba.cuda.types",
)

# Names that are numba-cuda's own on a GPU, and ours on the host, where gridjit.runtime.numba_names.devices has them.
_DEVICES = "gridjit.runtime.numba_names.devices"
_ON_THE_HOST = {
    "close",
    "cuda_error",
    "current_context",
    "defer_cleanup",
    "detect",
    "gpus",
    "is_bfloat16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
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
        from gridjit.compiler.frontend.bindings.vocabulary import module_type

        return module_type()
    if name in _REDUCTIONS:
        from gridjit.runtime.reduction import reduce_in

        return reduce_in(sys.modules[__name__])
    if name == "declare_device":
        from gridjit.compiler.frontend.bindings.vocabulary import parsing

        return parsing(_numbas(name))
    if (name in _ON_THE_HOST or name == "devices") and session().is_host:
        found = importlib.import_module(_DEVICES)
        return found if name == "devices" else getattr(found, name)
    return _numbas(name)


def _numbas(name: str) -> Any:
    """Return a name of numba.cuda's; its driver is the simulated one where there is none."""
    from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
    from gridjit.compiler.frontend.narrow import modules

    package = numba_cuda()
    if name in modules.NAMES:  # it imports them when it compiles
        return modules.named(name)
    if name == "random":  # a module of numba-cuda's that it does not import by itself
        from gridjit.runtime.installed.beside import random_of

        return random_of(sys.modules[__name__])
    try:
        found = getattr(package, name)
    except AttributeError:
        from gridjit.runtime.numba_names.replacements import of_module

        said = f"neither gridjit nor numba.cuda has {name!r}{of_module(name)}"
        raise AttributeError(said, name=name, obj=sys.modules[__name__]) from None  # Python says which was meant
    if _may_ask_for_a_gpu(found) and session().simulates:
        from gridjit.runtime.simulated import under_numba

        under_numba.place()
    return found


def _may_ask_for_a_gpu(found: Any) -> builtins.bool:
    """Return whether the driver may be asked when a name is: not by a compile, for a word of kernels, as the first."""
    from gridjit.runtime.devices import presence

    where = getattr(found, "__module__", None) or getattr(found, "__name__", "")
    return not str(where).startswith(_OF_KERNELS) or presence.may_be_asked()


def __dir__() -> list[str]:
    from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
    from gridjit.compiler.frontend.narrow.modules import NAMES

    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_ON_THE_HOST, *NAMES, *dir(numba_cuda())})


class _Beside:
    """A finder that has numba-cuda's modules which launch by themselves follow the process's target, if imported."""

    MODULES = ("numba.cuda.random", "numba.cuda.vectorizers")

    @classmethod
    def find_spec(cls, name: str, path: Any, target: Any = None) -> Any:
        """Find such a module by the finder that sees to it from now on."""
        if name not in cls.MODULES:
            return None
        with contextlib.suppress(ValueError):  # another thread imports the other of them
            sys.meta_path.remove(cls)
        return cls.follow().find_spec(name, path, target)

    @staticmethod
    def follow() -> Any:
        """Make the imported modules follow now; the returned finder does it for modules that are not imported yet."""
        from gridjit.runtime.installed import beside  # most programs import none of these modules

        return beside.follow(sys.modules[__name__])


if "numba.cuda.dispatcher" in sys.modules:
    from gridjit.runtime.installed import forgotten  # numba-cuda was imported before gridjit

    forgotten.follow(sys.modules["numba.cuda.dispatcher"])

if sys.modules.keys().isdisjoint(_Beside.MODULES):
    sys.meta_path.insert(0, _Beside)
else:
    _Beside.follow()
