"""What implements `blockwise.linked`: a declared function, and the LTO-IR that NVRTC makes of its source."""

from __future__ import annotations

import functools
from typing import Any

from numba import cuda
from numba.cuda import LTOIR
from numba.cuda.extending import overload

from blockwise import linked

_SOURCE = b"""
extern "C" __device__ int blockwise_triple(double *result, double x) { *result = 3.0 * x; return 0; }
"""
_OPTIONS = (b"--gpu-architecture=compute_80", b"--relocatable-device-code=true", b"-dlto")


@functools.lru_cache(maxsize=256)
def lto_ir() -> bytes:
    """Return the LTO-IR, compiled once a process."""
    from cuda.bindings import nvrtc

    def checked(found: Any) -> Any:
        status, *values = found
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC: {status}")
        return values[0] if values else None

    program = checked(nvrtc.nvrtcCreateProgram(_SOURCE, b"blockwise.cu", 0, [], []))
    checked(nvrtc.nvrtcCompileProgram(program, len(_OPTIONS), list(_OPTIONS)))
    code = b" " * checked(nvrtc.nvrtcGetLTOIRSize(program))
    checked(nvrtc.nvrtcGetLTOIR(program, code))
    return code


@functools.lru_cache(maxsize=256)
def _declared() -> Any:
    link = LTOIR(lto_ir(), name="blockwise.ltoir")
    return cuda.declare_device("blockwise_triple", "float64(float64)", link=link)


@overload(linked.triple, target="cuda")
def _triple(x):
    triple = _declared()
    return lambda x: triple(x)
