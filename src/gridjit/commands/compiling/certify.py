"""`gridjit certify`: the specializations that a program can need, the missing ones, and the reason for each.

Every recorded need, declared signature and declared launch is looked up as a launch would; nothing is compiled here.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gridjit import __version__
from gridjit.base import reading
from gridjit.commands import printing
from gridjit.commands.compiling.certify_page import show
from gridjit.commands.compiling.warm import asked, build_all
from gridjit.commands.kernels import find_kernel
from gridjit.commands.progress import is_wanted, steps
from gridjit.commands.recorded import recorded
from gridjit.commands.warm_work import WarmTask
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.source.code_place import shown as with_lines
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import WITHOUT_LAUNCH, ConfigError, GridjitError
from gridjit.compiler.values.footprint import FIELDS, PRESENCE, Fact
from gridjit.compiler.values.launch_config import LaunchConfig, declared_launches
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.environment.settings import usable_cores
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations import explain
from gridjit.runtime.specializations.certificate import (
    DECLARED,
    RECORDED,
    Certificate,
    CertifiedCode,
    CertifiedKernel,
)
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.table import Specializations
from gridjit.runtime.specialize.fetched import pulled

Launches = Mapping[str, tuple[LaunchConfig, ...]]
_DECLARE = "declare launches, jit(launches=[...]), or record a run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A need for code: a task that would make it, the kernel, its signature and target, and the need's source."""

    task: WarmTask
    kernel: Kernel
    signature: Signature
    target: Target
    source: str

    @property
    def group(self) -> tuple[str, Signature, str]:
        """The kernel, signature and target."""
        return _name(self.kernel), self.signature, str(self.target)

    @property
    def known(self) -> tuple[Fact, ...]:
        """The facts about arguments that a run read."""
        return tuple(fact for fact in self.task.facts if fact.about_argument)

    def for_launch(self, config: LaunchConfig) -> Demand:
        """Return the demand of a declared launch with the same arguments."""
        return replace(self, task=replace(self.task, config=config), source=DECLARED)

    @property
    def launch(self) -> Launch:
        """The launch that needs the code; None for its configuration if nothing is launched."""
        config = self.task.config
        return Launch(config=config, args=None if config is None else (), known=self.known)


class _Stored:
    """The stored results of a kernel for a signature and target: read once, however many launches look for code."""

    def __init__(self) -> None:
        self._looks: dict[bool, Look] = {}
        self._facts: dict[str, tuple[Fact, ...] | None] = {}

    def look(self, demand: Demand) -> Look:
        """Return a look of a demand's launch. A tiered kernel has code for launches and code ahead of them."""
        launched = demand.task.config is not None
        if launched not in self._looks:
            job = demand.kernel.form_for(demand.task.config).job_for(demand.signature, demand.target)
            self._looks[launched] = Look.at(session().store(), job, demand.launch)
        return self._looks[launched].for_launch(demand.launch)

    def facts(self, look: Look, name: str) -> tuple[Fact, ...] | None:
        """Return the facts of the artifact of a name; None if it is damaged."""
        if name not in self._facts:
            artifact = Artifact.from_bytes(look.store.get(name) or b"")
            self._facts[name] = None if artifact is None else artifact.footprint.facts
        return self._facts[name]


@dataclass(slots=True, kw_only=True)
class _Findings:
    """The findings of one search. missing: tasks that would make the missing code; toolchains: by target."""

    kernels: dict[tuple[str, tuple[str, ...], str, str], dict[object, CertifiedCode]] = field(default_factory=dict)
    missing: list[WarmTask] = field(default_factory=list)
    toolchains: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def add(self, demand: Demand, look: Look, code: CertifiedCode) -> bool:
        """Add a specialization of a demand and return True, or add its source to the specialization that is there."""
        name, signature, target = demand.group
        self.toolchains.setdefault(target, look.job.toolchain)
        found = self.kernels.setdefault((name, tuple(map(str, signature.arguments)), target, look.key), {})
        known = found.setdefault((code.artifact, code.facts), code)
        found[code.artifact, code.facts] = replace(known, sources=tuple(sorted({*known.sources, *code.sources})))
        return known is code


