"""Which functions call themselves is told by the text of their modules."""

from __future__ import annotations

from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.nvvm.recursion import recursive

MODULE = r"""
@text = constant [2 x i8] c"a\00"
declare i32 @printf(ptr, ...)
define i32 @"with spaces"(i32 %x) {
  %1 = tail call i32 @plain.1(i32 %x)
  %2 = call i32 (ptr, ...) @printf(ptr @text, ptr @once)
  ret i32 %1
}
define i32 @plain.1(i32 %x) #0 {
entry:
  %r = musttail call noundef i32 @"with spaces"(i32 %x)
  ret i32 %r
}
define internal i32 @"\22quoted(\c3\a9"(i32 %x) {
  %1 = call i32 @"\22quoted(\c3\a9"(i32 %x)
  ret i32 %1
}
define i32 @once(i32 %x) {
  %1 = call i32 @plain.1(i32 %x)
  %f = load ptr, ptr @text
  call void %f(ptr @once)
  ret i32 %1
}
attributes #0 = { nounwind }
"""
DECLARED = 'declare i32 @"outside"(i32)\n'


def defined(name: str, *called: str) -> str:
    calls = "".join(f'  %".{number}" = tail call i32 @{callee}(i32 1)\n' for number, callee in enumerate(called))
    return f"define weak_odr i32 @{name}(i32 %x)\n{{\nentry:\n{calls}  ret i32 0\n}}\n"


def test_functions_that_end_are_not_recursive() -> None:
    assert (
        recursive([DECLARED + defined('"a"', '"b"', '"c"', '"outside"') + defined('"b"', '"c"'), defined('"c"')])
        == set()
    )


def test_functions_that_reach_themselves_are_also_through_others_and_other_modules() -> None:
    texts = [defined("kernel", '"even"', "self"), defined('"even"', '"odd"'), defined('"odd"', '"even"', '"leaf"')]
    assert recursive([*texts, defined('"leaf"') + defined("self", "self")]) == {"even", "odd", "self"}


def test_what_lies_between_two_that_are_is_not() -> None:
    assert recursive([defined("a", "a", "between"), defined("between", "b"), defined("b", "b")]) == {"a", "b"}


def test_a_function_that_is_an_argument_or_only_named_is_not_called() -> None:
    text = "define void @f(ptr %g)\n{\nentry:\n  call void %g(ptr @f)\n  store ptr @f, ptr %g\n  ret void\n}\n"
    assert recursive([text]) == set()


def test_functions_that_reach_themselves_are_found_whatever_they_are_called() -> None:
    assert recursive([str(llvm.parse(MODULE))]) == {"with spaces", "plain.1", '"quoted(é'}
