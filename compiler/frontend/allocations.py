"""allocations: numba-cuda's statistics of what kernels allocate, kept in device memory for programs to query."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.messages import warn

# The counters that modules write to, by identity. numba-cuda makes new ones when a context is reset. A module that is
# still loaded must not write to freed memory, so these few bytes stay. It is the only device memory that the compiler
# keeps: artifacts name count() by this module, and other processes look for it here.
_counters: dict[int, Any] = {}


def counting() -> bool:
    """Return whether the program asked for statistics."""
    numba_cuda()
    from numba.cuda import config

    return bool(config.CUDA_NRT_STATS)


def count(module: Any) -> None:
    """Let a module's kernels count in the current context: the setup callback of what is compiled while counting().

    On a device other than the counters' nothing is counted, and a warning says so: it may not reach their memory.
    """
    numba_cuda()
    from numba.cuda.cudadrv.devices import get_context
    from numba.cuda.memory_management.nrt import rtsys

    rtsys.ensure_initialized()
    theirs, here = _device_of(rtsys._memsys), get_context().device.id
    if theirs != here:
        text = f"allocations on device {here} are not counted: numba-cuda's counters are on device {theirs}"
        warn(RuntimeWarning(text))
        return
    rtsys.set_memsys_to_module(SimpleNamespace(get_function=partial(_function, module)))
    # Whatever stream the kernel is launched in, it must find the counters.
    get_context().synchronize()
    _counters[id(rtsys._memsys)] = rtsys._memsys


def _function(module: Any, name: str) -> Any:
    """Return a kernel of a module as numba-cuda's modules have it."""
    return SimpleNamespace(kernel=module.get_kernel(name))


def _device_of(counters: Any) -> int:
    """Return the device whose memory the counters are in."""
    from numba.cuda.cudadrv.driver import binding, driver

    ordinal = binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    address = binding.CUdeviceptr(counters.device_ctypes_pointer.value)
    return int(driver.cuPointerGetAttribute(ordinal, address))
