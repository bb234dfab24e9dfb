"""What an instruction computes is read off its text, whichever flags, names and notes it has."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.analysis import value_types
from gridjit.compiler.targets.host.analysis.value_types import type_of
from gridjit.compiler.targets.host.ir.instructions import Element, Instruction, accessed, element, instruction
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%c = add nuw nsw i64 %a, -1", Instruction("%c", "add", ("nuw", "nsw"), "i64", ("%a", "-1"))),
        ('%"c.1" = mul i32 %"a.1", %b', Instruction('%"c.1"', "mul", (), "i32", ('%"a.1"', "%b"))),
        ("%c = icmp samesign ult i32 %a, 5", Instruction("%c", "icmp", ("samesign", "ult"), "i32", ("%a", "5"))),
        ("%c = zext nneg i32 %a to i64", Instruction("%c", "zext", ("nneg",), "i32", ("%a",), "i64")),
        ("%c = freeze i64 %a", Instruction("%c", "freeze", (), "i64", ("%a",))),
        ("%c = select i1 %a, i64 %b, i64 0", Instruction("%c", "select", (), "i1", ("%a", "i64 %b", "i64 0"))),
    ],
)
def test_an_instruction_says_what_it_computes(line, says):
    assert instruction(line) == says


@pytest.mark.parametrize(
    "line",
    [
        "br label %next",
        "store i32 %a, ptr %b",
        '%c = add i64 %"a, b", 1',
        '%c = add i64 %"a b", 1',
        '%"a = add i64 %b" = add i64 %c, 1',
        "%c = add <4 x i32> %a, %b",
        "%c = sext <4 x i32> %a to <4 x i64>",
        "",
    ],
)
def test_nothing_is_read_off_what_has_no_result_or_several_or_whose_names_cannot_be_told_apart(line):
    assert instruction(line) is None


def test_an_instruction_with_a_note_does_not_count_as_one_of_two_operands():
    assert instruction("%c = add i64 %a, %b").is_binary
    assert not instruction("%c = add i64 %a, %b, !dbg !7").is_binary
    assert not instruction("%c = xor i1 %a, true").is_binary


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%p = getelementptr inbounds float, ptr %a, i64 %i", Element("float", "%a", ("i64 %i",))),
        ("%p = getelementptr [16 x float], ptr %a, i64 0, i64 %i", Element("[16 x float]", "%a", ("i64 0", "i64 %i"))),
        (
            "%p = getelementptr inbounds { i64, [4 x i8] }, ptr %a, i64 %i",
            Element("{ i64, [4 x i8] }", "%a", ("i64 %i",)),
        ),
        ("%p = getelementptr [8 x { float, ptr }], ptr %a, i64 1", Element("[8 x { float, ptr }]", "%a", ("i64 1",))),
        ("%p = getelementptr i8, <4 x ptr> %a, i64 1", None),
        ("%p = add i64 %a, 1", None),
    ],
)
def test_a_pointer_is_moved_from_another_by_items(line, says):
    assert element(line) == says


def test_a_load_or_store_goes_through_a_named_pointer():
    assert accessed("%x = load ptr, ptr %a, align 8") == "%a"
    assert accessed("store ptr %a, ptr %b, align 8, !tbaa !3") == "%b"
    assert accessed("store i32 0, ptr @global") == accessed("%x = add i32 %a, 1") == ""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%c = sdiv i64 %a, 3", "i64"),
        ('%"x = y i1 z" = sdiv i64 %a, 3', "i64"),
        ('%c = sext i8 %"a to i1 b" to i64', None),
        ("%c = select i1 %a, double %b, double %d", "double"),
        ("%c = select <2 x i1> <i1 true, i1 false>, <2 x i32> %a, <2 x i32> %b", None),
        ("%c = select i1 xor (i1 trunc (i64 ptrtoint (ptr @g to i64) to i1), i1 true), double %a, double %b", None),
    ],
)
def test_the_type_of_a_result_is_read_off_or_left_to_llvm(line, says):
    assert value_types._said(line) == says


@pytest.mark.parametrize(
    "text", ["i1", "i64", "ptr", "[256 x float]", "[4 x [5 x double]]", "{ i8, i64 }", "[2 x i128]"]
)
def test_sizes_are_those_that_llvm_has(text):
    target = host_target()
    module = llvm.parse(f"{llvm.header(target)}@x = external global {text}\n")
    asked = llvm.global_type(module, "x")
    found = type_of(text, target)
    assert (found.size, found.align) == (llvm.size_of(target, asked), llvm.align_of(target, asked))
