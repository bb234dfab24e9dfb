"""specialize: the cold path. From a job and a launch to the code that is right for it: found, or compiled once.

The guarantee is in the order: look, lock, look again; and an artifact is stored before the manifest that names its
shape.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gridjit.base.interrupts import let_through
from gridjit.base.messages import DEBUG, INFO
from gridjit.base.values import dataclass
from gridjit.cache import disk
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import note_use
from gridjit.cache.store import Store
from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.artifact import Artifact, Compiled
from gridjit.compiler.values.errors import LaunchNeededError
from gridjit.compiler.values.phases import phase, phases_text, phases_until_now
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.process.session import Session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.table import Displaced, KernelCode, Specialization
from gridjit.runtime.specialize.may_compile import check_may_compile, refuse_uncovered, why_missing, with_lines

# How many blocks have their own code in a process, per kernel and signature, with jit(specialize="auto").
_MOST_FOLDED = 2

if TYPE_CHECKING:
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.specialize.unit_shelf import UnitShelf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cold:
    """The inputs of the cold path, given by a kernel.

    form: the kernel's form that is compiled, if it has several. code: the form's code in memory, of this generation.
    compile: compiles a job under a view of its launch. let_go: makes launches look up anew the code that a
    specialization displaced. lock_timeout: seconds to wait for another's compile before compiling too. anew: ignore
    stored code, and code loaded from there. apart: neither read nor write stored code, as the compile's printed output
    is wanted.
    """

    here: Session
    store: Store
    locks: Locks
    kernel: Kernel
    form: Kernel
    code: KernelCode
    generation: int
    compile: Callable[[CompileJob, ConfigView], Compiled]
    let_go: Callable[[Displaced], None]
    lock_timeout: float = 120.0
    anew: bool = False
    apart: bool = False


def specialize(job: CompileJob, launch: Launch, cold: Cold) -> Specialization:
    """Return the specialization of job for launch, compiling it on a miss."""
    look = Look.at(cold.store, job, launch)
    if (found := look_up(look, cold)) is not None:
        return add(found, cold)
    refuse_uncovered(look, cold)
    if (found := fetch(look, cold)) is not None:
        return add(found, cold)
    if cold.here.settings.compile_server and (found := _served(look, cold)) is not None:
        _offer(look, found.artifact, cold)
        return add(found, cold)
    locks, key = _lock_for(look, cold)
    with phase("wait for others") as waiting, locks.single_flight(key, _patience(cold)):
        waiting.end()
        if (made := in_memory(job.signature, job.target, launch, cold)) is not None:
            return made
        look = look.again()
        if (found := look_up(look, cold)) is not None:
            return add(found, cold)
        return add(_made_once(look, cold, lambda: locks.end_in_vain(key)), cold)


def _asks_remotes(look: Look, cold: Cold) -> bool:
    """Return whether remote caches may have the launch's code, or be given it."""
    return bool(cold.here.settings.cache_remotes) and _looks_up(look, cold) and cold.form.cached


def _offer(look: Look, artifact: Artifact, cold: Cold) -> None:
    """Write newly compiled code to the remote caches, behind the program."""
    if _asks_remotes(look, cold):
        from gridjit.runtime.specialize.fetched import offer

        offer(look, artifact, cold.here)


def _lock_for(look: Look, cold: Cold) -> tuple[Locks, str]:
    """Return the locks and the key to wait under, for the holder whose result this launch then looks up.

    Without a look-up or a store, only this kernel in this process can hold them.
    """
    if _looks_up(look, cold) and look.key not in cold.here.private_jobs:
        return cold.locks, look.key
    return cold.here.locks(cache=False), f"{look.key}{id(cold.code):x}"


def _made_once(look: Look, cold: Cold, in_vain: Callable[[], None]) -> Specialization:
    """Return newly compiled code, or that of another machine that was compiling it, where remote caches have leases."""
    if not _asks_remotes(look, cold):
        return _made(look, cold, in_vain)
    from gridjit.runtime.specialize.fetched import led

    return led(look, cold, lambda: _made(look, cold, in_vain), lambda: fetch(look, cold))


def _made(look: Look, cold: Cold, in_vain: Callable[[], None]) -> Specialization:
    """Return newly compiled code, stored. in_vain: is called if nothing is stored, as no launch has to wait for it."""
    reason, is_stored = why_missing(look, cold), False
    check_may_compile(look.job, reason, cold)
    try:
        made, is_stored = _kept(look, *compile_now(look, reason, cold), cold)
    except LaunchNeededError as needed:
        if needed.answer is not None:
            answer = _with_reason(Compiled(artifact=needed.answer), reason, look)
            kept, is_stored = _kept(look, answer, None, cold)
            _offer(look, kept.artifact, cold)
        raise
    finally:
        if not is_stored:
            in_vain()
    _offer(look, made.artifact, cold)
    return specialization(look, made, "compiled", with_lines(reason))


