"""An instruction is read into fields, whichever flags, names and notes it has, and prints as it was written."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.analysis.value_types import type_of
from gridjit.compiler.targets.host.ir.body import reads, with_predecessors
from gridjit.compiler.targets.host.ir.instructions import Instruction, Operand, with_suffix
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target

# One of each kind, with the type of its result.
LINES = {
    "%c = add nuw nsw i64 %a, -1": "i64",
    '%"c = 1" = mul i32 %"a, b", %b, !dbg !7': "i32",
    "%c = fmul nnan contract <4 x float> %a, splat (float 2.000000e+00)": "<4 x float>",
    "%c = fneg double %a": "double",
    "%c = icmp samesign ult i32 %a, 5": "i1",
    "%c = icmp eq <4 x i32> %a, <i32 1, i32 2, i32 3, i32 4>": "<4 x i1>",
    "%c = fcmp fast oge double %a, 0x43E0000000000000": "i1",
    "%c = zext nneg i32 %a to i64": "i64",
    "%c = ptrtoint ptr addrspace(3) %a to i64": "i64",
    "%c = inttoptr i64 %a to ptr": "ptr",
    "%c = freeze i64 %a": "i64",
    "%c = select i1 %a, { i32, i1 } %b, { i32, i1 } zeroinitializer": "{ i32, i1 }",
    '%c = phi i64 [ 0, %entry ], [ %d, %"loop, or not" ]': "i64",
    '%c = load atomic volatile i32, ptr %p syncscope("block") acquire, align 4, !tbaa !3': "i32",
    "%c = load [2 x ptr], ptr getelementptr inbounds (i8, ptr @table, i64 8), align 8": "[2 x ptr]",
    "store volatile { float, float } %a, ptr %p, align 4": "void",
    "store atomic i32 1, ptr %p release, align 4": "void",
    "%p = getelementptr inbounds nuw [16 x float], ptr %a, i64 0, i64 %i": "ptr",
    "%p = getelementptr i8, <4 x ptr> %a, i64 1": "<4 x ptr>",
    "%p = alloca { i32, [4 x i8] }, i32 2, align 16": "ptr",
    '%c = atomicrmw volatile umax ptr %p, i64 %v syncscope("gpu") monotonic, align 8': "i64",
    "%c = cmpxchg weak ptr %p, i32 %a, i32 %b acq_rel monotonic, align 4": "{ i32, i1 }",
    "%c = extractvalue { i32, { i8, [2 x i1] } } %a, 1, 1, 0": "i1",
    "%c = insertvalue { i32, i1 } poison, i32 %a, 0": "{ i32, i1 }",
    "%c = extractelement <4 x i32> %a, i64 0": "i32",
    "%c = insertelement <4 x i32> poison, i32 %a, i64 0": "<4 x i32>",
    "%c = shufflevector <4 x i32> %a, <4 x i32> poison, <2 x i32> <i32 0, i32 3>": "<2 x i32>",
    '%c = tail call contract noundef range(i32 0, 9) i32 @"f(1, 2)"(ptr noundef align 8 %a, i64 -1) #3, !dbg !7': "i32",
    "%c = call fastcc { i32, i1 } %f(<2 x i8> <i8 1, i8 2>)": "{ i32, i1 }",
    '%c = call i32 asm sideeffect "mov $0, $1;\\0A", "=r,0,~{memory}"(i32 0)': "i32",
    "musttail call void (ptr, ...) @g(ptr byval(i64) %a)": "void",
    'fence syncscope("singlethread") seq_cst': "void",
    'br i1 %c, label %yes, label %"no, then"': "void",
    "br label %next, !llvm.loop !4": "void",
    "switch i32 %a, label %other [ i32 0, label %zero i32 -1, label %less ], !prof !0": "void",
    "switch i32 %a, label %other [ ]": "void",
    "ret void": "void",
    "ret i32 %a": "void",
    "unreachable": "void",
}


@pytest.mark.parametrize(("line", "type_"), LINES.items())
def test_an_instruction_prints_as_it_was_written_and_has_its_results_type(line: str, type_: str) -> None:
    read = parse(line)
    assert (str(read), read.result_type, read.known) == (line, type_, True)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "%c = add nuw nsw i64 %a, -1",
            Instruction("%c", "add", ("nuw", "nsw"), operands=(Operand("i64", "%a"), Operand("i64", "-1"))),
        ),
        (
            "%c = sext i32 %a to i64, !dbg !7",
            Instruction("%c", "sext", type="i64", operands=(Operand("i32", "%a"),), notes=", !dbg !7"),
        ),
        (
            "store i8 %a, ptr %p, align 1",
            Instruction("", "store", operands=(Operand("i8", "%a"), Operand("ptr", "%p")), notes=", align 1"),
        ),
    ],
)
def test_an_instruction_is_read_into_fields(line: str, fields: Instruction) -> None:
    assert parse(line) == fields


def test_values_and_labels_are_told_apart() -> None:
    switch = parse("switch i32 %a, label %other [ i32 0, label %zero i32 1, label %one ]")
    assert (switch.values, switch.labels) == (("%a", "0", "1"), ("%other", "%zero", "%one"))
    phi = parse("%c = phi i64 [ 0, %entry ], [ %d, %loop ]")
    assert phi.arms == (("0", "%entry"), ("%d", "%loop"))


@pytest.mark.parametrize(
    "line",
    ["%c = va_arg ptr %a, i32", "%c = add i64 %a", "%c = load", "store i32 1", "gridjit.arrive 1, label %b", "%c", ""],
)
def test_of_an_instruction_that_is_not_known_nothing_is_claimed(line: str) -> None:
    read = parse(line)
    assert (str(read), read.known, read.operands) == (line, False, ())


def test_a_branch_has_a_condition_or_one_target() -> None:
    either, always = parse("br i1 %c, label %yes, label %no, !prof !0"), parse("br label %on, !llvm.loop !4")
    assert (either.condition, either.target, either.labels) == ("%c", "", ("%yes", "%no"))
    assert (always.condition, always.target, always.labels) == ("", "%on", ("%on",))
    assert (parse("ret i32 %c").condition, parse("switch i32 %c, label %on [ ]").target) == ("", "")


def test_a_phis_arms_and_a_branchs_labels_are_replaced() -> None:
    phi = parse("%c = phi [2 x i64] [ zeroinitializer, %entry ], [ %d, %loop ], !dbg !7")
    assert str(phi.with_arms([("%e", "%loop")])) == "%c = phi [2 x i64] [ %e, %loop ], !dbg !7"
    renamed = "%c = phi [2 x i64] [ zeroinitializer, %entry ], [ %d, %end ], !dbg !7"
    assert with_predecessors(str(phi), {"%loop": "%end", "%d": "%e"}) == renamed
    branch = parse('br i1 %a, label %a.b, label %"a"').with_labels({"%a.b": "%c", '%"a"': "%d"})
    assert str(branch) == "br i1 %a, label %c, label %d"


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("%c = add i64 %a, -1", {"%a"}),
        ('%c = phi i64 [ 0, %entry ], [ %d, %"loop" ]', {"%d"}),
        ("br i1 %c, label %yes, label %no", {"%c"}),
        ('call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ]', {"%p"}),
        ("invoke void @f(ptr %p) to label %yes unwind label %no", {"%p"}),
    ],
)
def test_an_instruction_reads_values_but_no_labels(line: str, values: set[str]) -> None:
    assert reads(line) == values


def test_a_word_goes_behind_a_name_within_its_quotes() -> None:
    assert (with_suffix("%a.1", "own"), with_suffix('%"a b"', "own")) == ("%a.1.own", '%"a b.own"')


def test_the_alignment_is_a_note() -> None:
    assert parse("%c = load atomic i32, ptr %p acquire, align 8, !tbaa !3").alignment == 8
    assert parse("%c = load i32, ptr %p, !tbaa !3").alignment == 0


def test_only_arithmetic_on_two_numbers_without_notes_is_binary() -> None:
    assert parse("%c = add i64 %a, %b").is_binary
    assert parse("%c = icmp slt i64 %a, 3").is_binary
    assert not parse("%c = add i64 %a, %b, !dbg !7").is_binary
    assert not parse("%c = xor i1 %a, true").is_binary
    assert not parse("%c = add <4 x i32> %a, %b").is_binary
    assert not parse("%c = extractvalue { i32, i1 } %a, 1").is_binary


def test_flags_that_make_poison_go_and_the_others_stay() -> None:
    assert str(parse("%c = icmp samesign slt i32 %a, %b").without_poison()) == "%c = icmp slt i32 %a, %b"
    assert str(parse("%c = fadd contract float %a, %b").without_poison()) == "%c = fadd contract float %a, %b"


def test_a_load_or_store_goes_through_a_named_pointer() -> None:
    assert parse("%x = load ptr, ptr %a, align 8").accessed == "%a"
    assert parse("store ptr %a, ptr %b, align 8, !tbaa !3").accessed == "%b"
    assert parse("store i32 0, ptr @global").accessed == parse("%x = add i32 %a, 1").accessed == ""


@pytest.mark.parametrize(
    ("line", "type_"),
    [
        ("%c = sdiv i64 %a, 3", "i64"),
        ('%"x = y i1 z" = sdiv i64 %a, 3', "i64"),
        ('%c = sext i8 %"a to i1 b" to i64', "i64"),
        ("%c = select i1 %a, double %b, double %d", "double"),
        ("%c = select <2 x i1> <i1 true, i1 false>, <2 x i32> %a, <2 x i32> %b", "<2 x i32>"),
        ("%c = select i1 xor (i1 trunc (i64 ptrtoint (ptr @g to i64) to i1), i1 true), double %a, double %b", "double"),
    ],
)
def test_no_name_and_no_constant_is_taken_for_the_type_of_a_result(line, type_):
    assert parse(line).result_type == type_


def test_a_step_is_by_one_number_and_a_cast_is_of_a_named_value():
    assert parse("%p = getelementptr inbounds i32, ptr %a, i64 %i").moved_by == "%i"
    others = ("i32, ptr %a, i64 0, i64 %i", "i32, <4 x ptr> %a, i64 %i", "i32, ptr %a, <2 x i64> %i")
    assert not any(parse(f"%p = getelementptr {other}").moved_by for other in others)
    assert parse("%c = zext nneg i32 %a to i64").cast_of("i32", "i64") == "%a"
    assert not parse("%c = load i64, ptr %a").cast_of("ptr", "i64")
    assert not parse("%c = ptrtoint ptr @a to i64").cast_of("ptr", "i64")


@pytest.mark.parametrize(
    "text", ["i1", "i64", "ptr", "[256 x float]", "[4 x [5 x double]]", "{ i8, i64 }", "[2 x i128]"]
)
def test_sizes_are_those_that_llvm_has(text):
    target = host_target()
    module = llvm.parse(f"{llvm.header(target)}@x = external global {text}\n")
    asked = llvm.global_type(module, "x")
    found = type_of(text, target)
    assert (found.size, found.align) == (llvm.size_of(target, asked), llvm.align_of(target, asked))
