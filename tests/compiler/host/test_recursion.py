"""Functions that can reach themselves are found in a module, whatever they are called and however they call."""

from __future__ import annotations

from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.recursion import recursive

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


def test_functions_that_reach_themselves_are_found_whatever_they_are_called() -> None:
    assert recursive(llvm.parse(MODULE)) == {"with spaces", "plain.1", '"quoted(é'}
