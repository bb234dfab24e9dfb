"""The accesses of an instruction have its addresses, sizes and alignments, however these are written."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.ir.accesses import accesses, synchronizes


def told(line: str) -> list[tuple[str, str, int, int, str]]:
    return [(one.kind, one.at, one.grain, one.scalar, one.value) for one in accesses(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%x = load i32, ptr %p, align 4", ("read", "%p", 4, 4, "")),
        ("%x = load volatile double, ptr %p, align 4, !tbaa !3", ("read", "%p", 4, 8, "")),
        ("%x = load { float, i8 }, ptr @table", ("read", "@table", 1, 0, "")),
        (
            "%x = load i16, ptr getelementptr (i8, ptr inttoptr (i64 8 to ptr), i64 2)",
            ("read", "getelementptr (i8, ptr inttoptr (i64 8 to ptr), i64 2)", 2, 2, ""),
        ),
        ("%x = load atomic i32, ptr %p acquire, align 4", ("atomic", "%p", 4, 4, "")),
        ("store float 1.000000e+00, ptr %p, align 8", ("write", "%p", 4, 4, "float 1.000000e+00")),
        ("store i1 %x, ptr %p", ("write", "%p", 1, 1, "")),
        ("store ptr getelementptr (i8, ptr @table, i64 8), ptr %p, align 8", ("write", "%p", 8, 8, "")),
        ("store [2 x i64] [i64 1, i64 2], ptr %p, align 8", ("write", "%p", 8, 0, "")),
        ("store atomic i32 %x, ptr %p release, align 4", ("atomic", "%p", 4, 4, "")),
        ("%x = atomicrmw volatile add ptr %p, i64 1 monotonic, align 8", ("atomic", "%p", 8, 8, "")),
        ("%x = atomicrmw fadd ptr %p, <2 x half> %v monotonic, align 4", ("atomic", "%p", 2, 0, "")),
        ("%x = cmpxchg weak ptr %p, i32 0, i32 1 acq_rel monotonic, align 4", ("atomic", "%p", 4, 4, "")),
        ("tail call void @llvm.memset.p0.i64(ptr align 8 %p, i8 0, i64 16, i1 false)", ("write", "%p", 1, 0, "")),
    ],
)
def test_an_access_is_told(line: str, expected: tuple[object, ...]) -> None:
    assert told(line) == [expected]


def test_a_copy_reads_and_writes() -> None:
    copy = "call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull %to, ptr @from, i64 %size, i1 false), !dbg !7"
    assert [(one.kind, one.at, one.size) for one in accesses(copy)] == [
        ("read", "@from", "%size"),
        ("write", "%to", "%size"),
    ]


@pytest.mark.parametrize(
    "line", ["%x = add i32 %p, 1", "call void @f(ptr %p)", "fence seq_cst", "%x = va_arg ptr %p, i32"]
)
def test_other_instructions_have_no_accesses_that_are_known(line: str) -> None:
    assert told(line) == []


def test_locks_are_made_of_exchanges() -> None:
    assert synchronizes("%x = atomicrmw xchg ptr %p, i32 1 acquire") == ("%p", True)
    assert synchronizes("%x = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic") == ("%p", True)
    assert synchronizes("%x = atomicrmw add ptr %p, i32 1 acquire") == ("%p", False)
    assert synchronizes("%x = load atomic i32, ptr %p acquire, align 4") is None
