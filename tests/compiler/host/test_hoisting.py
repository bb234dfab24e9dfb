"""Memory of a known size is set aside once, where a function begins; other lines stay where they are."""

# mypy: ignore-errors
from __future__ import annotations

from gridjit.compiler.targets.host.nvvm.retarget import hoisted

LATE = """define i32 @f(i64 %n) {
entry:
  %a = alloca i32
  br label %"B 1"
"B 1":
  %".2" = alloca { i16, i8 }, align 2
  store i32 0, ptr %a
  %many = alloca i8, i64 %n
  br label %B2
B2:
  %last = alloca [4 x float]
  ret i32 0
}
"""


def test_memory_of_a_known_size_is_set_aside_in_the_first_block():
    lines = hoisted(LATE).splitlines()
    first = lines[: lines.index('"B 1":')]
    assert [line.split()[0] for line in first if " = alloca " in line] == ['%".2"', "%last", "%a"]
    assert sum("alloca" in line for line in lines) == LATE.count("alloca")
    assert sorted(lines) == sorted(LATE.splitlines())


def test_memory_whose_size_is_a_value_stays_behind_that_value():
    text = hoisted(LATE)
    assert text.index('"B 1":') < text.index("%many = alloca i8, i64 %n") < text.index("B2:")


def test_each_function_keeps_its_own_and_others_are_not_touched():
    early = LATE.replace("@f", "@g").replace('"B 1":\n', "", 1).split("br label")[0] + "ret i32 0\n}\n"
    assert hoisted(early) == early
    assert hoisted(early + LATE + early) == early + hoisted(LATE) + early
    assert hoisted("declare void @h()\n") == "declare void @h()\n"