def in_memory(signature: Signature, target: Target, launch: Launch, cold: Cold) -> Specialization | None:
    """Return the kernel's specialization in memory for launch, or None."""
    found = cold.code.table.match(signature, target, launch.config, launch.args)
    return None if cold.anew and found is not None and found.origin != "compiled" else found


def look_up(look: Look, cold: Cold) -> Specialization | None:
    """Return the stored specialization whose facts all hold for the launch, or None.

    Raises LaunchNeededError if the stored answer is that a launch is needed.
    """
    if not _looks_up(look, cold):
        return None
    with phase("look-up"):
        for shape, name in look.candidates():
            if (found := _checked(look, look.store.get(name))) is not None:
                note_use(look.store, look.key, shape, name, look.manifest, cold.locks)
                usable = _usable(look, found, "disk", "in the cache")
                disk.note_use(look.store, name, hit=True)
                return usable
    return None


def _looks_up(look: Look, cold: Cold) -> bool:
    """Return whether a launch may use stored code."""
    return not (look.job.private or cold.anew or cold.apart)


def fetch(look: Look, cold: Cold) -> Specialization | None:
    """Return a remote cache's code for the launch; None if none has it in time.

    Raises LaunchNeededError if the answer there is that a launch is needed.
    """
    if not _asks_remotes(look, cold):
        return None
    from gridjit.runtime.specialize.fetched import fetched

    made, where = fetched(look, cold, partial(_checked, look))
    return None if made is None else _usable(look, made, "remote", where)


def _served(look: Look, cold: Cold) -> Specialization | None:
    """Return the server's code for the launch, found as any stored code is; None if this process must compile."""
    if cold.anew or cold.apart:
        return None
    from gridjit.runtime.specialize.servable import not_served, why_here

    if why := why_here(look, cold):
        not_served(why, cold)
        return None
    with phase("compile server"):
        cold.here.call_server(look.job.target)  # it gets ready while this process imports the modules of the request
        from gridjit.runtime.specialize.served import served

    return served(look, cold, lambda: look_up(look.again(), cold), lambda: with_lines(why_missing(look, cold)))


def compile_now(look: Look, reason: str, cold: Cold) -> tuple[Compiled, UnitShelf | None]:
    """Return the job's code for the launch, compiled for a reason; the code names the reason and the job's key.

    With it comes the shelf where the compile left its callees, if it had a shelf.
    """
    from gridjit.runtime.specialize.capture import note_compile
    from gridjit.runtime.specialize.unit_shelf import shelf_for

    shelf = None if cold.apart or cold.anew else shelf_for(cold.store, look.job)
    try:
        view, made = _compiled(look, cold, shelf)
    finally:
        # Not before: an open capture could be read during the compile.
        note_compile(cold.kernel, look.launch.config)
    cold.kernel.stats.count("compiles")
    return _followed(view, _with_reason(made, reason, look)), shelf


def _compiled(look: Look, cold: Cold, shelf: UnitShelf | None) -> tuple[ConfigView, Compiled]:
    """Return a job's code, and the view of its compile.

    shelf: has callees of earlier compiles. They may be anything: if the job does not compile with them, all of it is
    compiled.
    """
    from gridjit.compiler.view.config import ConfigView, while_current
    from gridjit.compiler.view.recording import recording_of

    launch, kernel = look.launch, cold.kernel
    # A function that a program put in the compiler's place is not part of the compile: it sees the kernel.
    view = ConfigView(launch.config, launch.args, kernel if "_compile_for_args" in vars(kernel) else shown(kernel))
    recording_of(view).shelf, recording_of(view).may_fold = shelf, _may_fold(look, cold)
    try:
        return view, while_current(view, cold.compile, look.job, view)
    except Exception as error:  # an error of the user's code, in most cases, and raised again
        let_through(error)
        if shelf is None or not shelf.was_used:
            raise
    return _compiled(look, cold, None)


def _may_fold(look: Look, cold: Cold) -> bool:
    """Return whether jit(specialize="auto") may fold the launch into the code: not after two other launches."""
    known = cold.code.table.all()
    alike = (found for found in known if (found.signature, found.target) == (look.job.signature, look.job.target))
    return sum("blockdim" in (fact.field for fact in found.footprint.facts) for found in alike) < _MOST_FOLDED


def specialization(look: Look, made: Compiled, origin: str, reason: str) -> Specialization:
    """Return code, made or found, as the launch's specialization."""
    return Specialization(
        signature=look.job.signature,
        config=look.launch.config,
        artifact=made.artifact,
        origin=origin,
        milliseconds=round((time.perf_counter() - look.started) * 1e3, 2),
        reason=reason,
        phases=phases_until_now(),
        hooks=made.hooks,
        module=made.module,
    )


