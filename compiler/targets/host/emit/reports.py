"""Reports: the function that finds the thread of a block to report, and fills the status with it."""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT, CONTEXT_VALUES, launch_loads, position_of
from gridjit.compiler.targets.host.emit.plan import DIVERGENT


def report_of(raised: str) -> str:
    """Return the call that reports the first thread that raised, or the first at the last of several barriers."""
    return f"call i32 @gridjit.report({CONTEXT_VALUES}, i1 {raised})"


def report() -> str:
    """Return the function, which returns the code that it put into the status."""
    lines = [
        f"define internal i32 @gridjit.report({CONTEXT}, i1 %raised) nounwind noinline minsize optsize {{",
        "entry:",
        *launch_loads(),
        "  br label %last",
        *_last(),
        *_look(),
        *_fill(),
        "}",
        "",
    ]
    return "\n".join(lines)


def _state(name: str) -> list[str]:
    return [
        f"  %{name}.wide = zext nneg i32 %{name} to i64",
        f"  %{name}.at = getelementptr inbounds i32, ptr %states, i64 %{name}.wide",
        f"  %{name}.state = load i32, ptr %{name}.at, align 4",
    ]


def _last() -> list[str]:
    """Return the code that finds the last barrier at which a thread waits."""
    return [
        "last:",
        "  %l = phi i32 [ 0, %entry ], [ %l.next, %last ]",
        "  %high = phi i32 [ 0, %entry ], [ %high.next, %last ]",
        *_state("l"),
        "  %high.next = call i32 @llvm.smax.i32(i32 %high, i32 %l.state)",
        "  %l.next = add nuw nsw i32 %l, 1",
        "  %l.more = icmp ult i32 %l.next, %volume",
        "  br i1 %l.more, label %last, label %look",
    ]


def _look() -> list[str]:
    return [
        "look:",
        "  %i = phi i32 [ 0, %last ], [ %i.next, %look ]",
        *_state("i"),
        "  %i.raised = icmp slt i32 %i.state, 0",
        "  %i.waits = icmp eq i32 %i.state, %high.next",
        "  %i.found = select i1 %raised, i1 %i.raised, i1 %i.waits",
        "  %i.next = add nuw nsw i32 %i, 1",
        "  br i1 %i.found, label %found, label %look",
    ]


def _fill() -> list[str]:
    """Return the code that tells of the thread found."""
    return [
        "found:",
        "  %plain = and i32 %i.state, 2147483647",
        f"  %code = select i1 %raised, i32 %plain, i32 {DIVERGENT}",
        *told_of("%i"),
    ]


def told_of(number: str) -> list[str]:
    """Return the code that fills the status with %code, the block, and the thread of a number, and returns the code."""
    values = ["code", *(f"ctaid.{axis}" for axis in "xyz"), *(f"tid.{axis}" for axis in "xyz")]
    lines = position_of(number)
    for index, value in enumerate(values):
        lines.append(f"  %status.{index} = getelementptr inbounds i8, ptr %status, i64 {4 * index}")
        lines.append(f"  store i32 %{value}, ptr %status.{index}, align 4")
    return [*lines, "  ret i32 %code"]
