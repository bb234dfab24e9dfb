"""Region order: the block function that goes from region to region, as the states of its threads require."""

from __future__ import annotations

from gridjit.compiler.targets.host.loops.frame import CONTEXT, CONTEXT_VALUES, launch_loads
from gridjit.compiler.targets.host.loops.plan import DIVERGENT, LoopPlan
from gridjit.compiler.targets.host.loops.runs import SUMMARY, run_name


def watched_block(plan: LoopPlan) -> str:
    """Return the block function of a kernel with barriers or exceptions; it returns 0 or the code it ended with."""
    return "\n".join(
        [
            f"define internal i32 @gridjit.block({CONTEXT}) {plan.apart} {{",
            "entry:",
            *launch_loads(),
            "  br label %step",
            *_step(plan),
            *_judge(plan),
            *_go_on(),
            *_search(),
            *_report(),
            "}",
            "",
        ]
    )


def _step(plan: LoopPlan) -> list[str]:
    """Return the code that runs the next region. %next is its number times 2, plus 1 if only some threads run it."""
    arms, cases = [], []
    for number, kind in plan.runs:
        arms.append(f"    i32 {2 * number + (kind == 'some')}, label %run.{number}.{kind}")
        cases += [
            f"run.{number}.{kind}:",
            f"  %got.{number}.{kind} = call {SUMMARY} @{run_name(number, kind)}({CONTEXT_VALUES})",
            "  br label %judge",
        ]
    head = ["step:", "  %next = phi i32 [ 0, %entry ], [ %choice, %again ]", "  switch i32 %next, label %never ["]
    return [*head, *arms, "  ]", "never:", "  unreachable", *cases]


def _judge(plan: LoopPlan) -> list[str]:
    """Return the code that reads a run's summary: an exception, the end, one barrier for all threads, or several."""
    answers = ", ".join(f"[ %got.{number}.{kind}, %run.{number}.{kind} ]" for number, kind in plan.runs)
    return [
        "judge:",
        f"  %got = phi {SUMMARY} {answers}",
        f"  %low = extractvalue {SUMMARY} %got, 0",
        f"  %high = extractvalue {SUMMARY} %got, 1",
        f"  %least = extractvalue {SUMMARY} %got, 2",
        "  %raised = icmp slt i32 %low, 0",
        "  br i1 %raised, label %search, label %calm",
        "calm:",
        "  %over = icmp eq i32 %high, 0",
        "  br i1 %over, label %end, label %wait",
        "end:",
        "  ret i32 0",
        "wait:",
        "  %lowest = add i32 %least, 1",
        "  %split = icmp ne i32 %lowest, %high",
        "  br i1 %split, label %search, label %again",
    ]


def _go_on() -> list[str]:
    """Return the code that chooses the next region: that of the barrier at which threads wait."""
    return [
        "again:",
        # Threads that have ended count as arrived; from then on only the others run, and only they are in low.
        "  %ended = icmp eq i32 %low, 0",
        "  %now = zext i1 %ended to i32",
        "  %before = and i32 %next, 1",
        "  %bit = or i32 %now, %before",
        "  %twice = shl nuw nsw i32 %high, 1",
        "  %choice = or disjoint i32 %twice, %bit",
        "  br label %step",
    ]


def _search() -> list[str]:
    """Return the code that finds the first thread that raised, or that waits at the last of several barriers."""
    return [
        "search:",
        "  %wanted = phi i32 [ 0, %judge ], [ %high, %wait ]",
        "  %s = phi i32 [ 0, %judge ], [ 0, %wait ]",
        "  br label %look",
        "look:",
        "  %i = phi i32 [ %s, %search ], [ %i.next, %look ]",
        "  %i.wide = zext nneg i32 %i to i64",
        "  %i.at = getelementptr inbounds i32, ptr %states, i64 %i.wide",
        "  %i.state = load i32, ptr %i.at, align 4",
        "  %i.raised = icmp slt i32 %i.state, 0",
        "  %i.waits = icmp eq i32 %i.state, %wanted",
        "  %i.found = select i1 %raised, i1 %i.raised, i1 %i.waits",
        "  %i.next = add nuw nsw i32 %i, 1",
        "  br i1 %i.found, label %found, label %look",
    ]


def _report() -> list[str]:
    """Return the code that fills the status with the code, the block and the thread found, and returns the first."""
    values = ["code", *(f"ctaid.{axis}" for axis in "xyz"), *(f"tid.{axis}" for axis in "xyz")]
    lines = [
        "found:",
        "  %plain = and i32 %i.state, 2147483647",
        f"  %code = select i1 %raised, i32 %plain, i32 {DIVERGENT}",
        "  %tid.x = urem i32 %i, %ntid.x",
        "  %i.row = udiv i32 %i, %ntid.x",
        "  %tid.y = urem i32 %i.row, %ntid.y",
        "  %tid.z = udiv i32 %i.row, %ntid.y",
    ]
    for index, value in enumerate(values):
        lines.append(f"  %status.{index} = getelementptr inbounds i8, ptr %status, i64 {4 * index}")
        lines.append(f"  store i32 %{value}, ptr %status.{index}, align 4")
    return [*lines, "  ret i32 %code"]
