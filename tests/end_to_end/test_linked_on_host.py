"""link= on the host: LLVM IR, objects, archives and C for this processor; what is for a GPU is refused by its name."""

# mypy: ignore-errors
from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host.linked.code import linked_code
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.errors import LinkError, UnsupportedError
from gridjit.compiler.values.target import LinkedFile, Lowered

IR = """define i32 @times2(ptr %out, i32 %a) {
  %r = shl i32 %a, 1
  store i32 %r, ptr %out
  ret i32 0
}
"""
C = "int times2(int *out, int a) { *out = 2 * a; return 0; }\n"

needs_cc = pytest.mark.skipif(not (shutil.which("cc") and shutil.which("ld")), reason="needs a C compiler and linker")


@pytest.fixture(autouse=True)
def on_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")


def doubles(link):
    """Return what a kernel writes that calls times2 of a file."""
    times2 = cuda.declare_device("times2", "int32(int32)", link=str(link))

    @gridjit.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = times2(i) + 1

    x = np.zeros(8, np.int32)
    for _ in range(4):
        x[:] = 0
        kernel[2, 4](x)
        assert x.tolist() == [2 * i + 1 for i in range(8)]
    return kernel


def test_llvm_ir_is_linked_whatever_processor_it_names(tmp_path):
    (tmp_path / "code.ll").write_text('target triple = "aarch64-unknown-linux-gnu"\n' + IR)
    doubles(tmp_path / "code.ll")


def test_llvm_ir_is_compiled_for_this_processor_whatever_it_was_made_for():
    head = 'source_filename = "a.c"\ntarget datalayout = "e-i32:512"\ntarget triple = "aarch64-unknown-linux-gnu"\n'
    file = LinkedFile(name="code.ll", kind="ll", data=(head + IR).encode())
    (text,) = linked_code(Lowered(modules=(), entry="kernel", exceptions={}, linked=(file,))).texts
    module, own = (llvm.parse(llvm.header(host_target()) + one) for one in (text, IR))
    assert (module.triple, module.data_layout, str(module)) == (own.triple, own.data_layout, str(own))


def test_bitcode_is_linked(tmp_path):
    (tmp_path / "code.bc").write_bytes(llvm.parse(llvm.header(host_target()) + IR).as_bitcode())
    doubles(tmp_path / "code.bc")


def test_an_object_is_linked(tmp_path):
    target = host_target()
    (tmp_path / "code.o").write_bytes(llvm.emit(llvm.parse(llvm.header(target) + IR), target))
    doubles(tmp_path / "code.o")


def test_an_object_that_the_hosts_loader_cannot_load_is_refused(tmp_path):
    target = host_target()
    of_thread = "@seen = thread_local global i32 7\n" + IR.replace(
        "store i32 %r", "store i32 7, ptr @seen\n  store i32 %r"
    )
    (tmp_path / "code.o").write_bytes(llvm.emit(llvm.parse(llvm.header(target) + of_thread), target))
    with pytest.raises(LinkError, match=r"code\.o: code with thread-local data.*or link C or LLVM IR"):
        doubles(tmp_path / "code.o")


@pytest.mark.parametrize("callback", ["setup_callback", "teardown_callback"])
def test_a_file_with_callbacks_for_a_module_of_cudas_is_refused(tmp_path, callback):
    target = host_target()
    data = llvm.emit(llvm.parse(llvm.header(target) + IR), target)
    code = cuda.Object(data, name="code.o", **{callback: print})

    @gridjit.jit(link=[code])
    def kernel(x):
        x[0] = 1

    with pytest.raises(UnsupportedError, match=r"code\.o has callbacks for a CUDA module"):
        kernel[1, 1](np.zeros(1))