def run(given: argparse.Namespace) -> int:
    """Print and write the certificate; returns 0 if it is complete, else 1."""
    if not session().settings.cache:
        raise ConfigError("GRIDJIT_CACHE turns the cache off: nothing is stored that a certificate could be about")
    demands, unknown = demanded(given)
    launches = _launches_of(given.launches, {name for one in demands for name in (one.task.kernel, _name(one.kernel))})
    found = search(demands, launches, given)
    if given.fill:
        found = _filled(found, demands, launches, given)
    made = _certificate(found, unknown)
    if given.output is not None:
        printing.write_file(given.output, made.to_text(), "--output")
    if given.json:
        printing.print_json(made.as_json())
    else:
        show(made)
    return 0 if made.is_complete else 1


def demanded(given: argparse.Namespace) -> tuple[list[Demand], list[tuple[str, str]]]:
    """Return the demands of the command line, and the needs that could not be read, with their errors."""
    unknown: list[tuple[str, str]] = []
    here = session()
    before, here.compiles_declared = here.compiles_declared, False  # a module's declarations are looked up, too
    try:
        tasks = _tasks(given, unknown)
        demands = [one for task, source in tasks if (one := _demand(task, source, unknown)) is not None]
    finally:
        here.compiles_declared = before
    if not demands and not unknown:
        raise GridjitError(f"{', '.join(map(str, given.files))}: nothing is recorded there")
    return demands, unknown


def _tasks(given: argparse.Namespace, unknown: list[tuple[str, str]]) -> Iterator[tuple[WarmTask, str]]:
    for file in given.files:
        works, failures = recorded(file, given.target)
        unknown += [(built.label, built.error) for built in failures]
        yield from ((work, RECORDED) for work in works)
    yield from ((task, DECLARED) for task in (asked(given) if given.kernels else ()))


def _demand(task: WarmTask, source: str, unknown: list[tuple[str, str]]) -> Demand | None:
    """Return the demand of a task; if its kernel or target is not to be had, note the error and return None."""
    try:
        kernel = find_kernel(task.kernel)
        target = kernel.target_for(task.target)
    except GridjitError as error:
        unknown.append((str(task), str(error)))
        return None
    signature = task.signature if isinstance(task.signature, Signature) else parse_signature(task.signature)
    return Demand(task=task, kernel=kernel, signature=signature, target=target, source=source)


def search(
    demands: Sequence[Demand],
    launches: Launches,
    given: argparse.Namespace,
    errors: Mapping[WarmTask, str] | None = None,
) -> _Findings:
    """Return the stored and the missing code of demands, and of the declared launches of their kernels.

    errors: of tasks that were tried in vain.
    """
    found = _Findings()
    groups: dict[tuple[str, Signature, str], list[Demand]] = {}
    for one in demands:
        groups.setdefault(one.group, []).append(one)
    with steps(given, "looking up", len(groups)) as step:
        for (name, _, _), group in groups.items():
            step(name)
            _search_group(group, launches, found, errors or {})
    return found


def _search_group(
    group: Sequence[Demand], launches: Launches, found: _Findings, errors: Mapping[WarmTask, str]
) -> None:
    fields = {fact.field for one in group for fact in one.task.facts if fact.field in FIELDS}
    stored, serves_launches = _Stored(), False
    for one in itertools.chain(group, _of_launches(group, launches)):
        look = stored.look(one)
        code = _stored_code(one, look, stored) or _missing_code(one, look, fields, errors)
        serves_launches = serves_launches or code.serves_launches
        if found.add(one, look, code) and code.artifact is None:
            found.missing.append(one.task)
    if not serves_launches and any(one.source == DECLARED for one in group):
        facts = (Fact(field=PRESENCE, value=True),)
        why = f"{WITHOUT_LAUNCH}: {_DECLARE}"
        found.add(one, look, CertifiedCode(facts=facts, sources=(one.source,), why=why))


def _of_launches(group: Sequence[Demand], launches: Launches) -> Iterator[Demand]:
    """Yield a group's demands of declared launches, each with the arguments of every run that was recorded."""
    kernel = group[0].kernel
    declared = (*kernel.launches, *launches.get(_name(kernel), ()), *launches.get(group[0].task.kernel, ()))
    of_each = {one.known: one for one in group}.values()
    for config, one in itertools.product(dict.fromkeys(declared), of_each):
        yield one.for_launch(config)


