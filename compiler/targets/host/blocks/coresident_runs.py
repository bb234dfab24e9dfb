"""Runs of co-resident blocks: functions that run a region for all threads of a block, or for its waiting threads."""

from __future__ import annotations

from gridjit.compiler.targets.host.emit.frame import CONTEXT, bank_renewal, block_loads
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.region_runs import SUMMARY, call, note, summary_end, summary_start
from gridjit.compiler.targets.host.emit.work_item_loops import ThreadLoops


def run_name(number: int, kind: str) -> str:
    """Return the name of the function that runs a region for "all" threads or for "some"."""
    return f"gridjit.resident.{number}.{kind}"


def resident_runs(plan: LoopPlan) -> list[tuple[int, str]]:
    """Return the ways in which regions are run: for all threads, or for the threads that wait at a region's barrier."""
    whole = ((number, "all") for number in range(plan.first_turn))
    return [*whole, *((number, "some") for number in range(plan.first_of_grid, plan.regions))]


def resident_run(plan: LoopPlan, loops: ThreadLoops, number: int, kind: str) -> str:
    """Return the function that runs a region for all threads, or for the threads that wait at its barrier."""
    every = [call(plan, number, "false"), *note()]
    some = kind == "some"
    threads = _if_waiting(plan, number) if some else every
    return "\n".join(
        [
            f"define internal {SUMMARY} @{run_name(number, kind)}({CONTEXT}) {plan.attributes} {{",
            "entry:",
            *block_loads(plan),
            *summary_start(),
            *loops.loop("some" if some else "only", threads, "entry", "over", vectorize=not some),
            *bank_renewal(plan, number),
            *summary_end(),
            "}",
            "",
        ]
    )


def _if_waiting(plan: LoopPlan, number: int) -> list[str]:
    """Return the code that runs a region for a thread if it waits at the region's barrier."""
    return [
        "  %old.at = getelementptr inbounds i32, ptr %states, i64 %t.wide",
        "  %old = load i32, ptr %old.at, align 4",
        f"  %waits = icmp eq i32 %old, {number}",
        "  br i1 %waits, label %go, label %noted",
        "go:",
        call(plan, number, "false", inline=False),
        *note(),
        "  br label %noted",
        "noted:",
    ]
