"""The host's code: one exported symbol, the same bytes each time, vector code for plain kernels, facts as resources."""

# mypy: ignore-errors
from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.library import maths
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.features import llvm_features
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target

cuda = numba_cuda()
PLAIN = Options()


def saxpy(n, a, x, y):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def exponentials(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.exp(x[i])


def shared_arrays(x):
    a = cuda.shared.array(10, np.float32)
    b = cuda.shared.array(7, np.float64)
    t = cuda.threadIdx.x
    a[t] = x[t]
    b[t] = x[t]
    value = x[t] * 3
    cuda.syncthreads()
    x[t] = a[6 - t] + b[6 - t] + value
    cuda.syncthreads()


def keeps_many(x):
    t = cuda.threadIdx.x
    a, b, c, d, e = x[t], x[t + 1], x[t + 2], x[t + 3], x[t + 4]
    cuda.syncthreads()
    x[t] = a - b * c + d / (e + 1)


def test_the_same_kernel_gives_the_same_bytes(lowered):
    one = lowered(saxpy, "int64", "float32", "float32[1]", "float32[1]")
    assert generate(one, host_target(), Options()) == generate(one, host_target(), Options())


def test_resources_tell_shared_memory_barriers_and_what_a_thread_keeps(lowered):
    code = generate(lowered(shared_arrays, "float64[1]"), host_target(), Options())
    assert code.resources["shared_bytes"] == 96
    assert code.resources["barriers"] == 2
    assert code.resources["slab_bytes_per_thread"] == 16
    assert code.resources["object_bytes"] == len(code.image)
    assert code.suffix == ".o"


def vector_lines(lowered_kernel, target, options=PLAIN):
    """Return the lines of the final, optimized code that work on vectors."""
    texts = []
    original = llvm.emit

    def keep(module, for_target):
        texts.append(str(module))
        return original(module, for_target)

    llvm.emit = keep
    try:
        generate(lowered_kernel, target, options)
    finally:
        llvm.emit = original
    return [line for line in texts[0].splitlines() if " x float>" in line]


def test_a_guarded_kernel_becomes_plain_vector_loads_and_stores(lowered, wide):
    lines = vector_lines(lowered(saxpy, "int64", "float32", "float32[1]", "float32[1]"), wide)
    assert any("= load <" in line for line in lines)
    assert any("store <" in line for line in lines)


def test_mathematical_functions_become_vector_functions(lowered, wide):
    lines = vector_lines(lowered(exponentials, "float32[1]", "float32[1]"), wide)
    assert any("call" in line and "_ZGV" in line for line in lines)


def test_without_libmvec_the_target_calls_plain_functions(lowered, wide):
    target = Target(kind="host", arch=wide.arch, features=llvm_features(wide))
    image = generate(lowered(exponentials, "float32[1]", "float32[1]"), target, Options()).image
    assert b"_ZGV" not in image
    assert b"expf" in image


@pytest.mark.parametrize("exactly", [False, True])
def test_every_mathematical_function_is_valid_llvm(exactly):
    text = maths.definitions(set(maths.names()), host_target(), exactly=exactly)
    module = llvm.parse(llvm.header(host_target()) + text)
    defined = {function.name for function in module.functions if not function.is_declaration}
    assert {name for name in defined if not name.startswith("gridjit.")} == set(maths.names())
    assert inexact([text]) == "" or not exactly


def test_tiered_code_calls_the_functions_of_the_c_library_one_by_one(lowered, wide):
    code = generate(lowered(exponentials, "float32[1]", "float32[1]"), wide, Options(tiered=True))
    assert b"_ZGV" not in code.image
    assert b"expf" in code.image
    assert code.inexact == ""


def test_tiered_code_is_vector_code_too_and_fused_before_it_is_optimized(lowered, wide):
    base = lowered(saxpy, "int64", "float32", "float32[1]", "float32[1]")
    lines = vector_lines(base, wide, Options(tiered=True))
    assert any("@llvm.fma.v" in line for line in lines)
    assert not any(" contract " in line for line in lines)


def test_the_target_is_the_same_in_another_process_which_imports_no_numba():
    program = (
        "import sys\nfrom gridjit.compiler.targets.host.llvm.libllvm import host_target\n"
        "print(host_target().fields)\n"
        "from gridjit.compiler.targets.host.generate import generate\nassert 'numba' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == (f"{host_target().fields}\n", "")


def test_the_bytes_do_not_depend_on_the_process(lowered, tmp_path):
    base = lowered(keeps_many, "float64[1]")
    (tmp_path / "kernel.ll").write_text(base.modules[0])
    program = f"""
import hashlib
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.generate import generate
text = open({str(tmp_path / "kernel.ll")!r}).read()
one = Lowered(modules=(text,), entry={base.entry!r}, exceptions={{}}, kernel="k")
print(hashlib.sha256(generate(one, host_target(), Options()).image).hexdigest())
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_a_huge_kernel_is_optimized_less(lowered, monkeypatch):
    levels = []

    def optimize(module, target, level, **how):
        levels.append(level)
        original(module, target, level, **how)

    original = llvm.optimize
    monkeypatch.setattr(llvm, "optimize", optimize)
    work = lowered(saxpy, "int64", "float32", "float32[1]", "float32[1]")
    generate(work, host_target(), Options())
    monkeypatch.setattr("gridjit.compiler.targets.host.optimizing._HUGE", 10)
    generate(work, host_target(), Options())
    generate(work, host_target(), Options(opt=False))
    assert levels == [3, 1, 1]


def turns(n, x):
    i = cuda.grid(1)
    for _ in range(n):
        cuda.syncthreads()
        x[i] += 1


def test_the_counters_of_a_loop_around_a_barrier_take_no_memory_of_each_thread(lowered):
    made = generate(lowered(turns, "int64", "float64[1]"), host_target(), Options())
    assert made.resources["barriers"] == 1
    assert made.resources["slab_bytes_per_thread"] == 0


def test_only_a_short_kernel_is_searched_for_operations_side_by_side(lowered, monkeypatch):
    searched = []

    def optimize(module, target, level, *, abreast=True, **how):
        searched.append(abreast)
        original(module, target, level, abreast=abreast, **how)

    original = llvm.optimize
    monkeypatch.setattr(llvm, "optimize", optimize)
    work = lowered(saxpy, "int64", "float32", "float32[1]", "float32[1]")
    generate(work, host_target(), Options())
    monkeypatch.setattr("gridjit.compiler.targets.host.optimizing._LONG", 10)
    generate(work, host_target(), Options())
    assert searched == [True, False]
