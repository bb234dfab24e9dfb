"""LLVM gets the IR that it was tried with; NVVM compiles or refuses the rest, for which LLVM may end the process."""

from __future__ import annotations

import re

import pytest

from gridjit.compiler.targets.ptx import nvptx
from gridjit.compiler.targets.ptx.generate import generate
from gridjit.compiler.targets.ptx.known import unknown_names
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, Target
from tests.compiler.ptx.test_nvptx import LLVM, operation
from tests.toolkit import needs_toolkit

pytestmark = needs_toolkit(bitcode=True)


def with_lines(*lines: str, body: str = "add i64 %a, 0") -> str:
    """Return a kernel that stores body's value, with lines below it."""
    body = body.replace("{", "{{").replace("}", "}}")
    return "\n".join((operation(body, parameters="i64 %a, i8* %p", result="i64"), *lines))


COMPILED_BY_NVVM = [
    with_lines(body='call i64 asm sideeffect "mov.u64 $0, 0;", "=l,Z"(i64 %a)'),
    with_lines(body='call i64 asm sideeffect "mov.u64 $0, 0;", "=l,n"(i64 %a)'),
    with_lines("@c = addrspace(4) constant half 0xH3C00"),
    with_lines("define void @g() comdat {\n  ret void\n}", "$g = comdat any"),
    operation("sitofp i128 %a to double", parameters="i128 %a", result="double"),
    operation("fptosi double %a to i128", parameters="double %a", result="i128"),
]


@pytest.mark.parametrize("text", COMPILED_BY_NVVM)
def test_code_that_llvm_cannot_compile_is_nvvms(text: str) -> None:
    assert unknown_names([text])
    lowered = Lowered(modules=(text,), entry="k", exceptions={})
    code = generate(lowered, Target(kind="ptx", arch="sm_90"), Options(codegen="llvm"))
    assert LLVM not in code.assembly and ".entry k" in code.assembly


REFUSED = [
    with_lines('@"a name<int>" = addrspace(1) global i32 0'),
    with_lines('declare void @"a name<int>"()'),
    with_lines("declare {} @f([0 x i8])"),
    with_lines("declare void @f(i32, { })"),
    with_lines("@s = addrspace(3) global i32 5"),
    with_lines("@s = addrspace(2) global i32 5"),
    with_lines("@g = alias i64 (i64), i64 (i64)* @f", "declare i64 @f(i64)"),
    with_lines("@o = global i8* bitcast (i8** @i to i8*)", "@i = global i8* bitcast (i8** @o to i8*)"),
    with_lines(body='call i64 asm "mov.u64 $0, $5;", "=l,l"(i64 %a)'),
    with_lines(body='call i64 asm "mov.u64 $0, ${1:x};", "=l,l"(i64 %a)'),
    with_lines(body='call i64 asm "mov.b64 $0, $1;", "=l,l"(<2 x i32> %v)'),
    with_lines(body='atomicrmw add i64* %q, i64 1 syncscope("agent") monotonic'),
    with_lines(body="atomicrmw add i64 addrspace(4)* %q, i64 1 monotonic"),
    with_lines(body="fpext double %a to fp128"),
    with_lines(body="alloca i64, addrspace(3)"),
    with_lines("declare void @llvm.memcpy.element.unordered.atomic.p0i8.p0i8.i64(i8*, i8*, i64, i32)"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_code_that_ends_the_process_is_not_llvms(text: str) -> None:
    assert unknown_names([text])


KNOWN = [
    with_lines('@"_ZN.s" = addrspace(3) global [4 x half] undef, align 2'),
    with_lines("@s = external addrspace(3) global [0 x float], align 16"),
    with_lines('@".text" = internal addrspace(4) constant [4 x i8] c"i24\\00", align 1'),
    with_lines(
        '@llvm.used = appending global [1 x i8*] [i8* bitcast (void ()* @f to i8*)], section "llvm.metadata"',
        "declare void @f()",
    ),
    with_lines('declare i32 @"vprintf"(i8*, i8*)', "declare {i64, {}*} @f([0 x i8]*)"),
    with_lines(body='call i64 asm sideeffect "{ mov.u64 $0, $1; } // $$", "=l,l,~{memory}"(i64 %a)'),
]


@pytest.mark.parametrize("text", KNOWN)
def test_code_that_llvm_was_tried_with_is_llvms(text: str) -> None:
    assert not unknown_names([text])
    assert re.search(rb"\.entry k", nvptx.compile_ptx([text], "sm_90", Options()))
