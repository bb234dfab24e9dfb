"""under_numba: puts the simulated driver in place of the real one, below all of numba-cuda's contexts and memory.

numba-cuda reaches the driver in one place; everything above it stays numba-cuda's own.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gridjit.base.forking import lock, section
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.runtime.environment.models import model
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.simulated import current
from gridjit.runtime.simulated.driver import SimulatedDriver, context_handle

_placing = lock()
# While it is in place: the undo function, and its devices, which numba-cuda asks for once.
_undo: list[tuple[Callable[[], None], tuple[str | None, int]]] = []


def place() -> None:
    """Put the simulated driver under numba-cuda, until displace(); once is enough."""
    numba_cuda()
    wanted = (settings().host_device, settings().host_devices)
    with section(), _placing:
        if _undo and _undo[0][1] != wanted:
            _undo.pop()[0]()
        if not _undo:
            _undo.append((_place(importlib.import_module("numba.cuda.cudadrv.driver")), wanted))


def displace() -> None:
    """Give numba-cuda its driver back."""
    with section(), _placing:
        if _undo:
            _undo.pop()[0]()


def context(ordinal: int) -> Any:
    """Return numba-cuda's own context of a device, for its own attributes."""
    place()
    devices: Any = importlib.import_module("numba.cuda.cudadrv.devices")
    found = devices.gpus[ordinal].get_primary_context()
    found.prepare_for_use()
    return found


def _place(module: Any) -> Callable[[], None]:
    """Replace a real driver's answers; returns the undo function."""
    singleton, core, linker = module.driver, module.ExperimentalDevice, module.load_module_image
    before = dict(vars(singleton))
    simulated = SimulatedDriver(module.binding, _failing(module))
    functions = {name: getattr(simulated, name) for name in dir(simulated) if name.startswith("cu")}
    vars(singleton).update(
        functions,
        is_initialized=True,
        initialization_error=None,
        pid=os.getpid(),
        devices=type(singleton.devices)(),
        _cuda_python_wrap_fn=simulated.refused,
    )
    module._logger = module.make_logger()
    module.ExperimentalDevice = _core_device(module.binding)
    module.load_module_image = lambda *_, **__: simulated.refused("cuLibraryLoadData")()
    uncounted = _count_allocations()
    _forget_devices()

    def undo() -> None:
        _forget_devices()  # the driver that gave their memory frees it
        vars(singleton).clear()
        vars(singleton).update(before, **_lasting(singleton, simulated))
        module.ExperimentalDevice = core
        module.load_module_image = linker
        uncounted()

    return undo


def _count_allocations() -> Callable[[], None]:
    """Make numba-cuda's statistics of allocations count kernels on the host; returns the undo function."""
    from gridjit.runtime.simulated.allocations import place_statistics

    runtime: Any = importlib.import_module("numba.cuda.memory_management.nrt")
    wanted = importlib.import_module("numba.cuda").config
    return place_statistics(runtime.rtsys, runtime._nrt_mstats, wanted=lambda: bool(wanted.CUDA_NRT_STATS))


def _lasting(singleton: Any, simulated: SimulatedDriver) -> dict[str, Callable[..., Any]]:
    """Return functions that free a handle by its own driver: some of the simulated driver's may still be held."""

    def freeing(name: str) -> Callable[..., Any]:
        def free(handle: Any) -> Any:
            if simulated.owns(handle):
                return getattr(simulated, name)(handle)
            real = type(singleton)._cuda_python_wrap_fn(singleton, name)
            vars(singleton)[name] = free
            return real(handle)

        return free

    return {name: freeing(name) for name in ("cuMemFree", "cuMemFreeHost", "cuStreamDestroy", "cuEventDestroy")}


def _failing(module: Any) -> Callable[[str, str], Exception]:
    """Return a maker of numba-cuda's own error, from a driver's name and message."""
    codes = module.binding.CUresult
    return lambda name, message: module.CudaAPIError(getattr(codes, name), f"{name}: {message}")


def _core_device(types: Any) -> Callable[[int], Any]:
    """Return a stand-in for cuda.core's Device, as numba-cuda reads it."""

    def made(ordinal: int) -> Any:
        kind = model(settings().host_device)
        capability = kind.compute_capability
        return SimpleNamespace(
            device_id=ordinal,
            compute_capability=capability,
            name=kind.name,
            uuid=f"00000000-0000-0000-0000-{ordinal:012x}",
            context=SimpleNamespace(handle=types.CUcontext(context_handle(ordinal))),
            set_current=lambda: current.push(ordinal),
        )

    return made


def _forget_devices() -> None:
    """Make numba-cuda ask the driver anew for its devices."""
    devices: Any = importlib.import_module("numba.cuda.cudadrv.devices")
    type(devices.gpus).lst.fget.cache_clear()
    devices._runtime._set_attached_context(None)
