"""The types of a kernel's values are read where instructions name them, and are those that LLVM knows."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.analysis.value_types import type_of, value_types
from gridjit.compiler.targets.host.ir.body import read_body
from gridjit.compiler.targets.host.ir.types import size_of
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target

_PLAIN = """
  %sum = add nuw nsw i64 %n, 3
  %either = or disjoint i32 %i, 1
  %far = getelementptr inbounds nuw [4 x i8], ptr %p, i64 %sum
  %at = getelementptr { i8, i64 }, ptr %p, i64 %n, i32 1
  %own = alloca [8 x float], align 16
  %read = load volatile double, ptr %far, align 8
  %last = load atomic i16, ptr %at acquire, align 2
  %product = fmul contract nnan float %x, %x
  %less = fneg fast float %product
  %smaller = fcmp nnan olt float %x, %less
  %same = icmp samesign ult i64 %n, %sum
  %null = icmp eq ptr %p, null
  %chosen = select nnan i1 %same, float %x, float %product
  %place = select i1 %null, ptr %far, ptr %at
  %wide = zext nneg i32 %i to i64
  %number = ptrtoint ptr %p to i64
  %back = inttoptr i64 %number to ptr
  %short = fptrunc double %read to half
  %little = trunc nuw i64 %n to i8
  %stays = freeze i64 %n
  %more = call i64 @llvm.smax.i64(i64 %n, i64 0)
  %root = tail call contract float @llvm.sqrt.f32(float %x)
  %old = atomicrmw volatile fadd ptr %p, float %x monotonic, align 4
  %"quoted $name" = sub i8 %little, 1
  br label %next
next:
  %phi = phi ptr [ %p, %entry ]
  %real = sitofp i32 %i to double
"""
_OTHERS = (
    "%pair = cmpxchg ptr %p, i64 %n, i64 0 seq_cst seq_cst",
    "%both = insertvalue { i32, float } poison, i32 %i, 0",
    "%four = load <4 x float>, ptr %p",
    "%moved = getelementptr float, ptr %p, <2 x i64> <i64 0, i64 1>",
    "%over = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %n, i64 1)",
    "%equal = icmp eq <2 x i64> <i64 0, i64 1>, zeroinitializer",
    "%turned = bitcast i64 %n to <2 x float>",
    "%given = va_arg ptr %p, i32",
)


@pytest.mark.parametrize("more", ["", *_OTHERS])
def test_the_types_that_are_read_are_llvms(more):
    lines = f"define i32 @body(ptr %p, i64 %n, i32 %i, float %x) {{\nentry:{_PLAIN}  {more}\n  ret i32 0\n}}\n"
    declared = (
        "declare i64 @llvm.smax.i64(i64, i64)\ndeclare float @llvm.sqrt.f32(float)\n"
        "declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)\n"
    )
    target = host_target()
    module = llvm.parse(llvm.header(target) + lines + declared)
    function = module.get_function("body")
    found = value_types(read_body(llvm.text_of(module), "body", ()), function, target)
    known = {one.name: str(one.type) for block in function.blocks for one in block.instructions if one.name}
    assert {name.strip('%"'): kind.text for name, kind in found.items()} == known
    sizes = {"i64": 8, "ptr": 8, "double": 8, "float": 4, "i32": 4, "half": 2, "i16": 2, "i8": 1, "i1": 1}
    assert all(kind.size == kind.align == sizes[kind.text] for kind in found.values() if kind.text in sizes)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("half", 2),
        ("[3 x [5 x float]]", 60),
        ("{ double, double }", 16),
        ("{ [12 x i8], [3 x i32] }", 24),
        ("[4 x { i8, i8 }]", 8),
        ("{ i8, i64 }", 0),
        ("i128", 0),
        ("<2 x i1>", 0),
    ],
)
def test_a_size_is_llvms_or_unknown(text, size):
    assert size_of(text) == size
    assert not size or type_of(text, host_target()).size == size