@needs_cc
def test_c_and_archives_are_linked(tmp_path):
    (tmp_path / "code.c").write_text(C)
    doubles(tmp_path / "code.c")
    subprocess.run(["cc", "-fPIC", "-c", "code.c", "-o", "code.o"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rcs", "libcode.a", "code.o"], cwd=tmp_path, check=True)
    doubles(tmp_path / "libcode.a")


def test_a_file_for_the_host_stands_for_the_one_for_a_gpu_beside_it(tmp_path):
    (tmp_path / "code.cu").write_text("not even CUDA")
    (tmp_path / "code.ll").write_text(IR)
    doubles(tmp_path / "code.cu")

    times2 = cuda.declare_device("times2", "int32(int32)")

    @gridjit.jit(link=[str(tmp_path / "code.cu")])
    def kernel(x):
        x[0] = times2(4)

    x = np.zeros(1, np.int32)
    kernel[1, 1](x)
    assert x[0] == 8


def test_several_that_could_stand_for_it_are_an_error(tmp_path):
    for name, text in (("code.cu", ""), ("code.ll", IR), ("code.c", C)):
        (tmp_path / name).write_text(text)

    @gridjit.jit(link=[str(tmp_path / "code.cu")])
    def kernel(x):
        x[0] = 1

    with pytest.raises(LinkError, match=r"code\.ll and code\.c"):
        kernel[1, 1](np.zeros(1))


def test_functions_with_the_abi_of_c_are_called(tmp_path):
    (tmp_path / "code.ll").write_text("define i32 @plus(i32 %a, i32 %b) {\n  %r = add i32 %a, %b\n  ret i32 %r\n}\n")
    plus = cuda.declare_device("plus", "int32(int32, int32)", link=str(tmp_path / "code.ll"), abi="c")

    @gridjit.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = plus(i, 10)

    x = np.zeros(4, np.int32)
    kernel[1, 4](x)
    assert x.tolist() == [10, 11, 12, 13]


def test_a_changed_file_is_compiled_anew(tmp_path):
    def run():
        times2 = cuda.declare_device("times2", "int32(int32)", link=str(tmp_path / "code.ll"))

        @gridjit.jit
        def kernel(x):
            x[0] = times2(5)

        x = np.zeros(1, np.int32)
        kernel[1, 1](x)
        return x[0]

    (tmp_path / "code.ll").write_text(IR)
    assert run() == 10
    (tmp_path / "code.ll").write_text(IR.replace("shl i32 %a, 1", "shl i32 %a, 2"))
    assert run() == 20


def test_code_for_a_gpu_is_refused_by_its_name_and_says_what_to_do(tmp_path):
    (tmp_path / "code.ptx").write_text("//")

    @gridjit.jit(link=[str(tmp_path / "code.ptx")])
    def kernel(x):
        x[0] = 1

    with pytest.raises(UnsupportedError, match=r"code\.ptx.*beside it"):
        kernel[1, 1](np.zeros(1))

    (tmp_path / "gpu.ll").write_text('target triple = "nvptx64-nvidia-cuda"\n' + IR)
    with pytest.raises(UnsupportedError, match=r"gpu\.ll is LLVM IR for nvptx64"):
        doubles(tmp_path / "gpu.ll")

    (tmp_path / "waits.ll").write_text("declare void @llvm.nvvm.barrier0()\n" + IR)
    with pytest.raises(UnsupportedError, match=r"waits\.ll .* calls llvm\.nvvm\.barrier0, an instruction of GPUs"):
        doubles(tmp_path / "waits.ll")


@needs_cc
@pytest.mark.parametrize("section", [".nv_fatbin", "__nv_relfatbin"])
def test_an_object_that_nvcc_made_is_refused_as_code_for_a_gpu(tmp_path, section):
    held = f'__attribute__((section("{section}"))) const char device_code[8] = "device";\n'
    (tmp_path / "source.c").write_text(held + C)
    subprocess.run(["cc", "-fPIC", "-c", "source.c", "-o", "code.o"], cwd=tmp_path, check=True)
    with pytest.raises(UnsupportedError, match=r"links device code.*code\.o.*beside it"):
        doubles(tmp_path / "code.o")


@needs_cc
def test_c_that_does_not_compile_is_an_error_with_the_compilers_words(tmp_path):
    (tmp_path / "code.c").write_text("int times2(int *out, int a) { return nothing; }\n")
    with pytest.raises(LinkError, match=r"code\.c(.|\n)*nothing"):
        doubles(tmp_path / "code.c")


def test_without_a_c_compiler_the_error_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "code.c").write_text(C)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LinkError, match=r"no C compiler.*install one"):
        doubles(tmp_path / "code.c")


@needs_cc
def test_c_that_includes_headers_of_the_users_is_not_stored(tmp_path):
    (tmp_path / "own.h").write_text("#define FACTOR 2\n")
    (tmp_path / "code.c").write_text('#include "own.h"\nint times2(int *o, int a) { *o = FACTOR * a; return 0; }\n')
    kernel = doubles(tmp_path / "code.c")
    assert "own.h" in str(kernel.explain())


def test_an_object_for_another_processor_is_refused(tmp_path):
    (tmp_path / "code.o").write_bytes(b"\x7fELF\x02\x01" + bytes(58))
    with pytest.raises(LinkError, match=r"code\.o is not an object file or archive for this"):
        doubles(tmp_path / "code.o")
