"""jobs: the compiles that a program's recorded needs come to, each once, with the toolchain that a worker must have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gridjit.cache.key import digest
from gridjit.commands.kernels import find_kernel
from gridjit.commands.recorded import recorded
from gridjit.commands.warm_work import Built, WarmTask, look_at, never_stored
from gridjit.compiler.key.toolchain import environment, toolchain
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.target import Target
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.needs import Need

Fields: TypeAlias = "tuple[tuple[str, str], ...]"
# Of a part's value in a message.
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One compile for a fleet, as texts: workers read them once their toolchain was compared.

    digest: differs from each other job's. need: the recorded line, for one target. key: the job's key in a cache.
    toolchain: the labelled parts that a worker must have alike: versions, settings of numba's, the processor.
    """

    digest: str
    need: str
    key: str
    toolchain: Fields

    @property
    def work(self) -> WarmTask:
        """The form of a kernel to compile; raises ConfigError if a class of its signature cannot be imported."""
        need = Need.from_line(self.need)
        return WarmTask.of(need, need.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The jobs of recorded needs, each once, and the needs that no worker can compile, with the reason for each."""

    jobs: tuple[Job, ...]
    failed: tuple[Built, ...] = ()


def plan(needs: str | os.PathLike[str], targets: Sequence[str] | None = None) -> Plan:
    """Return the jobs of the needs that GRIDJIT_RECORD=FILE recorded; the kernels' modules are imported.

    needs: the recorded file. targets: "host", or architectures like "sm_90"; None for the recorded ones. Raises
    GridjitError if the file cannot be read.

        for job in gridjit.fleet.plan("needs.jsonl", targets=["sm_90"]).jobs: ...
    """
    works, unreadable = recorded(Path(needs), targets)
    found = list(planned(works))
    failed = (one for one in found if isinstance(one, Built))
    return Plan(jobs=tuple(one for one in found if isinstance(one, Job)), failed=(*unreadable, *failed))


def planned(works: Iterable[WarmTask], *, skips_stored: bool = False) -> Iterator[Job | Built]:
    """Yield the job of each work, but none twice; else its outcome, if it fails already.

    skips_stored: whether the outcome takes the job's place if this machine's cache has the code.
    """
    seen = set()
    for work in works:
        found = _planned(work, skips_stored)
        if isinstance(found, Job):
            if found.digest in seen:
                continue
            seen.add(found.digest)
        yield found


def _planned(work: WarmTask, skips_stored: bool) -> Job | Built:
    label = str(work)
    try:
        kernel = kernel_of(work)
        look = look_at(kernel, work)
        reason = never_stored(kernel, work)
        if reason is None and look.job.private:
            reason = f"stays in each process's memory: {'; '.join(look.job.private)}"
        if reason is not None:
            return Built(label=label, error=reason, work=work)
        if skips_stored and look.stored is not None:
            return Built(label=label, origin="disk", work=work)
    except GridjitError as error:
        return Built(label=label, error=str(error), work=work)
    except Exception as error:  # whatever a user's module raises
        return Built(label=label, error=f"{type(error).__name__}: {error}", work=work)
    return _job(work, look.key, look.job.target)


def _job(work: WarmTask, key: str, target: Target) -> Job:
    facts = ((f"fact {fact.field}", repr(fact.value)) for fact in work.facts)
    return Job(
        digest=digest((("entry", "fleet job"), ("job", key), *facts)),
        need=work.to_need().to_line(),
        key=key,
        toolchain=toolchain_of(target),
    )


def kernel_of(work: WarmTask) -> Kernel:
    """Return the kernel of a work; signatures that its module declares are not compiled."""
    here = session()
    before, here.compiles_declared = here.compiles_declared, False
    try:
        return find_kernel(work.kernel)
    finally:
        here.compiles_declared = before


def toolchain_of(target: Target) -> Fields:
    """Return the labelled parts of all that makes code for a target in this process."""
    return (*environment(), *target.fields, *toolchain(target.kind))


def refusal(wanted: Fields) -> str:
    """Return why this process may not compile a job of a toolchain: the first part that differs; "" if it may."""
    parts = dict(wanted)
    kind, arch = parts["target.kind"], parts["target.arch"]
    try:
        return difference(wanted, toolchain_of(session().target(arch if kind == "ptx" else kind)))
    except GridjitError as error:
        return str(error)


def difference(wanted: Fields, there: Fields) -> str:
    """Return the first part in which a toolchain differs from a wanted one, in words; "" if none."""
    parts, theirs = dict(wanted), dict(there)
    for label in dict.fromkeys((*parts, *theirs)):
        if parts.get(label) != theirs.get(label):
            return f"{label} is {_said(theirs.get(label))} there, not {_said(parts.get(label))}"
    return ""


def _said(value: str | None) -> str:
    return "not set" if value is None else value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
