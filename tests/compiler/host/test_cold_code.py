"""What is run once for many blocks is left as it was written: LLVM spends its time on what threads run."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import generate
from gridjit.compiler.targets.host.ir.cold_code import COLD, split_cold_code
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def guarded(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def counted(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@pytest.fixture
def made(lowered, monkeypatch, wide):
    """Returns what LLVM is to optimize of a kernel, and the module that its machine code is made of."""

    def modules(kernel, *types, options=None):
        optimize, emit, seen = llvm.optimize, llvm.emit, []

        def optimizing(module, target, *rest, **more):
            seen.append(str(module))
            optimize(module, target, *rest, **more)

        monkeypatch.setattr(llvm, "optimize", optimizing)
        monkeypatch.setattr(llvm, "emit", lambda module, target: seen.append(str(module)) or emit(module, target))
        generate.generate(lowered(kernel, *types), wide, options or Options())
        return seen

    return modules


def heads(text, name):
    return [line for line in text.splitlines() if line.startswith("define ") and f"@{name}(" in line]


@pytest.mark.parametrize(
    ("kernel", "types", "name"),
    [
        (guarded, ["float32[1]"], "gridjit.idle.end"),
        (guarded, ["float32[1]"], "gridjit.idle"),
    ],
)
def test_functions_that_are_run_seldom_are_not_optimized(made, kernel, types, name):
    optimized, final = made(kernel, *types)
    assert heads(optimized, name) == []
    (head,) = heads(final, name)
    assert head.startswith("define internal ")


def test_an_entry_that_gathers_is_not_optimized_and_needs_no_functions_for_a_few_lines(made):
    optimized, final = made(counted, "int32[1]", "int32[1]")
    (entry,) = [line for line in final.splitlines() if line.startswith("define ") and "internal" not in line]
    assert heads(optimized, entry.partition("@")[2].partition("(")[0]) == []
    assert heads(final, "gridjit.gathered.now") == heads(final, "gridjit.gathered.begin.add.i32") == []


def test_a_kernels_entry_is_all_that_others_see(made):
    *_, final = made(counted, "int32[1]", "int32[1]")
    seen = [line for line in final.splitlines() if line.startswith("define ") and "internal" not in line]
    assert len(seen) == 1


OFTEN = """define internal i32 @often(i32 %a) {
entry:
  %b = call i32 @seldom(i32 %a)
  ret i32 %b
}
"""
MARKED = f"""define internal i32 @seldom(i32 range(i32 0, 9) %a) noinline {COLD} {{
entry:
  %b = load i32, ptr @counter, !range !1
  ret i32 %b
}}
"""
COUNTER = "@counter = internal global i32 0\n"
RANGE = "!1 = !{i32 0, i32 5}\n"


def test_what_only_one_part_uses_goes_with_it():
    parts = split_cold_code(OFTEN + MARKED + COUNTER + RANGE)
    assert parts.often == OFTEN + RANGE + "declare i32 @seldom(i32 range(i32 0, 9))\n"
    assert parts.seldom == MARKED.replace("internal ", "") + COUNTER + RANGE
    assert parts.shared == {"seldom"}


@pytest.mark.parametrize(
    "text",
    [
        OFTEN + COUNTER + RANGE,
        OFTEN.replace("%a)\n", "%a)\n  store i32 0, ptr @counter\n") + MARKED + COUNTER + RANGE,
        OFTEN + MARKED + COUNTER + "!1 = !{!2}\n!2 = !{}\n",
        OFTEN + MARKED + RANGE,
        OFTEN + MARKED.replace("%b\n", "%b, !dbg !7\n") + COUNTER + RANGE,
        OFTEN + MARKED.replace("ptr @counter", 'ptr @"counter"') + COUNTER + RANGE,
    ],
)
def test_a_module_stays_whole_if_no_function_is_marked_or_one_needs_more_of_it(text):
    assert split_cold_code(text) == (text, "", frozenset())
