"""Block scheduler: the block function that goes from region to region, as the states of its threads require.

If all threads of a block wait at one place, the operation there is done for all of them, and they continue in one
loop. If they do not, or disagree on which lanes take part, the block continues warp by warp (warps/divergent_warps.py).
"""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT, CONTEXT_VALUES, launch_loads
from gridjit.compiler.targets.host.emit.plan import ROWS, LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import START, SUMMARY, run_name
from gridjit.compiler.targets.host.emit.reports import report_of
from gridjit.compiler.targets.host.warps.divergent_warps import APART
from gridjit.compiler.targets.host.warps.warp_step import RAISED
from gridjit.compiler.targets.host.warps.whole_blocks import AGAIN, meet_of, meets


def watched_block(plan: LoopPlan) -> str:
    """Return the block function of a kernel with barriers or exceptions; it returns 0 or the code it ended with."""
    return "\n".join(
        [
            f"define internal i32 @gridjit.block({CONTEXT}) {plan.attributes} {{",
            "entry:",
            *launch_loads(),
            *_count(plan),
            "  br label %step",
            *_step(plan),
            *_judge(plan),
            *(_meet(plan) if plan.regions > 1 else []),
            *_turn(plan),
            *_end(plan),
            "}",
            "",
        ]
    )


def _step(plan: LoopPlan) -> list[str]:
    """Return the code that runs the next region, whose number is %next."""
    numbers = range(plan.regions)
    given = ", i32 %outer, i1 %is.last" if plan.outside else ""
    arms = [f"    i32 {number}, label %run.{number}" for number in numbers]
    cases = [
        line
        for number in numbers
        for line in (
            f"run.{number}:",
            f"  %got.{number} = call {SUMMARY} @{run_name(number)}({CONTEXT_VALUES}{given})",
            "  br label %judge",
        )
    ]
    again = ", [ %at, %again ]" if plan.regions > 1 else ""
    return [
        "step:",
        *(_outside() if plan.outside else [f"  %next = phi i32 [ 0, %entry ]{again}"]),
        "  switch i32 %next, label %never [",
        *arms,
        "  ]",
        "never:",
        "  unreachable",
        *cases,
    ]


def _count(plan: LoopPlan) -> list[str]:
    """Return the code that finds how many rows or planes a block has, if a run is for one."""
    if not plan.outside:
        return []
    return [f"  %outer.count = {'mul nuw nsw i32 %ntid.y, %ntid.z' if plan.outside == ROWS else 'add i32 %ntid.z, 0'}"]


def _outside() -> list[str]:
    """Return the start of a loop that goes on to the next row or plane of the block's threads, or the next region."""
    return [
        "  %next = phi i32 [ 0, %entry ], [ %next.now, %turn ]",
        "  %outer = phi i32 [ 0, %entry ], [ %outer.now, %turn ]",
        *(f"  %{word}.before = phi i32 [ {value}, %entry ], [ %{word}.now, %turn ]" for word, value in START.items()),
        "  %outer.next = add nuw nsw i32 %outer, 1",
        "  %is.last = icmp uge i32 %outer.next, %outer.count",
    ]


def _turn(plan: LoopPlan) -> list[str]:
    """Return the end of that loop, which is reached from %judge for the same region, and from %again for the next."""
    if not plan.outside:
        return []
    values = {"next": ("%at", "%next"), "outer": ("0", "%outer.next")}
    values |= {word: (value, f"%{word}") for word, value in START.items()}
    several = plan.regions > 1
    return [
        "turn:",
        *(
            f"  %{word}.now = phi i32 {f'[ {first}, %again ], ' if several else ''}[ {same}, %judge ]"
            for word, (first, same) in values.items()
        ),
        "  br label %step",
    ]


def _sum(plan: LoopPlan) -> list[str]:
    """Return the code that leaves the lowest and highest state of a block's threads in %low and %high."""
    words = {"low": "smin", "high": "smax"}
    if not plan.outside:
        return [f"  %{word} = extractvalue {SUMMARY} %got, {number}" for number, word in enumerate(words)]
    return [
        *(f"  %{word}.got = extractvalue {SUMMARY} %got, {number}" for number, word in enumerate(words)),
        *(f"  %{word} = call i32 @llvm.{how}.i32(i32 %{word}.before, i32 %{word}.got)" for word, how in words.items()),
        "  br i1 %is.last, label %judged, label %turn",
        "judged:",
    ]


def _judge(plan: LoopPlan) -> list[str]:
    """Return the code that reads a run's summary: an exception, the end, one place for all threads, or several."""
    answers = ", ".join(f"[ %got.{number}, %run.{number} ]" for number in range(plan.regions))
    one = ["  %one = icmp eq i32 %low, %high", "  br i1 %one, label %meet, label %apart"]
    one = one if plan.parts else ["  br label %meet"]
    return [
        "judge:",
        f"  %got = phi {SUMMARY} {answers}",
        *_sum(plan),
        *(["  %raises = icmp slt i32 %low, 0", "  br i1 %raises, label %raised, label %calm"] if plan.fails else []),
        *([] if plan.fails else ["  br label %calm"]),
        "calm:",
        # It is negative if no thread was run.
        "  %over = icmp sle i32 %high, 0",
        "  br i1 %over, label %end, label %wait",
        "wait:",
        *(one if plan.regions > 1 else ["  unreachable"]),
    ]


def _meet(plan: LoopPlan) -> list[str]:
    """Return the code that does the operation that threads wait for, and chooses the region that begins there."""
    met = meets(plan)
    answers = ", ".join(f"[ %met.{number}, %meet.{number} ]" for number in met)
    judged = [
        "met:",
        f"  %answer = phi i32 {answers}",
        f"  switch i32 %answer, label %told [ i32 0, label %again i32 {AGAIN}, label %apart ]",
    ]
    apart = [
        "apart:",
        f"  %place = {APART}",
        "  %waits = icmp sgt i32 %place, 0",
        "  br i1 %waits, label %meet, label %ended",
        "ended:",
        f"  switch i32 %place, label %told [ i32 0, label %end i32 {RAISED}, label %raised ]",
    ]
    return [
        *(apart if plan.parts else []),
        "meet:",
        f"  %at = phi i32 [ %high, %wait ]{', [ %place, %apart ]' if plan.parts else ''}",
        "  switch i32 %at, label %again [",
        *(f"    i32 {number}, label %meet.{number}" for number in met),
        "  ]",
        *(line for number in met for line in _one(plan, number)),
        *(judged if met else []),
        "again:",
        f"  br label %{'turn' if plan.outside else 'step'}",
        "told:",
        "  %told.code = load i32, ptr %status",
        "  ret i32 %told.code",
    ]


def _one(plan: LoopPlan, number: int) -> list[str]:
    return [f"meet.{number}:", f"  %met.{number} = {meet_of(plan, number)}", "  br label %met"]


def _end(plan: LoopPlan) -> list[str]:
    # After threads were run warp by warp, it is another function that knows whether one raised.
    raised = ["raised:", f"  %code = {report_of('true')}", "  ret i32 %code"]
    return ["end:", "  ret i32 0", *(raised if plan.reports else [])]
