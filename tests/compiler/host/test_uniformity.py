"""Which values of a kernel are the same for all threads of a block, read off small functions."""

from __future__ import annotations

from gridjit.compiler.targets.host.analysis.uniformity import uniform_values
from gridjit.compiler.targets.host.ir.body import Body, Parameter, read_body

PARAMETERS = (Parameter(type="i32", name="%n"), Parameter(type="ptr", name="%p"))


def body(lines: str) -> Body:
    return read_body(f"define i32 @k(i32 %n, ptr %p) {{\n{lines}\n}}\n", "k", PARAMETERS)


def test_what_is_made_of_parameters_is_uniform_and_what_is_made_of_positions_or_loads_is_not() -> None:
    values = uniform_values(
        body("""entry:
  %a = add i32 %n, %gj.ntid.x
  %b = mul i32 %a, %gj.tid.x
  %c = load i32, ptr %p
  %d = add i32 %c, 1
  ret i32 0""")
    )
    assert values == {"%a"}


def test_a_value_of_an_unknown_instruction_is_not_uniform() -> None:
    values = uniform_values(body("entry:\n  %a = va_arg ptr %p, i32\n  %b = add i32 %n, 1\n  ret i32 0"))
    assert values == {"%b"}


LOOP = """entry:
  br label %head
head:
  %k = phi i32 [ %n, %entry ], [ %half, %meet ]
  %mine = icmp ult i32 %gj.tid.x, %k
  br i1 %mine, label %work, label %meet
work:
  br label %meet
meet:
  %m = phi i32 [ 1, %work ], [ 2, %head ]
  %half = lshr i32 %k, 1
  %more = icmp ne i32 {condition}, 0
  br i1 %more, label %head, label %end
end:
  %after = add i32 %half, 1
  ret i32 0"""


def test_a_loop_counter_stays_uniform_around_a_divergent_branch_that_meets_again() -> None:
    assert uniform_values(body(LOOP.format(condition="%half"))) == {"%k", "%half", "%more", "%after"}


def test_a_loop_that_threads_leave_at_different_turns_makes_its_values_divergent() -> None:
    assert uniform_values(body(LOOP.format(condition="%m"))) == set()


def test_a_value_chosen_by_a_divergent_branch_is_divergent_even_if_its_choices_are_not() -> None:
    values = uniform_values(
        body("""entry:
  %odd = trunc i32 %gj.tid.x to i1
  br i1 %odd, label %left, label %right
left:
  %l = add i32 %n, 1
  br label %join
right:
  %r = add i32 %n, 2
  br label %join
join:
  %chosen = phi i32 [ %l, %left ], [ %r, %right ]
  ret i32 0""")
    )
    assert values == {"%l", "%r"}


def test_after_threads_returned_early_a_loop_counter_counts_as_divergent() -> None:
    values = uniform_values(
        body("""entry:
  br label %head
head:
  %k = phi i32 [ 0, %entry ], [ %next, %latch ]
  %next = add i32 %k, 1
  %leave = icmp eq i32 %gj.tid.x, %k
  br i1 %leave, label %end, label %latch
latch:
  br label %head
end:
  ret i32 0""")
    )
    assert values == set()


def test_the_larger_of_two_uniform_values_is_uniform_and_what_another_function_returns_is_not() -> None:
    values = uniform_values(
        body("""entry:
  %a = call i32 @llvm.smax.i32(i32 %n, i32 0)
  %b = tail call i32 @llvm.umin.i32(i32 %a, i32 %gj.tid.x)
  %c = call i32 @somewhere(i32 %n)
  ret i32 0""")
    )
    assert values == {"%a"}