def _stored_code(demand: Demand, look: Look, stored: _Stored) -> CertifiedCode | None:
    name = stored_name(look) if demand.kernel.cached else None
    if name is None or (facts := stored.facts(look, name)) is None:
        return None
    return CertifiedCode(facts=facts, sources=(demand.source,), artifact=name, launch=_words(demand))


def _missing_code(demand: Demand, look: Look, fields: set[str], errors: Mapping[WarmTask, str]) -> CertifiedCode:
    """Return a demand's code with the reason for which it is missing.

    fields: fields of the launch that the kernel's compiles read in a run.
    """
    facts = demand.known
    if demand.task.config is not None:
        read = sorted(fields.union(*(shape.facts for shape in look.manifest.shapes)) & FIELDS.keys())
        facts = (*(Fact(field=one, value=look.launch.value(one)) for one in read), *facts)
    why = errors.get(demand.task) or _why(demand, look)
    return CertifiedCode(facts=facts, sources=(demand.source,), launch=_words(demand), why=why)


def _words(demand: Demand) -> str | None:
    return None if demand.task.config is None else str(demand.task.config)


def stored_name(look: Look) -> str | None:
    """Return the name of a launch's code where the program will look for it, or None.

    It may be in the cache folder, in bases, or in a remote cache, from which it is put into the folder.
    """
    return look.stored or pulled(look, session())


def _why(demand: Demand, look: Look) -> str:
    """Return why code is missing."""
    if not demand.kernel.cached:
        return "the kernel is made with jit(cache=False)"
    if look.job.private:
        return f"it stays in each process's memory: {'; '.join(look.job.private)}"
    reason = explain.reason(Specializations(), look)
    return "never compiled" if reason == explain.FIRST_USE else with_lines(reason)


def _filled(found: _Findings, demands: Sequence[Demand], launches: Launches, given: argparse.Namespace) -> _Findings:
    """Compile the missing code and search again, until nothing is missing or was not tried.

    Newly compiled code may tell of facts that nobody knew of: then more launches are found to be missing.
    """
    errors: dict[WarmTask, str] = {}
    while todo := [task for task in found.missing if task not in errors]:
        for built in build_all(todo, given.jobs or usable_cores(), quiet=not is_wanted(given)):
            if built.work is not None:
                errors[built.work] = "" if built.needs_launch else built.error
        found = search(demands, launches, given, errors)
    return found


def _certificate(found: _Findings, unknown: Iterable[tuple[str, str]]) -> Certificate:
    kernels = (
        CertifiedKernel(
            kernel=name, signature=signature, target=target, key=key, code=tuple(sorted(code.values(), key=_order))
        )
        for (name, signature, target, key), code in sorted(found.kernels.items())
    )
    return Certificate(
        kernels=tuple(kernels),
        gridjit=__version__,
        toolchains=tuple(sorted(found.toolchains.items())),
        unknown=tuple(sorted(unknown)),
    )


def _order(code: CertifiedCode) -> tuple[Any, ...]:
    return tuple((fact.field, str(type(fact.value)), fact.value) for fact in code.facts), code.artifact or ""


def _launches_of(file: Path | None, known: set[str]) -> Launches:
    """Return the launches of a file by kernel; known: the names of the kernels that the certificate is about."""
    if file is None:
        return {}
    try:
        given = reading.parse(file.read_bytes())
    except OSError as error:
        raise GridjitError(f"--launches {file} cannot be read: {error.strerror}") from None
    except reading.Unreadable as error:
        raise ConfigError(f"--launches {file}: {error}") from None
    if not isinstance(given, dict):
        raise ConfigError(
            f'--launches {file}: give launches by kernel: {{"module:kernel": [{{"grid": 8, "block": 64}}]}}'
        )
    if lost := sorted(given.keys() - known):
        raise ConfigError(
            f"--launches {file}: {lost[0]} is neither recorded nor given; known: {', '.join(sorted(known))}"
        )
    return {name: declared_launches(f"--launches {file}: {name}", some) for name, some in given.items()}


def _name(kernel: Kernel) -> str:
    """Return a kernel's name as programs record it."""
    return f"{kernel.py_func.__module__}:{kernel.name}"
