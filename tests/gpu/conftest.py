"""What tests on a real GPU share; without one they are skipped, with the reason."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices import presence
from gridjit.runtime.devices.cuda.device import CudaDevice, current_device
from gridjit.runtime.devices.cuda.load import CudaKernel
from gridjit.runtime.memory.device_array import DeviceArray


@pytest.fixture(autouse=True)
def _gpu() -> None:
    """Skip where there is no device."""
    if reason := presence.why_not():
        pytest.skip(reason)


@pytest.fixture
def device(_gpu: None) -> CudaDevice:
    """Return the current device."""
    return current_device()


Compile = Callable[..., CudaKernel]


@pytest.fixture
def compiled(device: CudaDevice) -> Compile:
    """Return a function that compiles and loads a kernel for the device."""

    def compile_it(function: Any, signature: str, config: LaunchConfig | None = None, **options: Any) -> CudaKernel:
        kernel = gridjit.jit(cache=False, **options)(function)
        return device.load(kernel.compile(signature, config, target=device.target.arch))

    return compile_it


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Return a function that runs a Python program in a process of its own: a context it spoils is its own."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"  # where a debugger would look for the lines
        path.write_text(program)
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def packed() -> Callable[..., bytes]:
    """Return a function that packs arguments as a kernel's artifact says."""

    def pack(kernel: CudaKernel, *arguments: Any) -> bytes:
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, DeviceArray):
                values += struct.unpack("@PPqqP" + "qq" * argument.ndim, argument._parameters)
            else:
                values.append(argument)
        return struct.pack(kernel.artifact.parameters, *values)

    return pack
