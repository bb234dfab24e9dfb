"""What a program written for numba-cuda catches and reads, on a GPU: its errors with their codes, its dumps."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gridjit
from gridjit.runtime.devices.errors import KernelError

pytestmark = pytest.mark.gpu


def fill(x):
    x[0] = 1.5


def test_a_refused_launch_is_numbas_error_with_the_drivers_code() -> None:
    theirs = importlib.import_module("numba.cuda.cudadrv.driver").CudaAPIError
    kernel = gridjit.jit(launch_bounds=128, target="cuda")(fill)
    x = gridjit.cuda.to_device(np.zeros(1))
    kernel[1, 128](x)
    with pytest.raises(theirs, match="CUDA_ERROR_INVALID_VALUE") as caught:
        kernel[1, 256](x)
    assert isinstance(caught.value, KernelError)
    assert (caught.value.name, caught.value.code) == ("CUDA_ERROR_INVALID_VALUE", 1)


def test_the_assembly_is_printed_each_time_that_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.import_module("numba.core.config"), "DUMP_ASSEMBLY", 1)
    for _ in range(2):
        gridjit.jit(target="cuda")(fill)[1, 1](gridjit.cuda.to_device(np.zeros(1)))
        assert "ASSEMBLY fill" in (told := capsys.readouterr().out)
        assert ".visible .entry" in told


def test_debug_code_is_what_numbas_setting_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("numba.core.config"), "CUDA_DEBUGINFO_DEFAULT", 1)
    kernel = gridjit.jit("void(float64[::1])", target="cuda")(fill)
    assert ".debug_info" in next(iter(kernel.inspect_asm().values()))
