"""device: CUDA C's functions on the current device, what they need of it, and times of launches by events."""

from __future__ import annotations

import ctypes
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from cuda.bindings import driver

from kernel_times.codes import Code, cuda_code

_NUMBERS = {"int32": ctypes.c_int, "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double}
# A batch lasts about as long, in microseconds; a delay of longer means that launches wait for the device.
_BATCH, _MOST_LAUNCHES, _LONGEST_DELAY = 2000.0, 50, 1e6
_SPIN = """
extern "C" __global__ void kernel(long long ns) {
    long long begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begun < ns);
}"""


class Resources(NamedTuple):
    """What a kernel takes: registers and bytes of local memory a thread; blocks: how many a multiprocessor holds."""

    registers: int
    local: int
    blocks: int


def checked(outcome: tuple[Any, ...]) -> Any:
    """Return what a function of the driver returned; raises OSError with its status."""
    status, *found = outcome
    if status:
        raise OSError(f"the CUDA driver said {status!r}")
    return found[0] if found else None


def first_device() -> str:
    """Make the first device's primary context current, which all contestants use; return its architecture's name."""
    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
    of = driver.CUdevice_attribute
    wanted = of.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, of.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
    return "sm_" + "".join(str(checked(driver.cuDeviceGetAttribute(one, device))) for one in wanted)


def loaded(code: Code) -> Any:
    """Return a cubin's function on the current device."""
    module = checked(driver.cuModuleLoadData(code.image))
    return checked(driver.cuModuleGetFunction(module, code.entry.encode()))


def resources(code: Code, block: Sequence[int]) -> Resources:
    """Return what a kernel takes on the current device, with so large a block."""
    function, of = loaded(code), driver.CUfunction_attribute
    return Resources(
        registers=checked(driver.cuFuncGetAttribute(of.CU_FUNC_ATTRIBUTE_NUM_REGS, function)),
        local=checked(driver.cuFuncGetAttribute(of.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function)),
        blocks=checked(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, math.prod(block), 0)),
    )


def launch_function(function: Any, grid: Any, block: Any, stream: int, parameters: Sequence[Any]) -> None:
    """Launch a function with arrays and NumPy's numbers."""
    sides = (*grid, 1, 1)[:3] + (*block, 1, 1)[:3]
    values, types = zip(*map(_parameter, parameters), strict=True)
    checked(driver.cuLaunchKernel(function, *sides, 0, stream, (values, types), 0))


def _parameter(value: Any) -> tuple[Any, Any]:
    if value.ndim:
        return value.__cuda_array_interface__["data"][0], ctypes.c_void_p
    return value.item(), _NUMBERS[value.dtype.name]


class Timer:
    """A stream of the current device, and the times of what is launched in it."""

    def __init__(self, arch: str) -> None:
        self.stream = int(checked(driver.cuStreamCreate(0)))
        self._spin = loaded(cuda_code(_SPIN, arch))
        self._events = [checked(driver.cuEventCreate(0)) for _ in range(2)]
        self._delay = 500.0

    def medians(self, launches: Mapping[str, Callable[[], object]], batches: int) -> dict[str, float]:
        """Return the microseconds of a launch of each: medians of batches, for which all take turns."""
        first = {name: min(self._each(launch, 2) for _ in range(3)) for name, launch in launches.items()}
        times = {name: max(1, min(_MOST_LAUNCHES, round(_BATCH / us))) for name, us in first.items()}
        found: dict[str, list[float]] = {name: [] for name in launches}
        for _ in range(batches):
            for name, launch in launches.items():
                found[name].append(self._each(launch, times[name]))
        return {name: statistics.median(us) for name, us in found.items()}

    def _each(self, launch: Callable[[], object], times: int) -> float:
        """Return the microseconds of each of so many launches, all of which were queued before the first began."""
        begun, ended = self._events
        while True:
            launch_function(self._spin, (1,), (1,), self.stream, [np.int64(self._delay * 1e3)])
            checked(driver.cuEventRecord(begun, self.stream))
            for _ in range(times):
                launch()
            (status,) = driver.cuEventQuery(begun)
            checked(driver.cuEventRecord(ended, self.stream))
            checked(driver.cuEventSynchronize(ended))
            if status == driver.CUresult.CUDA_ERROR_NOT_READY:
                return float(checked(driver.cuEventElapsedTime(begun, ended))) * 1e3 / times
            self._delay *= 2
            if self._delay > _LONGEST_DELAY:
                raise OSError("a launch waits for the device")
