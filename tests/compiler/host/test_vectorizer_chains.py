"""Whether LLVM may follow too many ways through a loop: kernels in which it cannot are optimized once, not twice."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.analysis.vectorizer_chains import may_never_end

# A few threads add up values that all of them share, and store the sum.
SUM = """define internal i32 @gridjit.region.0(i32 %gj.tid.x, ptr %gj.shared, ptr %arg.1, i64 %n) {
entry:
  %tile = getelementptr inbounds i8, ptr %gj.shared, i64 0
  %somewhere = load ptr, ptr %gj.shared, align 8
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %turn ]
  %total = phi float [ 0.0, %entry ], [ %sum, %turn ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %turn, label %over
over:
  store float %total, ptr %arg.1, align 4
  ret i32 0
turn:
  %next = add i64 %k, 1
  %there = getelementptr float, ptr FROM, i64 %k
  %each = load float, ptr %there, align 4
  STEP
  br label %head
}
"""


def test_a_sum_of_what_all_threads_share_is_optimized_once_unless_it_may_be_read_back_and_added_again() -> None:
    plain = SUM.replace("STEP", "%sum = fadd float %total, %each")
    assert not may_never_end(plain.replace("FROM", "%tile"))
    kept = SUM.replace("STEP", "%sum = fadd float %total, %each\n  store float %sum, ptr %arg.1")
    assert not may_never_end(kept.replace("FROM", "%tile"))
    assert may_never_end(kept.replace("FROM", "%arg.1"))
    assert may_never_end(kept.replace("FROM", "%somewhere"))


@pytest.mark.parametrize(
    "step",
    [
        "%above = fcmp ogt float %each, %total\n  %sum = select i1 %above, float %each, float %total",
        "%twice = fmul float %total, %total\n  %sum = fadd float %twice, %each",
        "%part = fmul float %total, 0.5\n  %other = fmul float %total, %each\n  %sum = fadd float %part, %other",
        "%sum = call float @maximum(float %total, float %each)",
        "%again = load float, ptr %tile\n  %sum = fadd float %total, %each\n  store float %sum, ptr %tile",
    ],
)
def test_a_value_that_each_turn_uses_twice_may_take_for_ever(step: str) -> None:
    assert may_never_end(SUM.replace("FROM", "%tile").replace("STEP", step))


def stored(links: int, *, back: str, also: str = "") -> str:
    """Return a region that stores a product with itself and reads it back, again and again."""
    steps = [
        f"  %v{n + 1} = fmul double %p{n}, %p{n}\n  store double %v{n + 1}, ptr %arg.1\n"
        f"  %p{n + 1} = load double, ptr {back}"
        for n in range(links)
    ]
    return "\n".join(
        [
            "define internal i32 @gridjit.region.0(i32 %gj.tid.x, ptr %arg.1, ptr %arg.2) {",
            *("entry:", "  %p0 = load double, ptr %arg.2", *steps, also, "  ret i32 0", "}", ""),
        ]
    )


def test_a_value_is_followed_through_the_memory_that_it_is_stored_in() -> None:
    assert may_never_end(stored(32, back="%arg.1"))
    assert not may_never_end(stored(32, back="%arg.2"))
    assert not may_never_end(stored(1, back="%arg.2"))
    copied = "  call void @llvm.memcpy.p0.p0.i64(ptr %arg.2, ptr %arg.1, i64 8, i1 false)"
    assert may_never_end(stored(1, back="%arg.2", also=copied))


@pytest.mark.parametrize(
    ("asked", "tells"),
    [
        ("icmp eq i32 %gj.tid.x, 1", True),
        ("icmp ult i32 %gj.tid.x, 1", True),
        ("fcmp oeq double %v0, 0.0", True),
        ("icmp slt i32 %gj.tid.x, %n", False),
        ("icmp eq i32 %n, 4", False),
    ],
)
def test_what_only_one_thread_does_is_the_same_in_all_rows(asked: str, tells: bool) -> None:
    steps = "".join(f"  %v{n + 1} = fmul double %v{n}, %v{n}\n" for n in range(32))
    text = (
        "define internal i32 @gridjit.region.0(i32 %gj.tid.x, ptr %arg.1, i32 %n) {\nentry:\n"
        "  %there = getelementptr double, ptr %arg.1, i32 %gj.tid.x\n  %v0 = load double, ptr %there, align 8\n"
        f"  %only = {asked}\n  br i1 %only, label %one, label %over\none:\n{steps}"
        "  store double %v32, ptr %there\n  br label %over\nover:\n  ret i32 0\n}\n"
    )
    assert may_never_end(text) == tells
