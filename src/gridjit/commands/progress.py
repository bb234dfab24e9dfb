"""The progress of a long command: on a terminal, a line on standard error with names, counts and the time left."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gridjit.base.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def is_wanted(given: argparse.Namespace) -> bool:
    """Return whether a command shows how far it is: to people, who did not ask it not to."""
    return not (given.quiet or given.json) and sys.stderr.isatty()


@contextmanager
def steps(given: argparse.Namespace, what: str, total: int | None) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each of so many steps as it begins; what: the verb for a step."""
    if not is_wanted(given):
        yield lambda name: None
        return
    from rich.console import Console

    with shown(Console(stderr=True)) as progress:
        line = progress.add_task(what, total=total, left="")
        started, over = time.perf_counter(), 0

        def step(name: str) -> None:
            nonlocal over
            left = "" if total is None else left_text(time.perf_counter() - started, over, total)
            progress.update(line, completed=over, description=printable(f"{what} {name}"), left=left)
            over += 1

        yield step


def shown(console: Console) -> Progress:
    """Return the display of a run's progress, its current step, and how long the rest may take."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    said = TextColumn("{task.fields[left]}{task.description}", markup=False)
    return Progress(BarColumn(20), MofNCompleteColumn(), said, console=console, transient=True)


def left_text(elapsed: float, over: int, total: int) -> str:
    """Return in words how long the rest takes, if its steps take as long as the finished ones."""
    if not over:
        return ""
    minutes, seconds = divmod(round(elapsed / over * max(total - over, 0)), 60)
    return f"about {minutes}:{seconds:02} left: "
