"""Local arrays on the host: zero when a thread begins, and compiled in a time that does not grow with their size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host.analysis.vectorizer_chains import may_never_end, never_ends
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.nvvm.retarget import retarget
from tests.programs import run_python

RECORD = np.dtype([("a", np.int32), ("b", np.float64)], align=True)


def summed(size: int) -> Any:
    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        kept = cuda.local.array(size, np.float64)
        i = cuda.grid(1)
        for j in range(size):
            kept[j] += i + j
        total = 0.0
        for j in range(size):
            total += kept[(j * 7 + i) % size]
        x[i] = total

    return kernel


def test_the_code_of_a_kernel_does_not_grow_with_its_local_array(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    clean = llvm.clean

    def measured(module: Any, target: Any, **how: bool) -> None:
        clean(module, target, **how)
        lengths.append(len(str(module).splitlines()))

    monkeypatch.setattr(llvm, "clean", measured)
    for size in (200, 20_000):
        x = np.zeros(4)
        summed(size)[1, 4](x)
        assert x.tolist() == [sum(range(size)) + i * size for i in range(4)]
    assert lengths[0] == lengths[1]


def test_local_arrays_of_any_type_and_shape_are_zero_when_a_thread_begins() -> None:
    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        grid = cuda.local.array((5, 7), np.float64)
        records = cuda.local.array(9, RECORD)
        pairs = cuda.local.array(3, np.complex64)
        flags = cuda.local.array(2, np.bool_)
        i = cuda.threadIdx.x
        total = 0.0
        for a in range(5):
            for b in range(7):
                total += grid[a, b]
                grid[a, b] = i
        for a in range(9):
            total += records[a].a + records[a].b
            records[a].b = i
        for a in range(3):
            total += pairs[a].real
            pairs[a] = i
        cuda.syncthreads()
        x[i] = total + flags[i % 2] + grid[i % 5, i % 7] + records[i % 9].b + pairs[i % 3].real

    x = np.ones(40)
    kernel[1, 40](x)
    assert x.tolist() == [3.0 * i for i in range(40)]


def test_only_whole_arrays_are_set_to_zero_as_memory() -> None:
    text = (
        'define void @f({i64, i64}* %p, [2 x [3 x double]]* %"a b") {\n'
        '  store [2 x [3 x double]] zeroinitializer, [2 x [3 x double]]* %"a b"\n'
        "  store {i64, i64} zeroinitializer, {i64, i64}* %p\n  ret void\n}\n"
    )
    made = retarget(text, kernel="f", fastmath=False).text
    assert made.count('call void @llvm.memset.p0.i64(ptr %"a b", i8 0, i64 ptrtoint') == 1
    assert "store {i64, i64} zeroinitializer, {i64, i64}* %p" in made


def chain(links: int, *, of: str) -> str:
    """Return a loop with a chain of values, each of which uses the one before twice."""
    steps = [f"  %v{n + 1} = fmul double %v{n}, %v{n}" for n in range(links)]
    return "\n".join(
        [
            *("define void @f(ptr %p, i64 %n) {", "entry:", "  br label %loop", "loop:"),
            *("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]", f"  %v0 = load double, ptr {of}"),
            *steps,
            *(f"  store double %v{links}, ptr %p", "  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n"),
            *("  br i1 %more, label %loop, label %over", "over:", "  ret void", "}", ""),
        ]
    )


def test_a_chain_of_uniform_values_is_found_and_one_that_varies_or_is_short_is_none() -> None:
    assert never_ends(chain(32, of="%p"))
    several = "switch i1 %more, label %over [\n    i1 true, label %loop\n  ]"
    assert never_ends(chain(32, of="%p").replace("br i1 %more, label %loop, label %over", several))
    assert not never_ends(chain(8, of="%p"))
    assert not never_ends(chain(32, of="%i"))
    assert may_never_end(chain(1, of="%p"))
    straight = "\n".join(line for line in chain(32, of="%p").splitlines() if "br i1" not in line and "phi" not in line)
    assert may_never_end(straight)
    assert not may_never_end(straight.replace("fmul double %v15, %v15", "fneg double %p"))


MAXIMUM = """
import numpy as np, gridjit
from gridjit import cuda

@gridjit.jit(cache=False, target="host")
def of_an_array(x, y):
    kept = cuda.local.array(32, np.float64)
    for j in range(32):
        kept[j] = x[j]
    most = kept[0]
    for j in range(32):
        if kept[j] > most:
            most = kept[j]
    y[cuda.grid(1)] = most

@gridjit.jit(cache=False, target="host")
def repeated(x, y):
    value = x[0]
    for j in range(32):
        value = value * 0.5 + value * x[j]
    y[0] = value

