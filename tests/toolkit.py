"""Whether the libraries of a CUDA toolkit are there, and the marks of tests that need them."""

from __future__ import annotations

import pytest
from cuda import pathfinder


def missing_library(*, bitcode: bool = False) -> str | None:
    """Return what says which library of the CUDA toolkit cannot be found, or None. bitcode: libdevice's counts too."""
    try:
        for name in ("nvvm", "nvJitLink", "nvrtc"):
            pathfinder.load_nvidia_dynamic_lib(name)
        if bitcode:
            pathfinder.find_bitcode_lib("device")
    except (pathfinder.DynamicLibNotFoundError, pathfinder.BitcodeLibNotFoundError) as error:
        return str(error).splitlines()[0]
    return None


def needs_toolkit(*, bitcode: bool = False) -> list[pytest.MarkDecorator]:
    """Return the marks of tests that compile or link for GPUs."""
    missing = missing_library(bitcode=bitcode)
    skip = pytest.mark.skipif(missing is not None, reason=f"a CUDA library cannot be found: {missing}")
    return [pytest.mark.cuda_toolkit, skip]
