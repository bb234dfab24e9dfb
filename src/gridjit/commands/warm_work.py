"""The work of a process of `gridjit warm`: import a kernel, compile one form of it, and see that it is in the cache."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from gridjit.commands.kernels import find_kernel
from gridjit.compiler.values.errors import GridjitError, LaunchNeededError
from gridjit.compiler.values.footprint import PRESENCE, Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.needs import Need

# Of an error, which may quote a user's whole source.
_MOST_TEXT = 8000
# For which entries of remote caches may take to be written.
_WRITING_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmTask:
    """One form of a kernel ("module:kernel"); target: None for this machine's own; facts: the facts that a run read."""

    kernel: str
    signature: str | Signature
    config: LaunchConfig | None
    target: str | None
    facts: tuple[Fact, ...] = ()

    @classmethod
    def of(cls, need: Need, target: str) -> WarmTask:
        """Return the work of a recorded need, for a target."""
        return cls(kernel=need.kernel, signature=need.signature, config=need.config, target=target, facts=need.facts)

    def to_need(self) -> Need:
        """Return the need that is recorded for it; only for a work with a target and a read signature."""
        assert isinstance(self.signature, Signature) and self.target is not None
        return Need(
            kernel=self.kernel, signature=self.signature, config=self.config, target=self.target, facts=self.facts
        )

    def __str__(self) -> str:
        launch = f", {self.config}" if self.config else ""
        return f"{self.kernel} {self.signature} for {self.target or 'this machine'}{launch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The outcome of a work: where its code came from ("compiled", "disk", "remote"), or why the cache has none.

    needs_launch: whether it compiles for a launch only. unwritten, unread: why remote caches were not written to, or
    not asked. work: what it was, None for a line that could not be read. key: the name of the stored code.
    """

    label: str
    origin: str = ""
    error: str = ""
    needs_launch: bool = False
    unwritten: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    work: WarmTask | None = None
    key: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return a failure as plain JSON values; the kernel is None where a recorded line could not be read."""
        known = {"what": self.label, "error": self.error, "kernel": None, "signature": None, "config": None}
        if (work := self.work) is None:
            return {**known, "target": None}
        config = None if work.config is None else asdict(work.config)
        told = {"kernel": work.kernel, "signature": str(work.signature), "config": config, "target": work.target}
        return known | told


def build(work: WarmTask) -> Built:
    """Compile a work, if it is not in a cache, and return the outcome once remote caches have the code, too."""
    session().asks_remotes = True  # nobody asks for this process
    built = _built(work)
    unwritten = _unwritten()
    built = built if len(built.error) < _MOST_TEXT else replace(built, error=f"{built.error[:_MOST_TEXT]} ...")
    tier = session().remote
    unread = tuple(remote.breaker.why for remote in (tier.remotes if tier else ()) if remote.breaker.why)
    return replace(built, unwritten=unwritten, unread=unread)


def _unwritten() -> tuple[str, ...]:
    """Wait until remote caches have the code, and return why some have not."""
    if (tier := session().remote) is None:
        return ()
    is_over = tier.flush(_WRITING_S)
    late = "" if is_over else f"not written within {_WRITING_S:.0f} s"
    return tuple(why for remote in tier.remotes if remote.writes and (why := remote.writing.why or late))


def _built(work: WarmTask) -> Built:
    label = str(work)
    try:
        kernel = find_kernel(work.kernel)
        if (reason := never_stored(kernel, work)) is not None:
            return Built(label=label, error=reason)
        before = kernel.stats.compiles
        artifact = kernel.compile(work.signature, work.config, work.target)
        _unwritten()  # in the cache folder, too
        if artifact.private:
            return Built(label=label, error=f"stays in each process's memory: {'; '.join(artifact.private)}")
        if (key := look_at(kernel, work).stored) is None:
            lost = f"the cache folder {session().settings.cache_dir} did not keep it"
            return Built(label=label, error=getattr(session().store().layers[0], "fault", "") or lost)
    except LaunchNeededError as error:
        # In a recorded run, a declared signature needed a launch: the answer is stored, and that was all it needed.
        if any(fact.field == PRESENCE for fact in work.facts) and look_at(kernel, work).stored:
            return Built(label=label, origin="disk" if error.is_stored else "compiled")
        return Built(label=label, error=str(error), needs_launch=True)
    except GridjitError as error:
        return Built(label=label, error=str(error))
    except Exception as error:  # whatever a user's module or a compiler raises: the others are built all the same
        return Built(label=label, error=f"{type(error).__name__}: {error}")
    found = "remote" if getattr(artifact, "origin", "") == "remote" else "disk"
    return Built(label=label, origin="compiled" if kernel.stats.compiles > before else found, key=key)


def never_stored(kernel: Kernel, work: WarmTask) -> str | None:
    """Return why a work's result cannot be cached, as far as that is known without compiling it."""
    if not kernel.cached:
        return "the kernel is made with jit(cache=False)"
    if argument := next((fact.field for fact in work.facts if fact.about_argument), None):
        return f"its compile read the value of {argument}, which only a launch has"
    return None


def look_at(kernel: Kernel, work: WarmTask) -> Look:
    """Return a look at the stored results of a work's job, which is made anew."""
    from gridjit.compiler.frontend.bindings.types import parse_signature

    job = kernel.form_for(work.config).job_for(parse_signature(work.signature), kernel.target_for(work.target))
    return Look.at(session().store(), job, Launch(config=work.config))