def add(found: Specialization, cold: Cold) -> Specialization:
    """Keep found in the kernel's memory, unless the kernel forgot all since the launch began; return it."""
    kernel = cold.kernel
    kernel.stats.note(found.origin, found.signature)
    if cold.here.tracer is not None:
        cold.here.tracer.note(found)
    if cold.generation != cold.code.generation:
        return found
    displaced = cold.code.table.add(found)
    cold.here.report(
        lambda: (
            f"{found.origin} {kernel.name}{found} in {found.milliseconds} ms: {found.reason}; "
            f"{phases_text(found.phases)}"
        ),
        level=DEBUG if found.origin == "disk" else INFO,
    )
    if cold.here.recorder is not None and not found.signature.foreign:
        from gridjit.runtime.specializations.needs import Need

        cold.here.recorder.note(Need.of(_recorded_as(kernel), found))
    if displaced:
        cold.let_go(displaced)
    return found


def _checked(look: Look, data: bytes | None) -> Compiled | None:
    """Return the artifact in stored data with its functions, if it proves right for the launch; else None."""
    artifact = None if data is None else Artifact.from_bytes(data)
    if artifact is None or not (look.is_for(artifact) and look.agrees(artifact)):
        return None
    effects = artifact.effects
    if not (effects.hooks or effects.setup or effects.teardown):
        return Compiled(artifact=artifact)
    from gridjit.runtime.devices import hooks

    callbacks = hooks.resolve(artifact.effects.hooks)
    module = hooks.resolve_module(artifact.effects)
    if callbacks is None or module is None:
        return None
    return Compiled(artifact=artifact, hooks=list(callbacks), module=module)


def _usable(look: Look, made: Compiled, origin: str, reason: str) -> Specialization:
    """Return stored code as the launch's specialization; raises the LaunchNeededError that an answer stands for."""
    if made.artifact.needs_launch:
        error = LaunchNeededError(str(made.artifact.metadata.get("error")))
        error.answer, error.is_stored = made.artifact, True
        raise error
    return specialization(look, made, origin, reason)


def note_needed(error: LaunchNeededError, signature: Signature, target: Target, cold: Cold) -> None:
    """Note, and say, that a kernel has no code for a signature without a launch."""
    kernel, found = cold.kernel, "in the cache" if error.is_stored else "found out by compiling it"
    kernel.stats.count("launches_needed")
    facts = () if error.answer is None else error.answer.footprint.facts
    if cold.here.recorder is not None and facts and not signature.foreign:
        from gridjit.runtime.specializations.needs import Need

        answer = Need(kernel=_recorded_as(kernel), signature=signature, config=None, target=str(target), facts=facts)
        cold.here.recorder.note(answer)
    where = next((f", read at {fact.where}" for fact in facts if fact.where), "")
    cold.code.needs_launch[signature, target] = f"{signature} for {target} needs a launch{where}: {found}"
    cold.here.report(
        lambda: f"needs a launch {kernel.name}{signature} for {target}{where}: {found}",
        level=DEBUG if error.is_stored else INFO,
    )


def _recorded_as(kernel: Kernel) -> str:
    return f"{kernel.py_func.__module__}:{kernel.name}"


def _patience(cold: Cold) -> float:
    """Return how many seconds to wait for another's compile."""
    from gridjit.compiler.view.config import current_view

    # A thread that compiles holds numba's lock, and the job's holder may be waiting for that: so it does not wait.
    return cold.lock_timeout if current_view() is None else 0.0


def _kept(look: Look, made: Compiled, shelf: UnitShelf | None, cold: Cold) -> tuple[Compiled, bool]:
    """Store compiled code, and the callees on its shelf; return it, and whether other launches find it.

    If it could not be stored, it comes back with the reason.
    """
    from gridjit.runtime.specialize.keep import keep

    def store() -> tuple[Artifact, str]:
        if shelf is not None:
            shelf.end()
        return keep(look, made.artifact, cold.locks)

    if cold.apart:
        return made, False
    with phase("store"):
        artifact, name = look.store.together(store)
    if artifact.private:
        cold.here.private_jobs.add(look.key)
    return dataclasses.replace(made, artifact=artifact), name != "" and look.again().stored is not None


def _with_reason(made: Compiled, reason: str, look: Look) -> Compiled:
    """Return compiled code with its job's key, its file, its launch and the reason, for other processes to tell."""
    told: dict[str, Any] = {"job": look.key, "why": reason}
    if file := look.job.file:
        told["file"] = file
    if config := look.launch.config:
        told["launch"] = {"griddim": config.griddim, "blockdim": config.blockdim, "sharedmem": config.sharedmem}
    metadata = {**made.artifact.metadata, **told}
    return dataclasses.replace(made, artifact=dataclasses.replace(made.artifact, metadata=metadata))


def _followed(view: ConfigView, made: Compiled) -> Compiled:
    """Return code compiled under view; a kept view shows, in hooks of its launches, their configuration."""
    from gridjit.runtime.launch.under_way import Hooks, launches_with

    followed = Hooks(made.hooks)
    view.follow(launches_with(followed))
    return dataclasses.replace(made, hooks=followed)


def shown(kernel: Any) -> Any:
    """Return a compile's view of its kernel."""
    from gridjit.runtime.specialize.kernel_view import KernelView

    # The same each time, as long as the kernel lives: a library may use it as a key for a kernel's data.
    return vars(kernel).setdefault("_shown", KernelView(kernel._known_as, kernel))
