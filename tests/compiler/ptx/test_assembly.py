"""PTX that nvJitLink assembles before it is linked gets the loads and registers that a whole program would get."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.ptx.cubin import fits, read_cubin, read_resources
from gridjit.compiler.targets.ptx.link import link
from gridjit.compiler.targets.ptx.toolkit import library, linker_version
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import LinkedFile
from tests.toolkit import needs_toolkit

pytestmark = needs_toolkit()
ARCH = "sm_90"
PTXAS = shutil.which("ptxas")

# Four floats beside each other, of an array that each thread reads elsewhere.
FOUR = """
mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; mov.u64 %rd4, numbers; add.u64 %rd3, %rd4, %rd2;
ld.SPACE.f32 %f0, [%rd3]; ld.SPACE.f32 %f1, [%rd3+4]; ld.SPACE.f32 %f2, [%rd3+8]; ld.SPACE.f32 %f3, [%rd3+12];
add.f32 %f0, %f0, %f1; add.f32 %f0, %f0, %f2; add.f32 %f0, %f0, %f3; st.global.f32 [%rd1], %f0;"""
QUOTIENT = "ld.global.u64 %rd2, [%rd1+8]; div.u64 %rd3, %rd2, %rd1; st.global.u64 [%rd1], %rd3;"


def ptx(body: str, variables: str = "") -> bytes:
    return (
        f".version 8.0\n.target sm_80\n.address_size 64\n{variables}\n.visible .entry kernel(.param .u64 out) {{\n"
        f".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\nld.param.u64 %rd1, [out];\n{body}\nret;\n}}\n"
    ).encode()


def assembled(text: bytes, arch: str = f"{ARCH}a") -> bytes:
    return link([LinkedFile(name="kernel", kind="ptx", data=text)], (), arch, Options()).image


@pytest.mark.parametrize("prefix", [".visible ", ".weak ", ""])
@pytest.mark.parametrize("space", ["shared", "const", "global"])
def test_arrays_are_read_by_as_wide_loads_as_if_their_ptx_aligned_them(space: str, prefix: str) -> None:
    first = "" if space == "shared" else " = {1}"
    narrow, wide = (f"{prefix}.{space} .align {bytes_} .b8 numbers[256]{first};" for bytes_ in (4, 16))
    body = FOUR.replace("SPACE", space)
    assert assembled(ptx(body, narrow)) == assembled(ptx(body, wide))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_arrays_of_all_sizes_take_as_much_shared_memory_as_they_have_bytes(arch: str) -> None:
    arrays = list(enumerate([(1, 1), (132, 4), (64, 4), (8, 8), (20, 4), (4, 4), (1024, 1)]))
    declared = "\n".join(f".visible .shared .align {align} .b8 array{at}[{size}];" for at, (size, align) in arrays)
    body = "\n".join(f"mov.u32 %r1, array{at}; st.global.u32 [%rd1+{4 * at}], %r1;" for at, _ in arrays)
    resources = read_resources(assembled(ptx(body, declared), arch), "kernel")
    assert resources["shared_bytes"] == sum(size for _, (size, _) in arrays)


@pytest.mark.skipif(linker_version() < (13, 3), reason="an older nvJitLink makes no copies")
def test_a_division_is_part_of_the_kernel_that_divides() -> None:
    sections = read_cubin(assembled(ptx(QUOTIENT)))
    assert [name for name in sections if name.startswith(".text.")] == [".text.kernel"]


@pytest.mark.skipif(PTXAS is None, reason="ptxas cannot be found")
@pytest.mark.skipif(linker_version() < (13, 3), reason="an older nvJitLink makes no copies")
def test_a_division_takes_no_more_registers_than_in_a_whole_program(tmp_path: Any) -> None:
    source, made = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_bytes(ptx(QUOTIENT))
    subprocess.run([str(PTXAS), f"-arch={ARCH}a", "-o", made, source], check=True)
    ours, whole = (read_resources(code, "kernel") for code in (assembled(source.read_bytes()), made.read_bytes()))
    assert ours["registers"] <= whole["registers"]


def test_an_nvjitlink_that_cannot_be_asked_for_its_version_is_asked_for_no_copies(monkeypatch: Any) -> None:
    def version() -> None:
        raise RuntimeError("function nvJitLinkVersion is not found")

    monkeypatch.setattr(library("nvjitlink"), "version", version)
    sections = read_cubin(assembled(ptx(QUOTIENT)))
    assert len([name for name in sections if name.startswith(".text.")]) == 2


def row_sums(x, out):
    tile = cuda.shared.array((16, 16), np.float32)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[cuda.threadIdx.y, cuda.threadIdx.x]
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(16):
        total += tile[cuda.threadIdx.y, k]
    out[cuda.threadIdx.y] = total


@pytest.mark.parametrize("codegen", ["nvvm", "llvm"])
def test_shared_arrays_are_found_in_the_ptx_of_every_compiler(codegen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_CODEGEN", codegen)
    kernel = gridjit.jit(row_sums, cache=False)
    made: Any = kernel.compile("void(float32[:,::1], float32[::1])", config=(1, (16, 16)), target=ARCH)
    narrow, wide = ".shared .align 4 .b8", ".shared .align 16 .b8"
    assert made.assembly.count(narrow) == 1
    codes = (made.image, assembled(made.assembly.replace(narrow, wide).encode()))
    assert len({read_cubin(code)[f".text.{made.entry}"].data for code in codes}) == 1


def of_many_registers() -> Any:
    """Return a kernel that holds 40 float64 numbers while its threads wait for each other."""
    reads = "".join(f"    a{i} = x[thread + {i * 1024}]\n" for i in range(40))
    writes = "".join(f"    x[thread + {i * 1024}] = a{39 - i}\n" for i in range(40))
    named = {"cuda": cuda}
    exec(f"def swaps(x):\n    thread = cuda.grid(1)\n{reads}    cuda.syncthreads()\n{writes}", named)
    return named["swaps"]


@pytest.mark.parametrize("codegen", ["llvm", "nvvm"])
def test_a_folded_block_gives_launch_bounds_only_if_it_would_not_fit_without(
    codegen: str, monkeypatch: pytest.MonkeyPatch, restart: Any
) -> None:
    monkeypatch.setenv("GRIDJIT_CODEGEN", codegen)
    restart()
    kernel = gridjit.jit(specialize="blockdim")(of_many_registers())
    small, large = (kernel.compile("void(float64[::1])", config=(1, threads), target=ARCH) for threads in (256, 1024))
    free = small.resources["registers"]
    assert free > 64
    assert ("max_threads" in small.resources, ".maxntid" in small.assembly) == (False, False)
    assert (large.resources["max_threads"], ".maxntid 1024" in large.assembly) == (1024, True)
    assert large.resources["registers"] <= 64


@pytest.mark.parametrize(("threads", "registers"), [(1024, 64), (1024, 57), (993, 64), (256, 255), (512, 128)])
def test_blocks_fit_whose_warps_find_registers(threads: int, registers: int) -> None:
    assert fits(threads, registers)


@pytest.mark.parametrize(("threads", "registers"), [(1024, 65), (993, 65), (257, 255), (513, 128)])
def test_blocks_do_not_fit_whose_warps_find_no_registers(threads: int, registers: int) -> None:
    assert not fits(threads, registers)
