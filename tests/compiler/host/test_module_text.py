"""A module's text is read as LLVM reads it, whether numba, LLVM or gridjit wrote it."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.ir.body import blocks_of
from gridjit.compiler.targets.host.ir.calls import asm_calls, call_in, calls, split_arguments
from gridjit.compiler.targets.host.ir.metadata import node_text, nodes
from gridjit.compiler.targets.host.ir.module import (
    attribute_groups,
    declarations,
    definitions,
    label_of,
    name_of,
    values,
    with_declarations,
    with_definitions,
    with_each_line,
)
from gridjit.compiler.targets.host.sanitizer.access_places import AccessPlace, read_places

NUMBAS = 'define {i32, i1} @"f(\\22é\\5c)"(i8** %".ret", {i32, i32} %"x")\n{\nentry:\n  ret {i32, i1} undef\n}\n'
LLVMS = "define internal range(i32 0, 9) i32 @g.1(ptr %a) #0 {\n  switch i32 %a, label %b [\n  ]\nb:\n  ret i32 1\n}\n"
DECLARED = 'declare void @"h i"(ptr byval({ i32 }))\n'
MODULE = f'@text = constant [9 x i8] c"define @x"\n{NUMBAS}\n{DECLARED}{LLVMS}attributes #0 = {{ nounwind "a"="b" }}\n'


def test_functions_are_found_with_their_names_heads_and_bodies() -> None:
    numbas, llvms = definitions(MODULE)
    assert numbas.text + "\n" + llvms.text + "\n" == NUMBAS + LLVMS
    assert (numbas.name, numbas.symbol, llvms.name) == ('f("é\\)', '"f(\\22é\\5c)"', "g.1")
    assert numbas.head == NUMBAS.partition("\n")[0]
    assert llvms.head == LLVMS.partition(" {")[0]
    assert numbas.body == "entry:\n  ret {i32, i1} undef\n"
    assert llvms.body.splitlines()[-1] == "  ret i32 1"


@pytest.mark.parametrize("end", ["", "\n"])
def test_declarations_are_found_and_nothing_else(end: str) -> None:
    text = MODULE + DECLARED.replace("h i", "last").rstrip() + end
    assert [one.name for one in declarations(text)] == ["h i", "last"]
    assert with_declarations(text, lambda one: "") == MODULE.replace(DECLARED, "")
    assert with_declarations(DECLARED * 3 + "x", lambda one: one.text.upper()) == DECLARED.upper() * 3 + "x"
    assert with_declarations(DECLARED * 3 + "x", lambda one: "") == "x"


def test_a_change_of_functions_leaves_the_text_beside_them() -> None:
    assert with_definitions(MODULE, lambda one: one.text) == MODULE
    assert with_definitions(LLVMS, lambda one: one.name) == "g.1\n"
    changed = with_definitions(MODULE, lambda one: "" if one.name == "g.1" else one.text)
    assert changed == MODULE.replace(LLVMS, "\n")


def test_a_change_of_lines_is_one_of_those_with_the_word() -> None:
    assert with_each_line("a b\nc\nb", "b", str.upper) == "A B\nc\nB"
    assert with_each_line("a b\nc\n", "d", str.upper) == "a b\nc\n"


def test_groups_of_attributes_are_known_by_their_names() -> None:
    assert attribute_groups(MODULE) == {"#0": ' nounwind "a"="b" '}


@pytest.mark.parametrize(
    ("line", "label"),
    [("b.1:", "b.1"), ('"b: 1":  ; preds = %a', '"b: 1"'), ("  %a = b c:", ""), ("; a:", ""), ("}", ""), ("", "")],
)
def test_a_line_that_begins_a_block_is_told_from_others(line: str, label: str) -> None:
    assert label_of(line) == label


def test_a_name_is_counted_as_often_as_it_is_there() -> None:
    assert values('%"a, b" = call i32 @f(i32 %c, i32 %c.1, i32 %c)') == ['%"a, b"', "%c", "%c.1", "%c"]


def test_blocks_have_each_instruction_in_one_line() -> None:
    (function,) = definitions(
        LLVMS.replace("ret i32 1", "call void @llvm.lifetime.end.p0(ptr %a)\n  ; no\n  ret i32 1")
    )
    first, second = blocks_of(function.body)
    assert (first.label, first.lines, first.successors) == ("", ("switch i32 %a, label %b [ ]",), ("%b",))
    assert (second.label, second.lines) == ("%b", ("ret i32 1",))


def test_bytes_of_names_are_written_as_two_digits() -> None:
    assert name_of('"\\C3\\a9t\\C3\\A9"') == "été"
    assert name_of("plain.1") == "plain.1"


@pytest.mark.parametrize(
    ("line", "name", "kind", "arguments"),
    [
        ("  %r = tail call noundef i32 @f(i32 %a, ptr @g)", "f", "i32", "i32 %a, ptr @g"),
        ('  call void @"a (b"()', "a (b", "void", ""),
        ("  %r = call i32 (ptr, ...) @printf(ptr @text, i64 ptrtoint (ptr @g to i64)), !dbg !7", "printf", None,
         "ptr @text, i64 ptrtoint (ptr @g to i64)"),
    ],
)  # fmt: skip
def test_a_call_has_the_function_and_its_arguments(line: str, name: str, kind: str | None, arguments: str) -> None:
    call = call_in(line)
    assert call is not None
    assert (call.name, call.arguments) == (name, arguments)
    assert kind is None or call.type == kind


@pytest.mark.parametrize(
    "line", ["  call void %f(ptr @g)", "  store ptr @g, ptr %a", '  %r = call i32 asm "x", "=r"()', "call "]
)
def test_a_line_that_calls_no_function_by_its_name_has_no_call(line: str) -> None:
    assert call_in(line) is None


def test_calls_are_those_of_all_lines() -> None:
    text = "  call void @f()\n  %a = load i32, ptr @g\n  %b = call i32 @g(i32 %a)"
    assert [call.name for call in calls(text)] == ["f", "g"]


def test_a_comma_within_brackets_or_quotes_does_not_end_an_argument() -> None:
    arguments = [
        "{ i32, i1 } %a",
        'ptr @"b, c"',
        "<2 x i8> <i8 1, i8 2>",
        "ptr getelementptr (i8, ptr @d, i64 1)",
        "i1 %e",
    ]
    assert split_arguments(", ".join(arguments)) == arguments
    assert split_arguments(" ") == []


def test_inline_assembly_is_found_with_instructions_of_several_lines() -> None:
    text = (
        '@text = constant [20 x i8] c"call i32 asm (\\00"\n'
        '  %"a b" = call {i32, i32} (i32) asm sideeffect "mov;\n add;", "=r,r"(i32 ptrtoint (ptr @f to i32)), !dbg !7\n'
        '  call void asm  "exit;", ""()\n'
    )
    first, second = asm_calls(text)
    assert first[2:] == ("{i32, i32}", "mov;\n add;", "i32 ptrtoint (ptr @f to i32)")
    assert text[first.end :].startswith(", !dbg !7")
    assert second[2:] == ("void", "exit;", "")
    assert text[second.start : second.end] == 'call void asm  "exit;", ""()'


def test_nodes_are_known_with_their_fields_as_written() -> None:
    text = (
        '!llvm.dbg.cu = !{!1}\n!1 = distinct !DIFile(filename: "a, b: (c)", directory: "")\n'
        '!2 = !DILocation(line: 5, column: 1, scope: !1, inlinedAt: !3)\n!3 = !{!"call(", i32 1}'
    )
    found = nodes(text)
    assert found.keys() == {"!1", "!2"}
    assert found["!1"] == ("DIFile", {"filename": '"a, b: (c)"', "directory": '""'})
    assert found["!2"].written == "line: 5, column: 1, scope: !1, inlinedAt: !3"
    assert node_text(text, "!3") == '!{!"call(", i32 1}'
    assert node_text(text, "!4") == ""


def test_a_place_in_a_file_is_told_by_its_name_as_the_user_wrote_it() -> None:
    places = read_places(
        '!1 = !DIFile(filename: "\\C3\\A9crit.py", directory: "")\n!2 = !DISubprogram(name: "f[abi:v1]", file: !1)\n'
        "!3 = !DILocation(line: 5, scope: !2)\n"
    )
    number = places.number("store i32 0, ptr %a, !dbg !3")
    assert places.by_number()[number] == AccessPlace(file="écrit.py", line=5, function="f", array="")
