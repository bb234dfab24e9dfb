"""faults: exceptions of kernels compiled with debug=True. Such a kernel leaves the first one in global variables."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.launch_config import Dim3

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.load import CudaKernel


def code_name(artifact: Artifact) -> str:
    """Return the name of the variable that holds the exception's code; 0 means that none was raised."""
    return f"{artifact.entry}__errcode__"


def clear(kernel: CudaKernel, stream: int) -> None:
    """Forget an earlier launch's exception, in stream."""
    driver = kernel.device.driver
    driver.fill_words(driver.global_variable(kernel.library, code_name(kernel.artifact)), 0, 1, stream)


def raise_fault(kernel: CudaKernel, stream: int) -> None:
    """Wait for stream, then raise the exception that a thread of the kernel's last launch left, if any."""
    kernel.device.timeline.synchronize(stream)
    code = _read(kernel, code_name(kernel.artifact))
    if code:
        from gridjit.runtime.devices.exceptions import kernel_exception

        block, thread = _place(kernel, "ctaid"), _place(kernel, "tid")
        raise kernel_exception(kernel.artifact, code, block, thread)


def _place(kernel: CudaKernel, what: str) -> Dim3:
    x, y, z = (_read(kernel, f"{kernel.artifact.entry}__{what}{axis}__") for axis in "xyz")
    return (x, y, z)


def _read(kernel: CudaKernel, name: str) -> int:
    driver = kernel.device.driver
    value = ctypes.c_int32()
    address = driver.global_variable(kernel.library, name)
    if address:
        driver.copy(ctypes.addressof(value), address, ctypes.sizeof(value), None)
    return value.value
