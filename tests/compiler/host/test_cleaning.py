"""What is inlined and simplified before a kernel is cut into regions does not become many times as long on the way."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target


def returning(times: int, variables: int) -> str:
    """Return LLVM IR of a function with so many variables and returns, and of one that calls it."""
    kept = range(variables)
    allocated = [f"  %v{n} = alloca i64\n  store i64 %a, ptr %v{n}" for n in kept]
    read = [f"  %r{n} = load i64, ptr %v{n}\n  %s{n + 1} = add i64 %s{n}, %r{n}" for n in kept]
    cases = " ".join(f"i64 {n}, label %b{n}" for n in range(times))
    ends = [f"b{n}:\n  %t{n} = add i64 %s{variables}, {n}\n  ret i64 %t{n}" for n in range(times)]
    head = "define i64 @inner(i64 %a) {\nentry:\n  %s0 = add i64 %a, 0"
    rest = f"  switch i64 %a, label %b0 [{cases}]"
    body = "define i64 @body(i64 %a) {\n  %r = call i64 @inner(i64 %a)\n  ret i64 %r\n}\n"
    return "\n".join([head, *allocated, *read, rest, *ends, "}", body])


def test_inlining_a_function_with_many_variables_and_returns_does_not_make_it_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inlined = llvm._CLEANING.index("always_inliner") + 1
    monkeypatch.setattr(llvm, "_CLEANING", llvm._CLEANING[:inlined])
    module = llvm.parse(llvm.header(host_target()) + returning(times=30, variables=40))
    before = llvm.text_of(module).count("\n")
    module = llvm.keep_only(module, "body", frozenset())
    llvm.clean(module, host_target())
    assert "@inner" not in llvm.text_of(module)
    assert llvm.text_of(module).count("\n") < before


@pytest.mark.parametrize(
    "line",
    [
        "define void @f() {",
        'define internal { ptr, i64 } @"f(x)"({ i8, i64 } %a, ptr byval({ i32 }) %b) unnamed_addr #0 align 16 {',
        "define linkonce_odr noundef <4 x float> @f.1(ptr nocapture writeonly %a, ...) local_unnamed_addr #0 {",
    ],
)
def test_attributes_that_are_written_into_the_text_are_the_functions(line: str) -> None:
    """As LLVM's text is changed with versions of llvmlite before 0.48."""
    returned = line.split("@")[0].removeprefix("define ").replace("internal ", "").replace("linkonce_odr noundef ", "")
    end = "ret void" if "void" in line else f"ret {returned} zeroinitializer"
    text = f"{llvm.with_attributes(line, ('noinline', 'optnone'))}\n  {end}\n}}\nattributes #0 = {{ nounwind }}\n"
    parsed = llvm.text_of(llvm.parse(llvm.header(host_target()) + text))
    (attributes,) = [line for line in parsed.splitlines() if line.startswith("attributes #0 =")]
    assert {"noinline", "optnone"} <= {*attributes.split()}
