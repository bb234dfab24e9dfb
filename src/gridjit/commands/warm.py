"""`gridjit warm`: compile in advance what a program will need, in parallel, for GPUs that need not be present."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gridjit.commands import printing
from gridjit.commands.kernels import find_kernels, parse_config, parse_targets
from gridjit.commands.warm_work import Built, Work, begin, build
from gridjit.compiler.errors import ConfigError, GridjitError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.printable import printable
from gridjit.runtime.session import session
from gridjit.runtime.specialize.needs import Need


def register(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "warm",
        help="compile kernels ahead of their first launch",
        description="Status 1 if something could not be compiled or stored; the rest is then in the cache.",
    )
    parser.add_argument(
        "kernels", metavar="MODULE[:KERNEL]", nargs="*", help="kernels; without :KERNEL, all kernels of the module"
    )
    parser.add_argument("--signature", metavar="S", action="append", default=[], help='"void(float32[::1], int64)"')
    parser.add_argument("--config", metavar="C", action="append", default=[], help="grid=4,block=128[,sharedmem=1024]")
    parser.add_argument("--from", dest="file", type=Path, metavar="FILE", help="what GRIDJIT_RECORD=FILE recorded")
    parser.add_argument("--target", metavar="T,T", help="sm_80,sm_90,host (default: as recorded, or this machine)")
    parser.add_argument("--jobs", metavar="N", type=int, help="parallel processes (default: the usable cores)")
    parser.add_argument("--json", action="store_true", help="print JSON, without progress")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Build everything asked for; returns 0 if all of it is in the cache now, else 1."""
    if bool(given.kernels) == (given.file is not None):
        raise ConfigError("give kernels (module:kernel) or --from FILE, but not both")
    if not session().settings.cache:
        raise ConfigError("GRIDJIT_CACHE turns the cache off: nothing would be kept")
    if given.jobs is not None and given.jobs < 1:
        raise ConfigError(f"--jobs {given.jobs}: give a whole number from 1")
    try:
        os.getcwd()  # where processes begin
    except FileNotFoundError:
        raise GridjitError("the current folder is gone: change to one that exists") from None
    started = time.perf_counter()
    works, unreadable = recorded(given.file, given.target) if given.file else (list(asked(given)), [])
    if given.kernels and not works:
        raise ConfigError(f"no kernel of {', '.join(given.kernels)} declares a signature: give one with --signature")
    builds = unreadable + build_all(works, given.jobs or _cores(), quiet=given.json or not sys.stderr.isatty())
    return _report(builds, time.perf_counter() - started, as_json=given.json)


def asked(given: argparse.Namespace) -> Iterator[Work]:
    """Yield the work that the command line describes: every kernel, signature, launch and target."""
    configs: list[LaunchConfig | None] = [parse_config(text) for text in given.config] or [None]
    targets = parse_targets(given.target)
    for name, kernel in itertools.chain.from_iterable(find_kernels(name).items() for name in given.kernels):
        signatures = given.signature or [*kernel.declared, *kernel.signatures]
        if not signatures and name in given.kernels:
            raise ConfigError(f"{name} declares no signature: give one with --signature")
        for signature, config, target in itertools.product(dict.fromkeys(signatures), configs, targets):
            yield Work(kernel=name, signature=signature, config=config, target=target)


def recorded(path: Path, targets: str | None) -> tuple[list[Work], list[Built]]:
    """Return the work of a recorded file, each once, and a failure for every line that is damaged."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise GridjitError(f"{path} cannot be read: {error.strerror}") from None
    wanted = parse_targets(targets)
    works: dict[tuple[object, ...], Work] = {}
    failures = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            need = Need.from_line(line)
        except GridjitError as error:
            failures.append(Built(label=f"{path}:{number}", error=str(error)))
            continue
        for target in wanted if targets else [need.target]:
            work = Work(
                kernel=need.kernel, signature=need.signature, config=need.config, target=target, facts=need.facts
            )
            works.setdefault((need.kernel, need.signature, need.facts, target), work)
    return list(works.values()), failures


def build_all(works: Sequence[Work], processes: int, *, quiet: bool) -> list[Built]:
    """Build all works in processes of their own and return the result of each, in the order of works."""
    if not works:
        return []
    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Spawned: a fork would take over this process's threads and locks in whatever state they are.
    with (
        ProcessPoolExecutor(min(processes, len(works)), get_context("spawn"), begin, (list(sys.path),)) as pool,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("compiling", total=len(works))
        futures = {pool.submit(build, work): work for work in works}
        try:
            for future in as_completed(futures):
                progress.update(task, advance=1, description=printable(futures[future].kernel))
        except BaseException:
            # Ctrl-C ends what is being compiled, and nothing else is begun.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [_outcome(work, future) for future, work in futures.items()]


def _outcome(work: Work, future: Future[Built]) -> Built:
    error = future.exception()
    if error is None:
        return future.result()
    return Built(label=str(work), error=f"its process ended: {type(error).__name__}: {error}")


def _report(builds: Iterable[Built], seconds: float, *, as_json: bool) -> int:
    done = list(builds)
    failures = [built for built in done if built.error]
    counts = Counter(built.origin for built in done if not built.error)
    if as_json:
        failed = [{"what": built.label, "error": built.error} for built in failures]
        printing.print_json(
            {"compiled": counts["compiled"], "cached": counts["disk"], "failed": failed, "seconds": round(seconds, 2)}
        )
    else:
        printing.say(
            f"{counts['compiled']} compiled, {counts['disk']} in the cache already, {len(failures)} failed, "
            f"in {seconds:.1f} s"
        )
        for built in failures:
            printing.say(f"failed: {built.label}", error=True)
            printing.say_lines(f"  {built.error}", error=True)
    return 1 if failures else 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