@gridjit.jit(cache=False, target="host")
def in_memory(x, y):
    i = cuda.grid(1)
    y[i] = 1.0
    for j in range(32):
        y[i] = y[i] * 0.5 + y[i] * x[j]

@gridjit.jit(cache=False, target="host")
def between_barriers(x, y):
    tile = cuda.shared.array(64, np.float64)
    tile[cuda.threadIdx.x] = x[0]
    cuda.syncthreads()
    value = tile[cuda.threadIdx.y]
    for j in range(32):
        value = value * 0.5 + value * x[j]
    cuda.syncthreads()
    y[cuda.grid(1)] = value

@gridjit.jit(cache=False, target="host")
def of_one_thread(x, y):
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        value = x[i % 32]
        for j in range(32):
            value = value * 0.5 + value * x[j]
        y[i] = value

TURN = "@gridjit.jit(cache=False, target='host')\\ndef each_turn(x, y):\\n  i = cuda.grid(1)\\n"
TURN += "  for k in range(x.size):\\n"
TURN += "    v = x[i % 1]\\n" + "    v = v * 0.5 + v * x[i % 1 + 1]\\n" * 32 + "    y[k % 64] = v\\n"
TEXT = "@gridjit.jit(cache=False, target='host')\\ndef written_out(x, y):\\n  v = x[0]\\n"
TEXT += "  v = v * 0.5 + v * x[1]\\n" * 32 + "  y[cuda.grid(1)] = v\\n"
names = {"gridjit": gridjit, "cuda": cuda, "__name__": "made"}
exec(TEXT, names)
exec(TURN, names)

x = np.arange(32) / 32
value = written = x[0]
product = 1.0
for each in x:
    value = value * 0.5 + value * each
    product = product * 0.5 + product * each
for _ in range(32):
    written = written * 0.5 + written * x[1]
for kernel, wanted in ((of_an_array, x.max()), (repeated, value), (names["written_out"], written), (in_memory, product),
                       (between_barriers, value), (of_one_thread, value)):
    y = np.zeros(64)
    kernel[2, 32](x, y)
    assert np.isclose(y[0], wanted), (kernel, y[0], wanted)
y = np.zeros(64)
names["each_turn"][1, 1](x, y)
assert np.isclose(y[:32], written).all()
print("done")
"""


def test_a_value_that_all_threads_share_and_32_steps_use_twice_each_compiles(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(MAXIMUM)
    environ = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    # In a process of its own: LLVM, where it goes on for ever, cannot be stopped.
    done = run_python(script, env=environ)
    assert done.stdout == "done\n", done.stderr


def test_loops_whose_values_differ_between_threads_are_not_tried_twice() -> None:
    loop = """define internal i32 @gridjit.region.0(i32 %gj.tid.x, ptr %p, i64 %n) {
entry:
  %mine = zext i32 %gj.tid.x to i64
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %turn ]
  %total = phi float [ 0.0, %entry ], [ %sum, %turn ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %turn, label %over
over:
  %out = getelementptr float, ptr %p, i64 %mine
  store float %total, ptr %out, align 4
  ret i32 0
turn:
  %next = add i64 %k, 1
  %there = getelementptr float, ptr %p, i64 %WHERE
  %each = load float, ptr %there, align 4
  %shared = getelementptr float, ptr %p, i64 %k
  %other = load float, ptr %shared, align 4
  %product = fmul float %each, %other
  %sum = fadd float %total, %product
  br label %head
}
"""
    squared = "%twice = fmul float %total, %total\n  %sum = fadd float %twice, %product"
    loop = loop.replace("%sum = fadd float %total, %product", squared)
    assert not may_never_end(loop.replace("WHERE", "mine"))
    assert may_never_end(loop.replace("WHERE", "k"))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_local_array_larger_than_a_stack_works_zeroed_for_each_of_many_threads(dtype: Any) -> None:
    size = 1 << 20

    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        kept = cuda.local.array(size, dtype)
        i = cuda.grid(1)
        first = kept[i].real
        for j in range(0, size, 4096):
            kept[j] = i
        kept[i + 1] += 1
        x[i] = first + kept[size - 4096].real + kept[i + 1].real

    x = np.ones(40)
    kernel[2, 20](x)
    assert x.tolist() == [i + 1.0 for i in range(40)]


def test_local_arrays_that_wait_at_a_barrier_with_too_much_memory_are_refused() -> None:
    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        kept = cuda.local.array(1 << 20, np.float64)
        i = cuda.threadIdx.x
        kept[i] = i
        cuda.syncthreads()
        x[i] = kept[i] + kept[x.size]

    x = np.ones(1024)
    kernel[1, 4](x)
    assert x[:5].tolist() == [0, 1, 2, 3, 1]
    with pytest.raises(gridjit.LaunchError, match="not enough memory"):
        kernel[1, 1024](x)
