"""`gridjit warm`: compile a program's kernels in advance, in parallel, for GPUs that need not be present."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import Progress

from gridjit.base.printable import printable
from gridjit.commands import printing
from gridjit.commands.inventory import open_cache
from gridjit.commands.kernels import find_kernels
from gridjit.commands.progress import is_wanted, left_text, shown
from gridjit.commands.recorded import recorded
from gridjit.commands.warm_work import Built, WarmTask
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.environment.settings import usable_cores
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.pool.pool import ProcessPool, Task
from gridjit.runtime.process.remote import opened_remote
from gridjit.runtime.process.session import session

_BUILD = "gridjit.commands.warm_work:build"


def run(given: argparse.Namespace) -> int:
    """Build everything asked for; returns 0 if all of it is in the cache now, else 1."""
    if not session().settings.cache:
        raise ConfigError("GRIDJIT_CACHE turns the cache off: nothing would be kept")
    try:
        os.getcwd()  # where processes begin
    except FileNotFoundError:
        raise GridjitError("the current folder is gone: change to one that exists") from None
    open_cache()  # before minutes of compiles for a folder that is not used
    started = time.perf_counter()
    said = _say_unused()
    if given.on:
        return _run_on(given, started)
    works, unreadable = recorded(given.file, given.target) if given.file else (list(asked(given)), [])
    if given.kernels and not works:
        raise ConfigError(f"no kernel of {', '.join(given.kernels)} declares a signature: give one with --signature")
    builds = unreadable + build_all(works, given.jobs or usable_cores(), quiet=not is_wanted(given))
    kept = map(_kept, builds)
    return _report(kept, time.perf_counter() - started, as_json=given.json, said=said)


def _kept(built: Built) -> Built:
    """Return the outcome of a work, which failed if its code had to make room for that of later works."""
    if not built.key or session().store().find(built.key) is not None:
        return built
    folder = session().settings.cache_dir
    way_on = "set GRIDJIT_CACHE_SIZE and GRIDJIT_CACHE_ENTRIES to more"
    return replace(built, origin="", error=f"the cache folder {folder} has no room for all code: {way_on}")


def _say_unused() -> list[str]:
    """Say which remote caches cannot be used, and return why; the processes that compile have nobody to tell."""
    here, said = session(), list[str]()
    for address in here.settings.cache_remotes:
        if why := opened_remote(address, here.settings, here.secret)[1]:
            printing.say_lines(f"gridjit: {why}. Nothing is read from it or written to it", error=True)
            said.append(why)
    return said


def _run_on(given: argparse.Namespace, started: float) -> int:
    """Have an engine's workers build what a run recorded; returns 0 if all of it is in the cache now, else 1."""
    from gridjit.fleet.engines import warm_on

    with shown(Console(stderr=True, quiet=not is_wanted(given))) as progress:
        line = progress.add_task(given.on, total=None, left="")
        over = itertools.count(1)

        def told(built: Built, total: int) -> None:
            left = left_text(time.perf_counter() - started, number := next(over), total)
            progress.update(line, completed=number, total=total, description=printable(built.label), left=left)

        done, reports = warm_on(given.on, given.file, given.target, told)
    if not reports:
        return 0  # mpirun ends all processes with the first that fails: the one that reports tells
    status = _report(done.builds, time.perf_counter() - started, as_json=given.json, notes=done.notes)
    for note in () if given.json else done.notes:
        printing.say_lines(f"gridjit: {note}", error=True)
    return status


def asked(given: argparse.Namespace) -> Iterator[WarmTask]:
    """Yield the work that the command line describes: every kernel, signature, launch and target."""
    configs: list[LaunchConfig | None] = [*given.config] or [None]
    targets = given.target or [None]
    for name, kernel in _kernels(given.kernels):
        signatures = given.signature or [*kernel.declared, *kernel.signatures]
        if not signatures and name in given.kernels:
            raise ConfigError(f"{name} declares no signature: give one with --signature")
        for signature, config, target in itertools.product(dict.fromkeys(signatures), configs, targets):
            yield WarmTask(kernel=name, signature=signature, config=config, target=target)


def _kernels(names: Sequence[str]) -> list[tuple[str, Kernel]]:
    """Return the kernels of the names. Declarations of their modules are compiled later, by the compiling processes."""
    here = session()
    before, here.compiles_declared = here.compiles_declared, False
    try:
        return [found for name in names for found in find_kernels(name).items()]
    finally:
        here.compiles_declared = before


def build_all(works: Sequence[WarmTask], processes: int, *, quiet: bool) -> list[Built]:
    """Build all works in processes of their own and return the result of each, in the order of works."""
    if not works:
        return []
    pool = ProcessPool(session().settings, min(processes, len(works)))
    try:
        with shown(Console(stderr=True, quiet=quiet)) as progress:
            tasks = [(work, pool.submit(_BUILD, work)) for work in works]
            follow(pool, tasks, progress)
    finally:
        pool.end()  # Ctrl-C ends what is being compiled, and nothing else is begun
    return [_outcome(work, task) for work, task in tasks]


def follow(
    pool: ProcessPool,
    tasks: Sequence[tuple[WarmTask, Task]],
    progress: Progress,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Wait until all tasks are over, and show it."""
    started, line = clock(), progress.add_task("starting", total=len(tasks), left="")
    while (over := sum(task.is_over for _, task in tasks)) < len(tasks):
        names = dict.fromkeys(work.kernel for work, task in tasks if task.begun and not task.is_over)
        said = printable(", ".join(names) or "starting")
        progress.update(line, completed=over, description=said, left=left_text(clock() - started, over, len(tasks)))
        pool.turn()


def _outcome(work: WarmTask, task: Task) -> Built:
    built: Built = Built(label=str(work), error=task.lost) if task.result is None else task.result
    return replace(built, work=work)


def _report(
    builds: Iterable[Built],
    seconds: float,
    *,
    as_json: bool,
    notes: Sequence[str] | None = None,
    said: Sequence[str] = (),
) -> int:
    """Print the outcomes; said: what remote caches are known to lack. Returns 0, or 1 if something failed."""
    done = list(builds)
    failures = [built for built in done if built.error]
    counts = Counter(built.origin for built in done if not built.error)
    needed = sum(built.needs_launch for built in done)
    unwritten = [*dict.fromkeys(why for built in done for why in built.unwritten)]
    # One of a kind: refusals name their entries.
    unread = {why.partition("GET ")[0]: why for built in done for why in built.unread if why not in (*unwritten, *said)}
    if as_json:
        failed = [built.as_dict() for built in failures]
        printing.print_json(
            {"compiled": counts["compiled"], "cached": counts["disk"], "remote": counts["remote"]}
            | {"failed": failed, "needs_launch": needed, "unwritten": unwritten, "seconds": round(seconds, 2)}
            | ({} if notes is None else {"notes": [*notes]})
        )
    else:
        printing.say(
            f"{counts['compiled']} compiled, {counts['disk']} in the cache already, "
            f"{f'{remotely} from a remote cache, ' if (remotely := counts['remote']) else ''}{len(failures)} failed"
            f"{f' ({needed} for want of a launch)' if needed else ''}, "
            f"in {seconds:.1f} s"
        )
        for why in unread.values():
            printing.say_lines(f"gridjit: {why}", error=True)
        for why in unwritten:
            printing.say_lines(f"not all is written: {why}", error=True)
        for built in failures:
            printing.say(f"failed: {built.label}", error=True)
            printing.say_lines(f"  {built.error}", error=True)
    return 1 if failures or unwritten else 0
