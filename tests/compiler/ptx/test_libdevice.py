"""LLVM's code computes libdevice's functions by the operations that NVVM takes; each is simplified once for all."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import pytest

import gridjit
from gridjit.compiler.targets.ptx import libdevice, nvptx
from gridjit.compiler.targets.ptx.nvvm import compile_ptx
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options
from tests.compiler.ptx.test_nvptx import operation
from tests.toolkit import needs_toolkit

pytestmark = [
    *needs_toolkit(bitcode=True),
    pytest.mark.skipif(
        bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older than what was compared"
    ),
]

_DEFINED = re.compile(r"^define (?:\w+ )*?(\S+) @(\w+)\(([^)\n]*)\)", re.MULTILINE)
_FLOATING = re.compile(r"^\t(?:@!?%p\d+ )?(\w+[\w.]*\.b?f\d\d[\w.]*)\s", re.MULTILINE)
# What moves, chooses and compares, and what is computed once more in a loop that one of the two unrolls.
_OTHERS = ("neg", "abs", "copysign", "mov", "selp", "setp", "ld", "st", "max", "min")
# Where the two differ, and the bits do not.
SAME_BITS = {
    "0 - x, where NVVM has x * -1 + 0": (
        *("sinf", "cosf", "sincospif", "sin", "cos", "sinpi", "cospi", "lgammaf", "lgamma"),
        *("j0f", "j1f", "y0f", "y1f", "j0", "j1", "y0", "y1"),
    ),
    "x * y, where NVVM has x * y + -0": ("fmodf", "remainderf", "remquof"),
    "1 * x is computed, and 1 / x is divided": ("powif",),
    "loops are unrolled otherwise": ("normf", "rnormf", "norm", "rnorm", "ynf", "jnf", "yn", "jn"),
    "a sum with 2 * x is fused, which is exact": ("powf",),
    "NVVM computes something twice": ("pow", "tgamma"),
}
MODES = {"plain": Options(), "fastmath": Options(fastmath=True), "tiered": Options(tiered=True)}
SAMPLE = ["expf", "exp", "log1p", "asin", "tanhf", "rsqrtf", "fast_powf", "hypotf", "erfcx", "cbrtf", "fmaf_ieee_rn"]


def calling(name: str) -> str:
    """Return a kernel that calls a function of the library."""
    found = _DEFINED.search(str(libdevice._library().get_function(name)))
    assert found is not None
    result, _, parameters = found.groups()
    pointed = "i32" if re.search("frexp|remquo", name) else "float" if name.endswith("f") else "double"
    kinds = [f"{pointed}*" if one.startswith("ptr") else one.split()[0] for one in parameters.split(", ")]
    arguments = ", ".join(f"{kind} %p{at}" for at, kind in enumerate(kinds))
    call = f"call {result} @{name}({arguments})"
    if result == "void":
        text = operation(f"add i32 0, 0\n  {call}", parameters=arguments, result="i32")
    else:
        text = operation(call, parameters=arguments, result=result)
    return text.replace("define ", f"declare {result} @{name}({', '.join(kinds)})\ndefine ", 1)


def computed(ptx: bytes) -> Counter[str]:
    """Return how often PTX computes with floats, by instruction; a product or sum that is not fused is one."""
    found = (name for name in _FLOATING.findall(ptx.decode()) if name.split(".")[0] not in _OTHERS)
    return Counter(re.sub(r"^(add|mul)\.(?!r)", r"\1.rn.", name.replace("sub.", "add.", 1)) for name in found)


def different(names: list[str], mode: str) -> list[str]:
    options = MODES[mode]
    made = [(name, calling(f"__nv_{name}")) for name in names]
    return [
        name
        for name, text in made
        if computed(nvptx.compile_ptx([text], "sm_90", options)) != computed(*compile_ptx([text], "sm_90", options))
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_function_takes_nvvms_operations(mode: str) -> None:
    assert different(SAMPLE, mode) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_function_takes_nvvms_operations(mode: str) -> None:
    names = [one.name for one in libdevice._library().functions if not one.is_declaration]
    known = {name for some in SAME_BITS.values() for name in some}
    assert len(names) > 300
    assert set(different([name[5:] for name in names if name.startswith("__nv_")], mode)) <= known


def test_functions_come_in_one_order_in_all_processes() -> None:
    names = ("tan", "pow", "sin", "exp", "log", "erf", "cos")
    declared = "".join(f"\ndeclare double @__nv_{name}(double)" for name in names)
    (text,) = libdevice.functions_for([declared], "sm_90", Options())
    expected = [f"__nv_{name}" for name in sorted(names)]
    expected.insert(1, "__internal_trig_reduction_slowpathd")
    expected.insert(expected.index("__nv_pow") + 1, "__internal_accurate_pow")
    assert re.findall(r"^define [^\n(]*@(\w+)\(", text, re.MULTILINE) == expected


class Shelf:
    """A shelf in memory."""

    def __init__(self) -> None:
        self.was_used = False
        self.kept: dict[str, bytes] = {}
        self.get, self.put = self.kept.get, self.kept.__setitem__


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(libdevice, "_known", {})
    return Shelf()


def compiled(shelf: Any, monkeypatch: pytest.MonkeyPatch, *, reads_library: bool) -> bytes:
    """Return what a new process compiles."""
    libdevice._known.clear()
    if not reads_library:
        monkeypatch.setattr(libdevice, "_library", None)
    return nvptx.compile_ptx([calling_sin], "sm_90", Options(), shelf)


calling_sin = operation("call {t} @__nv_sin({t} %a)", type_="double").replace(
    "define ", "declare double @__nv_sin(double)\ndefine ", 1
)


def test_the_next_process_finds_what_was_made_of_a_function(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(shelf, monkeypatch, reads_library=True)
    assert len(shelf.kept) == 2 and not shelf.was_used  # with the reduction of large arguments
    assert compiled(shelf, monkeypatch, reads_library=False) == first
    assert shelf.was_used


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'["a"]', b"\xff"])
def test_what_cannot_be_read_is_made_anew(damage: bytes, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(shelf, monkeypatch, reads_library=True)
    shelf.kept.update(dict.fromkeys(shelf.kept, damage))
    assert compiled(shelf, monkeypatch, reads_library=True) == first
    assert compiled(shelf, monkeypatch, reads_library=False) == first


def test_a_compile_without_a_shelf_does_not_use_what_is_there(shelf: Shelf) -> None:
    first = nvptx.compile_ptx([calling_sin], "sm_90", Options())
    nvptx.compile_ptx([calling_sin], "sm_90", Options(), shelf)
    libdevice._known.clear()
    shelf.kept.update(dict.fromkeys(shelf.kept, b'["define wrong", {}, []]'))
    with pytest.raises(CompileError, match="LLVM does not accept the code"):
        nvptx.compile_ptx([calling_sin], "sm_90", Options(), shelf)
    assert shelf.was_used  # so the compile is done again without
    assert nvptx.compile_ptx([calling_sin], "sm_90", Options()) == first


def rising(x):
    x[0] = math.expm1(x[0])


def falling(x):
    x[0] = -math.expm1(x[0])


def test_another_kernel_finds_them_in_the_cache(monkeypatch: pytest.MonkeyPatch, restart: Any) -> None:
    monkeypatch.setattr(libdevice, "_known", {})
    monkeypatch.setenv("GRIDJIT_CODEGEN", "llvm")
    restart()
    gridjit.jit(rising).compile("void(float64[::1])", config=(1, 32), target="sm_90")
    libdevice._known.clear()
    monkeypatch.setattr(libdevice, "_library", None)
    restart()
    code = gridjit.jit(falling).compile("void(float64[::1])", config=(1, 32), target="sm_90")
    assert "LLVM NVPTX" in code.assembly


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_121"])
def test_each_architecture_gets_its_own_answer(arch: str) -> None:
    text = nvptx.compile_ptx([calling("__nv_sinpif")], arch, Options())
    (expected,) = compile_ptx([calling("__nv_sinpif")], arch, Options())
    assert computed(text) == computed(expected)
