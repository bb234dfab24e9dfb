"""The CUDA target makes PTX and cubins from numba-cuda's LLVM IR, with no driver and no GPU."""

from __future__ import annotations

import functools
import math
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda import pathfinder

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.ptx.generate import generate
from gridjit.compiler.targets.ptx.link import link_flags
from gridjit.compiler.targets.ptx.nvvm import known_archs, prepare
from gridjit.compiler.targets.ptx.toolkit import LIBRARIES
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, Target
from tests.toolkit import needs_toolkit

cuda = numba_cuda()
types = cuda.types

CUOBJDUMP = pathfinder.find_nvidia_binary_utility("cuobjdump") or shutil.which("cuobjdump")
pytestmark = needs_toolkit(bitcode=True)

PLAIN = Options()
ARCHS = ("sm_80", "sm_90a", "sm_100")
F4, F8 = types.float32[::1], types.float64[::1]
I8, U8 = types.int64[::1], types.uint64[::1]


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def shared_sum(x, y):
    part = cuda.shared.array(256, types.float32)
    i = cuda.threadIdx.x
    part[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    n = 128
    while n > 0:
        if i < n:
            part[i] += part[i + n]
        cuda.syncthreads()
        n //= 2
    if i == 0:
        y[cuda.blockIdx.x] = part[0]


def dynamic_shared(x):
    part = cuda.shared.array(0, types.float32)
    i = cuda.threadIdx.x
    part[i] = x[i]
    cuda.syncthreads()
    x[i] = part[cuda.blockDim.x - 1 - i]


def atomics(f, d, u, i):
    cuda.atomic.add(d, 0, d[1])
    cuda.atomic.sub(f, 0, f[1])
    cuda.atomic.sub(d, 0, d[1])
    cuda.atomic.max(f, 0, f[1])
    cuda.atomic.min(f, 0, f[1])
    cuda.atomic.nanmax(f, 0, f[1])
    cuda.atomic.nanmin(f, 0, f[1])
    cuda.atomic.max(d, 0, d[1])
    cuda.atomic.min(d, 0, d[1])
    cuda.atomic.nanmax(d, 0, d[1])
    cuda.atomic.nanmin(d, 0, d[1])
    cuda.atomic.inc(u, 0, u[1])
    cuda.atomic.dec(u, 0, u[1])
    cuda.atomic.cas(i, 0, 1, 2)


def maths(x, y):
    i = cuda.grid(1)
    y[i] = math.sin(x[i]) + math.exp(x[i]) / math.sqrt(x[i]) + math.pow(x[i], x[i])


@cuda.jit(device=True)
def scaled(a, b):
    return a * b + 1


def calls(x, y):
    i = cuda.grid(1)
    y[i] = scaled(x[i], y[i])


TABLE = np.arange(16, dtype=np.float32)


def constants(x):
    table = cuda.const.array_like(TABLE)
    x[cuda.grid(1)] = table[cuda.threadIdx.x % 16]


def local_memory(x, n):
    t = cuda.local.array(100, types.float32)
    for i in range(n):
        t[(i * 7) % 100] = x[i]
    for i in range(n):
        x[i] = t[(i * 13) % 100]


def grid_sync(x):
    x[0] = 1
    cuda.cg.this_grid().sync()
    x[1] = 2


KERNELS = {
    saxpy: (types.float32, F4, F4),
    shared_sum: (F4, F4),
    dynamic_shared: (F4,),
    atomics: (F4, F8, U8, I8),
    maths: (F4, F4),
    calls: (F4, F4),
    constants: (F4,),
    local_memory: (F4, types.int64),
    grid_sync: (F4,),
}


@pytest.fixture(scope="module")
def lower():
    """Return a function that lowers a Python kernel to a Lowered with numba-cuda, for these tests only."""
    from numba.cuda import dispatcher
    from numba.cuda.compiler import compile_cuda, kernel_fixup
    from numba.cuda.cudadrv import nvvm

    # numba-cuda asks the driver which device a device function is for; there may be none.
    device = SimpleNamespace(compute_capability=(8, 0))

    @functools.cache
    def once(function, options):
        flags = {"opt": 3 if options.opt else 0} | ({"g": None} if options.debug else {})
        compiled = compile_cuda(
            function,
            types.void,
            KERNELS[function],
            debug=options.debug,
            lineinfo=options.lineinfo,
            fastmath=options.fastmath,
            nvvm_options=flags,
            cc=(8, 0),
        )
        kernel = compiled.library.get_function(compiled.fndesc.llvm_func_name)
        kernel_fixup(kernel, options.debug)
        nvvm.set_launch_bounds(kernel, options.launch_bounds)
        return Lowered(
            modules=tuple(map(str, compiled.library.modules)),
            entry=kernel.name,
            exceptions={},
            cooperative=compiled.library.use_cooperative,
            kernel=function.__name__,
            source=("kernels.py", 7),
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatcher, "get_current_device", lambda: device)
        yield lambda function, options=PLAIN: once(function, options)


def on(arch):
    return Target(kind="ptx", arch=arch)


@pytest.fixture(scope="module")
def made(lower):
    """Return a function that generates a kernel's code for an architecture, once for all tests that only look at it."""

    @functools.cache
    def once(function, arch, options):
        return generate(lower(function, options), on(arch), options)

    return lambda function, arch="sm_90", options=PLAIN: once(function, arch, options)


@pytest.mark.each_value_once
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_kernel_becomes_a_cubin_that_holds_its_entry(lower, made, function, arch):
    lowered = lower(function)
    code = made(function, arch)
    assert code.image.startswith(b"\x7fELF")
    assert code.suffix == ".cubin"
    assert code.entry == lowered.entry
    assert f".text.{lowered.entry}".encode() in code.image
    assert f".entry {lowered.entry}(" in code.assembly
    assert f".target {arch}" in code.assembly
    assert code.resources["registers"] > 0


@pytest.mark.each_value_once
@pytest.mark.parametrize(
    "options",
    [
        Options(debug=True, opt=False),
        Options(lineinfo=True),
        Options(opt=False),
        Options(lto=True),
        Options(debug=True),
    ],
    ids=lambda options: ",".join(options.changed()),
)
@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_every_kernel_compiles_under_every_option(made, function, options):
    assert made(function, "sm_90", options).resources["registers"] > 0


def test_no_atomic_is_left_for_the_linker(made):
    assert "___numba_atomic" not in made(atomics, "sm_80").assembly


def test_fastmath_flushes_and_approximates(made):
    exact = made(maths).assembly
    fast = made(maths, options=Options(fastmath=True)).assembly
    assert "sqrt.rn.f32" in exact
    assert "div.rn.f32" in exact
    assert "sqrt.approx.ftz.f32" in fast
    assert "div.rn.f32" not in fast


def test_tiered_code_fuses_where_the_kernel_says_and_the_tools_fuse_nothing(made):
    tiered = Options(tiered=True)
    assert "fma.rn.f32" in made(saxpy, options=tiered).assembly
    assert re.search(r"add\.rn\.f32", made(shared_sum, options=tiered).assembly)
    assert re.search(r"add\.f32", made(shared_sum).assembly)
    assert made(saxpy, options=Options(tiered=True, lto=True)).resources["registers"] > 0
    assert "-fma=0" in link_flags("sm_90", tiered, lto=True)
    assert "-Xptxas=-fmad=false" in link_flags("sm_90", tiered, lto=False)


def test_opt_false_keeps_what_optimization_removes(made):
    assert len(made(saxpy, options=Options(opt=False)).assembly) > len(made(saxpy).assembly)


def test_lineinfo_maps_the_code_to_lines_without_variables(made):
    code = made(saxpy, options=Options(lineinfo=True))
    assert re.search(r"^\s*\.loc\s+\d", code.assembly, re.MULTILINE)
    assert b".debug_line\0" in code.image
    assert b".debug_info\0" not in code.image


def test_debug_keeps_variables_and_the_error_code(made):
    code = made(calls, options=Options(debug=True, opt=False))
    assert b".debug_info\0" in code.image
    assert f"{code.entry}__errcode__".encode() in code.image


def test_debug_finds_device_functions_that_only_another_module_calls(lower):
    lowered = lower(calls, Options(debug=True))
    modules = tuple(module.replace("define weak_odr", "define linkonce_odr") for module in lowered.modules)
    assert modules != lowered.modules
    code = generate(replace(lowered, modules=modules), on("sm_90"), Options(debug=True))
    assert code.resources["registers"] > 0


def test_debug_is_compiled_unoptimized_even_if_opt_is_left_on(lower, made):
    unoptimized = generate(lower(saxpy, Options(debug=True)), on("sm_90"), Options(debug=True, opt=False))
    assert made(saxpy, options=Options(debug=True)).assembly == unoptimized.assembly


@pytest.mark.some(1)
@pytest.mark.parametrize("lto", [False, True])
def test_max_registers_is_kept(made, lto):
    free = made(local_memory, options=Options(lto=lto))
    bound = made(local_memory, options=Options(lto=lto, max_registers=24))
    assert free.resources["registers"] > 24
    assert bound.resources["registers"] <= 24


def test_launch_bounds_reach_the_ptx_and_the_resources(made):
    code = made(saxpy, options=Options(launch_bounds=(128, 2)))
    assert ".maxntid 128" in code.assembly
    assert ".minnctapersm 2" in code.assembly
    assert code.resources["max_threads"] == 128
    assert "max_threads" not in made(saxpy).resources


@pytest.mark.each_value_once
@pytest.mark.parametrize("options", [PLAIN, Options(lto=True), Options(debug=True)], ids=lambda o: str(o.changed()))
@pytest.mark.parametrize("arch", ARCHS)
def test_shared_bytes_are_the_kernels_own_static_ones(made, arch, options):
    used = {
        function: made(function, arch, options).resources["shared_bytes"]
        for function in (shared_sum, dynamic_shared, saxpy)
    }
    assert used == {shared_sum: 256 * 4, dynamic_shared: 0, saxpy: 0}


@pytest.mark.parametrize("arch", ARCHS)
def test_resources_are_what_the_kernel_declares(made, arch):
    assert made(constants, arch).resources["constant_bytes"] == 16 * 4
    assert made(local_memory, arch).resources["local_bytes"] == 100 * 4
    assert made(saxpy, arch).resources["local_bytes"] == 0


@pytest.mark.skipif(CUOBJDUMP is None, reason="cuobjdump cannot be found")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("function", [saxpy, shared_sum, dynamic_shared, maths, local_memory], ids=lambda f: f.__name__)
def test_resources_agree_with_cuobjdump(made, tmp_path, function, arch):
    code = made(function, arch)
    path = tmp_path / "kernel.cubin"
    path.write_bytes(code.image)
    done = subprocess.run([CUOBJDUMP, "--dump-resource-usage", str(path)], capture_output=True, text=True, check=True)  # type: ignore[list-item]
    told = {name: int(number) for name, number in re.findall(r"(REG|STACK|SHARED):(\d+)", done.stdout)}
    reserved = 1024 if told["SHARED"] and arch != "sm_80" else 0  # the system's own share, which cuobjdump counts
    assert told["REG"] == code.resources["registers"]
    assert told["STACK"] == code.resources["local_bytes"]
    assert told["SHARED"] - reserved == code.resources["shared_bytes"]


def test_lto_makes_no_ptx_on_the_way(made):
    assert made(saxpy, options=Options(lto=True)).assembly == ""


def test_the_same_input_makes_the_same_bytes(lower, made):
    assert generate(lower(maths), on("sm_90"), Options()).image == made(maths).image


def test_threads_compile_at_once(lower, made):
    chosen = [(function, arch) for function in (saxpy, maths, shared_sum) for arch in ("sm_80", "sm_90")]
    work = [(lower(function), on(arch)) for function, arch in chosen]
    alone = [made(function, arch) for function, arch in chosen]
    together: list[Any] = [None] * len(work)
    start = threading.Barrier(len(work))

    def compile_one(index):
        start.wait()
        together[index] = generate(*work[index], Options())  # type: ignore[call-arg]

    threads = [threading.Thread(target=compile_one, args=(index,)) for index in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_unknown_architecture_is_named_with_the_known_ones(lower):
    with pytest.raises(CompileError, match=r"saxpy \(kernels\.py:7\) for sm_12: .*'sm_12'.*sm_80.*sm_90a"):
        generate(lower(saxpy), on("sm_12"), Options())


def test_known_architectures_are_sm_names():
    assert {"sm_80", "sm_90", "sm_90a"} <= set(known_archs())


def test_ir_that_nvvm_refuses_is_reported_with_its_log():
    lowered = Lowered(modules=("define void @k() { ret i32 1 }",), entry="k", exceptions={}, kernel="broken")
    with pytest.raises(CompileError, match=r"broken for sm_90: NVVM: [^\0]*function result type 'void'"):
        generate(lowered, on("sm_90"), Options(codegen="nvvm"))


def test_missing_nvvm_is_named_with_the_way_on(lower, monkeypatch):
    lowered = lower(saxpy)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvvm", None)
    with pytest.raises(CompileError, match=r"saxpy .*NVVM .*pip install 'numba-cuda\[cu13\]'"):
        generate(lowered, on("sm_90"), Options())


def test_compiling_needs_neither_numba_nor_the_driver(lower, tmp_path):
    lowered = lower(maths)
    (tmp_path / "kernel.ll").write_text(lowered.modules[0])
    script = f"""
import sys
from pathlib import Path
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, Target
from gridjit.compiler.targets.ptx.generate import generate
from gridjit.compiler.targets.ptx.link import link_flags
assert not any(name.partition(".")[0] == "cuda" for name in sys.modules)
module = Path({str(tmp_path / "kernel.ll")!r}).read_text()
lowered = Lowered(modules=(module,), entry={lowered.entry!r}, exceptions={{}})
code = generate(lowered, Target(kind="ptx", arch="sm_90"), Options())
assert code.image.startswith(b"\\x7fELF")
assert "libcuda.so" not in Path("/proc/self/maps").read_text()
"""
    imported = _imported_by(script)
    # Bindings may import others: all import the driver's in cuda-bindings 13.0, and NVRTC's do in later ones. It is
    # NVRTC that says which architectures there are if NVVM is of CUDA 13.0 or older. llvmlite makes the PTX.
    compilers = [f"cuda.bindings.{name}" for name in LIBRARIES if f"cuda.bindings.{name}" in imported]
    assert imported == _imported_by(f"import sys, llvmlite, {', '.join(compilers)}\n")


def _imported_by(script):
    """Return which of numba, what it needs, and CUDA's bindings a process that runs script ends with."""
    watched = ("numba", "llvmlite", "numpy", *(f"cuda.bindings.{name}" for name in (*LIBRARIES, "driver", "runtime")))
    script = f"{script}\nprint(*(name for name in {watched} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def test_prepare_leaves_unknown_declarations_and_code_alone():
    text = 'declare i32 @"___numba_atomic_new"(i32* %".1")\ndefine void @"k"() {\n  ret void\n}\n'
    assert prepare(text) == text


def test_prepare_drops_attributes_that_nvvm_does_not_know():
    assert "immarg" not in prepare("declare void @llvm.memcpy(i8*, i8*, i64, i1 immarg)")
    assert prepare("attributes #0 = { nounwind willreturn nofree }") == "attributes #0 = { nounwind }\n"
