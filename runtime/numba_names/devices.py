"""numba.cuda's names for devices and contexts, on either target: a GPU's, or the simulated devices'.

As a module, it stands for numba.cuda's `devices`.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gridjit.compiler.values.errors import ArgumentError, shown
from gridjit.runtime.process.session import session

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice, Devices
    from gridjit.runtime.numba_names.simulated_devices import SimulatedDevice, SimulatedDevices
    from gridjit.runtime.simulated.context import Context

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def get_current_device() -> CudaDevice | SimulatedDevice:
    """Return the calling thread's device; a thread without a device gets device 0."""
    if session().is_host:
        from gridjit.runtime.numba_names.simulated_devices import current_device

        return current_device()
    from gridjit.runtime.devices.cuda import device

    return device.current_device()


def select_device(device_id: int) -> CudaDevice | SimulatedDevice:
    """Make a device the calling thread's, by its number, and return it.

    device_id: the number, from 0. Raises DeviceError if the device does not exist.
    """
    try:
        device_id = operator.index(device_id)
    except TypeError:
        raise ArgumentError(f"select_device({shown(device_id)}): give a device's number, from 0") from None
    if session().is_host:
        from gridjit.runtime.numba_names import simulated_devices as devices

        return devices.select_device(device_id)
    from gridjit.runtime.devices.cuda import device

    return device.select_device(device_id)


def list_devices() -> Devices | SimulatedDevices:
    """Return the process's devices, by number."""
    if session().is_host:
        from gridjit.runtime.numba_names.simulated_devices import simulated_devices

        return simulated_devices()
    from gridjit.runtime.devices.cuda import device

    return device.devices()


class _Gpus:
    """numba-cuda's gpus on the host: the simulated devices of the current settings."""

    def __getitem__(self, number: Any) -> Any:
        try:
            return _simulated()[number]
        except IndexError:
            raise IndexError(f"there is no GPU {number}; the last is GPU {len(_simulated()) - 1}") from None

    def __iter__(self) -> Iterator[SimulatedDevice]:
        return iter(_simulated())

    def __len__(self) -> int:
        return len(_simulated())

    def __str__(self) -> str:
        return str(_simulated())

    def __repr__(self) -> str:
        return f"[{self}]"

    @property
    def lst(self) -> list[SimulatedDevice]:
        """The devices, as a list."""
        return _simulated().lst

    @property
    def current(self) -> SimulatedDevice | None:
        """The calling thread's device; None before it has chosen any."""
        return _simulated().current


gpus = _Gpus()


def get_context(devnum: int | None = None) -> Context:
    """Return the context of the calling thread's device, or of a given device, which becomes the thread's."""
    from gridjit.runtime.numba_names.simulated_devices import current_device, select_device

    return (current_device() if devnum is None else select_device(int(devnum))).get_primary_context()


current_context = get_context


def require_context(fn: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that does the same as fn in a thread that has a device."""

    @functools.wraps(fn)
    def in_a_context(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        get_context()
        return fn(*args, **options)

    return in_a_context


def reset() -> None:
    """Leave the thread without a device; in the main thread, reset all devices too."""
    import threading

    from gridjit.runtime.simulated import current

    current.leave()
    if threading.current_thread() is threading.main_thread():
        for device in gpus:
            device.reset()


close = reset


def detect() -> bool:
    """Print the devices; returns whether any is supported."""
    print(f"Found {len(gpus)} CUDA devices")
    for device in gpus:
        capability = ".".join(map(str, device.compute_capability))
        print(f"id {device.id}    {device.name:>20} {'[SUPPORTED: simulated on the host]':>40}")
        for name, value in _facts(device, capability).items():
            print(f"{name:>40}: {value}")
    print(f"Summary:\n\t{len(gpus)}/{len(gpus)} devices are supported")
    return len(gpus) > 0


def _facts(device: SimulatedDevice, capability: str) -> dict[str, Any]:
    return {
        "Compute Capability": capability,
        "PCI Device ID": device.attribute("PCI_DEVICE_ID"),
        "PCI Bus ID": device.attribute("PCI_BUS_ID"),
        "UUID": device.uuid,
        "Watchdog": "Enabled" if device.attribute("KERNEL_EXEC_TIMEOUT") else "Disabled",
        "FP32/FP64 Performance Ratio": device.attribute("SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO"),
        "FP16 Support": "Yes" if device.supports_float16 else "No",
        "BF16 Support": "Yes" if device.supports_bfloat16 else "No",
        "FP8 Support": "Yes" if device.supports_fp8 else "No",
    }


def is_bfloat16_supported() -> bool:
    """Return whether the current device has arithmetic on bfloat16."""
    return get_context().device.supports_bfloat16


def is_fp8_supported() -> bool:
    """Return whether the current device has 8-bit floats."""
    return get_context().device.supports_fp8


def is_supported_version() -> bool:
    """Return True: gridjit does not use a runtime library, whose version could differ."""
    return True


def cuda_error() -> None:
    """Return None: the simulated device is there."""


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing: freeing the host's memory waits for nothing."""
    yield


def profile_start() -> None:
    """Do nothing: CUDA's profiler does not see the host."""


profile_stop = profile_start


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Do nothing: CUDA's profiler does not see the host."""
    yield


def _simulated() -> SimulatedDevices:
    from gridjit.runtime.numba_names.simulated_devices import simulated_devices

    return simulated_devices()
