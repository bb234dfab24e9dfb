"""Tiered code leaves approximations to the GPU, also of numbers that the assembler knows."""

from __future__ import annotations

import struct

import pytest

from gridjit.compiler.targets.ptx.cubin import read_cubin
from gridjit.compiler.targets.ptx.generate import generate, left_to_the_gpu
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, ObjectCode, Target
from tests.compiler.ptx.test_nvptx import operation
from tests.toolkit import needs_toolkit

pytestmark = needs_toolkit(bitcode=True)

# MUFU, the instruction of all approximations, has this number in the lowest 9 bits.
MUFU = 0x108


def approximations(code: ObjectCode) -> int:
    """Return how many instructions of a cubin approximate something."""
    codes = [section.data for name, section in read_cubin(code.image).items() if name.startswith(".text.")]
    words = [word for code in codes for word in struct.unpack(f"<{len(code) // 8}Q", code)[::2]]
    return sum(word & 0x1FF == MUFU for word in words)


def code(type_: str, name: str, argument: str, codegen: str, *, tiered: bool = True) -> ObjectCode:
    text = operation(f"call {{t}} @{name}({{t}} {argument})", type_=type_)
    text = text.replace("define ", f"declare {type_} @{name}({type_})\ndefine ")
    lowered = Lowered(modules=(text,), entry="k", exceptions={})
    return generate(lowered, Target(kind="ptx", arch="sm_90"), Options(codegen=codegen, tiered=tiered))


FUNCTIONS = [
    *(("float", f"__nv_{name}f") for name in ("exp", "exp10", "tanh", "rsqrt", "erfc", "tgamma")),
    *(("double", f"__nv_{name}") for name in ("rsqrt", "tanh")),
]


@pytest.mark.parametrize("codegen", ["nvvm", "llvm"])
@pytest.mark.parametrize(("type_", "name"), FUNCTIONS)
def test_a_function_of_a_number_is_approximated_by_the_gpu(type_: str, name: str, codegen: str) -> None:
    assert approximations(code(type_, name, "1.25", codegen))


def test_nvvm_computes_exp2_itself_so_that_is_not_tiered() -> None:
    found = code("float", "__nv_exp2f", "1.25", "nvvm")
    assert "__nv_exp2f" in found.inexact and not approximations(found)
    assert not code("float", "__nv_expf", "1.25", "nvvm").inexact


@pytest.mark.parametrize("codegen", ["nvvm", "llvm"])
def test_code_that_is_not_tiered_is_left_to_the_assembler(codegen: str) -> None:
    assert not approximations(code("float", "__nv_rsqrtf", "1.25", codegen, tiered=False))


@pytest.mark.parametrize(
    ("instruction", "hidden"),
    [
        ("ex2.approx.ftz.f32 %f2, %f1;", "ex2.approx.ftz.f32 %f2, %gridjit; }"),
        ("@!%p1 rcp.approx.ftz.f64 %fd2, 0d3FF0000000000000;", "@!%p1 rcp.approx.ftz.f64 %fd2, %gridjit; }"),
        ("div.full.f32 %f3, %f1, 0f3F800000;", "div.full.f32 %f3, %f1, %gridjit; }"),
        ("tanh.approx.bf16x2 %r2, %r1;", "tanh.approx.bf16x2 %r2, %gridjit; }"),
    ],
)
def test_the_last_argument_of_an_approximation_is_hidden(instruction: str, hidden: str) -> None:
    text = left_to_the_gpu(f".address_size 64\n\t{instruction}\n".encode()).decode()
    assert hidden in text and text.count(".weak .const") == 1


def test_ptx_without_approximations_is_left_as_it_is() -> None:
    text = b".address_size 64\n\tdiv.rn.f32 %f3, %f1, %f2;\n\tmbarrier.test_wait.b64 %p1, [%rd1], %rd2;\n"
    assert left_to_the_gpu(text) is text
