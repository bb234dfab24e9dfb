"""What the host cannot run is refused before code generation, in the user's words and with the place."""

# mypy: ignore-errors
from __future__ import annotations

import dataclasses

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.errors import CompileError, UnsupportedError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import LinkedFile

cuda = numba_cuda()


def stops(out):
    breakpoint()
    out[0] = 1


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (stops, "breakpoint()"),
    ],
)
def test_an_operation_the_host_lacks_is_named_with_kernel_and_file(lowered, kernel, words):
    with pytest.raises(UnsupportedError) as caught:
        generate(lowered(kernel, "int64[1]"), host_target(), Options())
    message = str(caught.value)
    assert kernel.__name__ in message
    assert words in message
    assert "test_refusals.py:" in message


def fine(out):
    out[0] = 1


def test_the_line_comes_from_debug_locations_where_there_are_some(lowered):
    base = lowered(fine, "int64[1]")
    text = (
        base.modules[0]
        .replace("store i8* null", "call void @__nv_none(), !dbg !77\n  store i8* null")
        .replace(
            "!nvvmir",
            "declare void @__nv_none()\n!77 = !DILocation(column: 1, line: 4711, scope: !0)\n!nvvmir",
        )
    )
    with pytest.raises(UnsupportedError, match=r"test_refusals\.py:4711\) uses the libdevice function __nv_none"):
        generate(dataclasses.replace(base, modules=(text,)), host_target(), Options())


@pytest.mark.parametrize(
    "instruction",
    ['asm sideeffect "trap;", ""()', 'asm  "exit;", "~{memory}"()', 'asm sideeffect "membar.cta;\n\texit;", ""()'],
)
def test_unknown_inline_assembly_never_reaches_llvm(lowered, instruction):
    base = lowered(fine, "int64[1]")
    text = base.modules[0].replace("store i8* null", f"call void {instruction}\n  store i8* null", 1)
    with pytest.raises(UnsupportedError, match=r"(trap|exit);"):
        generate(dataclasses.replace(base, modules=(text,)), host_target(), Options())


def test_a_function_that_is_only_declared_is_refused_with_where_the_host_looks_for_it(lowered):
    base = lowered(fine, "int64[1]")
    text = base.modules[0].replace("!nvvmir", "declare void @external_helper()\n!nvvmir", 1)
    with pytest.raises(UnsupportedError, match=r"external_helper.*put C or LLVM IR with it beside"):
        generate(dataclasses.replace(base, modules=(text,)), host_target(), Options())


def test_linked_device_code_is_refused(lowered):
    base = lowered(fine, "int64[1]")
    file = LinkedFile(name="helpers.ptx", kind="ptx", data=b"")
    with pytest.raises(UnsupportedError, match=r"helpers\.ptx"):
        generate(dataclasses.replace(base, linked=(file,)), host_target(), Options())


@cuda.jit(device=True)
def waits(n):
    cuda.syncthreads()
    if n == 0:
        return 0
    return waits(n - 1) + 1


def recursion(out):
    out[0] = waits(out[0])


@cuda.jit(device=True)
def shuffles(n):
    if n == 0:
        return 0
    return shuffles(n - 1) + cuda.shfl_sync(0xFFFFFFFF, n, 1)


def recursion_with_shuffles(out):
    out[0] = shuffles(out[0])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (recursion, r"waits at cuda.syncthreads\(\)"),
        (recursion_with_shuffles, "works with other threads of its warp"),
    ],
)
def test_recursion_around_a_barrier_is_a_compile_error_that_says_so_and_names_the_function_as_python_does(
    lowered, kernel, words
):
    name = r"test_refusals\.(waits|shuffles)"
    with pytest.raises(
        CompileError, match=rf"device function \S*{name} is recursive and {words}.*rewrite it as a loop"
    ):
        generate(lowered(kernel, "int64[1]"), host_target(), Options())
