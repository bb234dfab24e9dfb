"""why: the reasons why launches are made from Python instead of machine code, in the words of a trace."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.args.handler import handler_of
from gridjit.runtime.process.arguments import place_on
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.attention import busy, chosen, recorder_of, recorders
from gridjit.runtime.queues.streams import LEGACY, stream_handle
from gridjit.runtime.traced.tracer import FIRST

if TYPE_CHECKING:
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.specializations.table import Specialization
    from gridjit.runtime.traced.tracer import Tracer

BUSY = "a stream was chosen, its stream has work, or an argument differs in more than its kind"


def first(found: Specialization, *, again: bool) -> str:
    """Return why a launch had to look for its specialization. again: later launches must look too."""
    each = [fact.field for fact in found.footprint.facts if fact.of_each_launch]
    if each:
        return f"its code depends on {', '.join(each)}, which is compared in each launch"
    if again:
        return "it runs generic code until its specialized code is ready"
    return f"{FIRST} with arguments of these kinds: {found.origin}, {found.reason}"


def traced(
    tracer: Tracer, launcher: Launcher, args: tuple[Any, ...], make: Callable[[], Ready | None], *, hooked: bool
) -> None:
    """Make a launch, and trace it. make: returns its Ready. hooked: whether there are callbacks for it."""
    learned = launcher.learned
    with tracer.launch(launcher.kernel.py_func, str(launcher.config)) as told:
        waits = not (stream_handle(launcher.stream) > LEGACY or chosen() or busy() or recorders)
        ready = make()
        told.ended = time.perf_counter()
        if ready is not None:
            told.runs(ready.found, waits=waits and ready.found.target.kind == "host", room=_room(launcher, ready))
        if not told.why:
            told.why = _learned(launcher, learned) or (
                unprepared(launcher) if ready is None else repeated(launcher, ready, args, hooked=hooked)
            )


def _room(launcher: Launcher, ready: Ready) -> int | None:
    """Return how many of a launch's blocks the device runs at once, None if it does not tell."""
    if ready.found.target.kind == "host":
        return session().settings.host_threads
    with contextlib.suppress(GridjitError):  # the launch is made
        return ready.loaded.resident_blocks(math.prod(launcher.config.blockdim), ready.sharedmem)
    return None


def _learned(launcher: Launcher, before: int) -> str:
    return "machine code learned it from this launch, and makes those that follow" if launcher.learned > before else ""


def unprepared(launcher: Launcher) -> str:
    """Return why a launch did not get to its code, or needed none."""
    if session().steps(launcher.kernel._target):
        return "GRIDJIT_HOST_STEP runs its threads as plain Python"
    return "its thread chose a stream, in which machine code made it"


def repeated(launcher: Launcher, ready: Ready, args: tuple[Any, ...], *, hooked: bool) -> str:
    """Return why a ready launch was made from Python."""
    if hooked or ready.hooks:
        return "it has callbacks that Python calls before each launch"
    if launcher.kernel.extensions:
        return "extensions prepare its arguments"
    if recorders and recorder_of(ready.loaded.device.timeline, stream_handle(launcher.stream)):
        return "it is recorded for a graph"
    if not session().settings.native_launch:
        return "GRIDJIT_NATIVE_LAUNCH=0"
    if (what := _unusual(launcher.config, ready)) is not None:
        return what
    place, names = place_on(ready.loaded.device), launcher.kernel.parameter_names
    slow = [
        f"{name} ({type(arg).__name__})"
        for name, arg, declared in zip(names, args, ready.declared, strict=True)
        if handler_of(arg).operation(arg, place, declared) is None
    ]
    if slow:
        return f"Python converts or copies {', '.join(slow)}"
    return BUSY


def _unusual(config: LaunchConfig, ready: Ready) -> str | None:
    artifact = ready.loaded.artifact
    if config.cluster is not None or config.cooperative or config.programmatic or artifact.cooperative:
        return "it is cooperative, programmatic, or has clusters"
    if artifact.metadata.get("checks"):
        return "Python looks for exceptions after each launch (debug=True)"
    if ready.loaded.driver_function is None and ready.loaded.grid_function is None:
        if ready.found.target.kind != "host":
            return "its linked code has callbacks that Python calls"
        if "prints" in artifact.resources:
            return "it prints, and Python shows the text when it ends"
        return "machine code launches a kernel from its third launch on, on x86-64"
    return None
