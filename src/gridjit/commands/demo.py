"""`gridjit demo`: a block-wide sum in two processes. The first compiles, the second finds everything in the cache."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gridjit.commands.demo_job import launches
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.environment.settings import settings

PROCESSES = ("first", "second")


def run(given: argparse.Namespace) -> int:
    """Run both processes and print the table; returns 0 if every sum was right and the second compiled nothing."""
    settings()  # a wrong one is told here, and not by the processes
    console, quiet = Console(), Console(quiet=True)
    console.print(
        f"\nA block-wide sum of {given.size:,} floats. Its shared array has the size of the\n"
        "launched block: the kernel depends on the block size, and on nothing else.\n"
    )
    with tempfile.TemporaryDirectory(prefix="gridjit-demo-") as folder:
        environment = dict(os.environ) if given.keep else {**os.environ, "GRIDJIT_CACHE_DIR": folder}
        reports = [_watch(quiet if given.quiet else console, name, given.size, environment) for name in PROCESSES]
    console.print(_table(reports))
    return _verdict(console, reports, expect_compiles=not given.keep)


def _watch(console: Console, name: str, size: int, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Run one process of the demo under a progress display and return its report of each launch."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    reports: list[dict[str, Any]] = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"{name} process: starting", total=len(launches(size)))
        with contextlib.closing(_events(size, environment)) as events:
            for event in events:
                if "begin" in event:
                    progress.update(task, description=f"{name} process: {event['begin']}")
                else:
                    reports.append(event)
                    progress.advance(task)
    return reports


def _events(size: int, environment: dict[str, str]) -> Generator[dict[str, Any], None, None]:
    """Yield a demo process's events; it ends with this generator, and Ctrl-C reaches it through this one."""
    command = [sys.executable, "-c", "from gridjit.commands.demo_job import main; main()", str(size)]
    how: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, env=environment, **how) as process:
        try:
            for line in process.stdout or ():
                yield json.loads(line)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise GridjitError(f"the demo's process exited with status {process.returncode}; its error is above")


def _table(reports: list[list[dict[str, Any]]]) -> Table:
    table = Table(
        title="What was compiled, what was reused", title_justify="left", box=SIMPLE_HEAD, collapse_padding=True
    )
    for heading in ("process", "grid", "block", "code", "depends on"):
        table.add_column(heading, no_wrap=True)
    for heading in ("get, ms", "run, ms", "sum"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, launches_ in zip(PROCESSES, reports, strict=True):
        for number, report in enumerate(launches_):
            table.add_row(
                name if number == 0 else "",
                str(report["grid"]),
                str(report["block"]),
                report["code"],
                report["depends_on"],
                f"{report['get_ms']:.1f}",
                f"{report['run_ms']:.1f}",
                "right" if report["right"] else "[red]wrong[/red]",
            )
        table.add_section()
    return table


def _verdict(console: Console, reports: list[list[dict[str, Any]]], expect_compiles: bool) -> int:
    compiled = [sum(report["code"] == "compiled" for report in launches_) for launches_ in reports]
    wrong = sum(not report["right"] for launches_ in reports for report in launches_)
    console.print(
        f"The first process compiled {compiled[0]} times for {len(reports[0])} launches: once for each block\n"
        f"size, whatever the grid. The second compiled {compiled[1]} times: all were on disk.\n"
        "get: to find or compile the code; run: the launch; sum: checked against NumPy.\n"
        "The second row's get has machine code for all later launches, too: made once.\n"
    )
    return 1 if wrong or compiled[1] or (expect_compiles and not compiled[0]) else 0
