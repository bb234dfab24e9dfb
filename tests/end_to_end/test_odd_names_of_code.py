"""Whatever a function, its module and its file are called, kernels compile and launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

TEXT = """
def callee(a):
    return a + 1

def kernel(x):
    i = cuda.grid(1)
    if x[i] > 1000:
        raise ValueError("too large")
    x[i] = inner(x[i])
"""
HALF = "\udcff"
NAMES: dict[str, dict[str, str]] = {
    "half a character in the kernel's name": {"name": f"k{HALF}"},
    "half a character in a class's name": {"qualname": f"Größe.k{HALF}"},
    "half a character in the module's name": {"module": f"mo{HALF}d"},
    "half a character in the file's name": {"file": f"/tmp/{HALF}/kernels.py"},
    "half a character in a callee's name": {"callee": f"h{HALF}"},
    "letters of other languages": {"name": "größe", "callee": "λ"},
    "quotes, spaces and a line end": {"name": 'a b"c\n\\;%{}'},
    "a zero": {"name": "a\0b"},
    "no name": {"name": ""},
}

pytestmark = pytest.mark.filterwarnings("ignore:.*Could not find source")


class Plain:
    """numba's colors, without any."""

    def errmsg(self, message: str) -> str:
        return message


def made(
    *, name: str = "kernel", qualname: str = "", module: str = "made", file: str = "<string>", callee: str = "callee"
) -> Any:
    """A kernel's function that calls another, with such names."""
    names: dict[str, Any] = {"cuda": cuda, "__name__": module}
    exec(compile(TEXT, "<string>", "exec"), names)
    for function, called in ((names["kernel"], name), (names["callee"], callee)):
        function.__code__ = function.__code__.replace(co_name=called, co_filename=file)
        function.__name__, function.__qualname__, function.__module__ = called, called, module
    names["kernel"].__qualname__ = qualname or name
    names["inner"] = gridjit.jit(names["callee"], device=True)
    return names["kernel"]


@pytest.mark.each_value_once
@pytest.mark.parametrize("debug", [False, True], ids=["optimized", "debug"])
@pytest.mark.parametrize("called", NAMES)
def test_a_kernel_launches_whatever_it_is_called(called: str, debug: bool) -> None:
    kernel = gridjit.jit(made(**NAMES[called]), target="host", debug=debug, opt=not debug)
    x = np.zeros(8)
    kernel[2, 4](x)
    assert x.tolist() == [1.0] * 8
    assert kernel.stats.compiles == 1
    assert repr(kernel)
    assert kernel.explain()
    with pytest.raises(ValueError, match="too large"):
        kernel[2, 4](np.full(8, 2000.0))


@pytest.mark.some(3)
@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("called", NAMES)
def test_a_kernel_compiles_for_a_gpu_whatever_it_is_called(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # numba-cuda warns of code without a file, and cannot color half a character in that warning.
    monkeypatch.setattr("numba.cuda.core.errors.termcolor", Plain)
    kernel = gridjit.jit(made(**NAMES[called]), lineinfo=True)
    assert kernel.compile("void(float64[::1])", target="sm_90").image
