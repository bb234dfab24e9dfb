"""How kernels write names of NumPy, math, CUDA C++ and OpenCL: advice names only what their language has."""

from __future__ import annotations

import re

import pytest

from gridjit.compiler.frontend.explained.rules import spelling
from gridjit.compiler.frontend.explained.rules.spelling import offered, spelled, usable

SPELLED = {
    "cbrt": "cuda.cbrt",
    "fma": "cuda.fma",
    "rsqrtf": "cuda.libdevice.rsqrtf",
    "erfinv": "cuda.libdevice.erfinv",
    "exp10": "cuda.libdevice.exp10",
    "sqrtf": "math.sqrt",
    "arctan2": "math.atan2",
    "PI": "math.pi",
    "fminf": "cuda.libdevice.fminf",
    "__sinf": "cuda.libdevice.fast_sinf",
    "__float2int_rn": "cuda.libdevice.float2int_rn",
    "__fmaf_rn": "cuda.libdevice.fmaf_rn",
    "__popcll": "cuda.popc",
    "__ballot": "cuda.ballot_sync",
    "__shfl_down_sync": "cuda.shfl_down_sync",
    "__syncthreads": "cuda.syncthreads",
    "atomicAdd": "cuda.atomic.add",
    "atomicCAS": "cuda.atomic.cas",
    "atomicOr": "cuda.atomic.or_",
    "atomic_max": "cuda.atomic.max",
    "shared_array": "cuda.shared.array",
    "make_float4": "cuda.float4",
    "threadIdx_x": "cuda.threadIdx.x",
    "threadidx": "cuda.threadIdx",
    "warpSize": "cuda.warpsize",
    "max": "max",
    "int": "int",
    "square": "x * x",
    "remainder": "x % y",
    "get_local_id": "cuda.threadIdx.x",
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_name_from_elsewhere_has_the_kernels_own_spelling(name: str) -> None:
    assert spelled(name) == f"Write {SPELLED[name]}."


@pytest.mark.parametrize("name", ["facter", "thresold", "tmp", "x", "i", "gcd", "factorial", "to_device", "sort"])
def test_a_name_that_no_kernel_has_in_any_form_has_no_spelling(name: str) -> None:
    assert spelled(name) == ""


def test_forms_use_only_names_that_kernels_or_programs_have() -> None:
    known = {part for name in usable() for part in (name, name.rpartition(".")[0])}
    known |= {"cuda.event", "cuda.event_elapsed_time", "cuda.cg", "cuda.cg.this_grid", "cuda.random"}
    named = {one for form in spelling._FORMS.values() for one in re.findall(r"\b(?:cuda|math)\.[\w.]*\w", form)}
    assert named - known == set()


def test_a_form_is_found_by_its_name_in_any_case_and_with_underscores() -> None:
    assert all(key == spelling._key(key) for key in spelling._FORMS)
    assert spelled("getGlobalId") == spelled("get_global_id") == "Write cuda.grid(1)."


def test_modules_offer_what_the_language_lists_of_them() -> None:
    assert set(offered("cuda.shared")) == {"array"}
    assert {"add", "cas", "or_"} <= set(offered("cuda.atomic"))
    assert {"grid", "threadIdx", "syncthreads", "libdevice"} <= set(offered("cuda"))
    assert {"to_device", "stream", "np", "os"}.isdisjoint(offered("cuda"))
