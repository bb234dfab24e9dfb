"""compile_job: a job in, compiled code out. Source -> front end -> target -> artifact with its footprint."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

from gridjit.base.forking import nobody_else_ran, section
from gridjit.base.messages import say
from gridjit.base.values import dataclass
from gridjit.compiler.frontend.fold import chosen
from gridjit.compiler.hooks.description import described
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.key import toolchain
from gridjit.compiler.key.argument_classes import signature_fingerprint
from gridjit.compiler.key.extensions import covered_functions
from gridjit.compiler.key.installed import distribution_of
from gridjit.compiler.key.linked_files import callbacks_of
from gridjit.compiler.key.numba_settings import dumps
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.key.registrations import registrations
from gridjit.compiler.process.collecting import collecting_rarely, keep_freed_memory
from gridjit.compiler.process.locks import giving_back
from gridjit.compiler.recorded.dependencies import (
    Discovered,
    discovered,
    file_dependencies,
    line_dependencies,
    value_dependencies,
)
from gridjit.compiler.recorded.library_watch import LibraryWatch
from gridjit.compiler.recorded.loading import imported_by_loading
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.values.artifact import SUFFIXES, Artifact, Compiled, ModuleCallbacks
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.errors import CompileError, LaunchNeededError
from gridjit.compiler.values.footprint import PRESENCE, Effects
from gridjit.compiler.values.phases import phase, phases_until_now
from gridjit.compiler.values.target import CodeGenerator, Lowered, ObjectCode
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

# Stands for the lowered code of a kernel that needs a launch.
_NOTHING = Lowered(modules=(), entry="", exceptions={})
# How often a kernel is lowered at most, until it requires the shared memory that it was compiled with.
_ROUNDS = 4
# The instruction by which a grid waits for the grids before it: in PTX and LLVM IR, and in CUDA C++.
_WAIT, _WAIT_IN_C = "griddepcontrol.wait", b"cudaGridDependencySynchronize"
_GENERATORS = {"host": "gridjit.compiler.targets.host.generate", "ptx": "gridjit.compiler.targets.ptx.generate"}


def compile_job(job: CompileJob, view: ConfigView) -> Compiled:
    """Return the compiled job under the launch that view shows; the artifact's footprint holds each read of it.

    Raises CompileError in the user's terms: kernel, argument types, source line.
    """
    keep_freed_memory()
    return collecting_rarely(lambda: giving_back(lambda: _compile(job, view)))


def _compile(job: CompileJob, view: ConfigView) -> Compiled:
    from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions

    with phase("import"):
        load_installed_extensions()
    with phase("dependencies"):
        before = registrations(), frozenset(sys.modules) - imported_by_loading()
    with LibraryWatch(job.others) as libraries:
        made = _lowered(job, view, _reads(job))
    with phase("dependencies"):
        found = _found(job, view, made, libraries, before)
    code, folded = _generated(job, view, made)
    artifact = _artifact(job, view, made, code, _settled(job, view, made, code, found))
    metadata = (
        _metadata(job, view, made.lowered, code, folded) if made.needed is None else {"error": _said(made.needed)}
    )
    phases = phases_until_now()
    artifact.metadata.update(metadata, compile_ms=round(sum(phases.values()), 2), phases=phases)
    if made.needed is not None:
        made.needed.answer = artifact
        raise made.needed
    return Compiled(artifact=artifact, hooks=list(view.pre_launch_callbacks), module=_callbacks(made))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    """A job that was lowered, the functions of extensions that this used, and the values it took from Python.

    needed: the error of a kernel that needs a launch; nothing is lowered of it.
    """

    lowered: Lowered
    functions: tuple[Callable[..., Any], ...]
    reads: Reads
    needed: LaunchNeededError | None = None


def _reads(job: CompileJob) -> Reads:
    """Return the record of the values that a job's code takes from Python."""
    source = job.source
    return Reads(
        job.function,
        source.taken,
        lines=job.has_lines,
        is_leaf=_is_leaf,
        covered=source.functions,
        objects=source.objects,
    )


def _found(
    job: CompileJob,
    view: ConfigView,
    made: _Made,
    libraries: LibraryWatch,
    before: tuple[Sequence[Registration], Collection[str]],
) -> Discovered:
    """Return the dependencies that a compile met, less values and files, which are known when code is complete.

    before: the registrations and loaded modules before it.
    """
    found = discovered(made.functions, *before)
    of_libraries, unseen = libraries.found(made.functions, job, made.reads.met.values())
    places = line_dependencies(recording_of(view).places, job)
    made.reads.settle_functions(
        lambda: (*covered_functions(made.functions), *signature_fingerprint(job.signature).functions)
    )
    return Discovered(
        dependencies=(*found.dependencies, *of_libraries, *places.dependencies),
        private=(*found.private, *places.private, *unseen),
    )


def _generated(job: CompileJob, view: ConfigView, made: _Made) -> tuple[ObjectCode, str]:
    """Return the code of a lowered job, and the fields folded into it; no code for a kernel that needs a launch."""
    if made.needed is not None:
        view.read(PRESENCE)  # so that no launch agrees
        return ObjectCode(image=b"", suffix=SUFFIXES[job.target.kind], entry="", resources={}), ""
    view.settle()
    target = generator(job.target.kind)
    with section():
        code, folded = chosen(
            job.options, job.target.kind, made.lowered, view, lambda one: target.generate(one, job.target, job.options)
        )
    _show_assembly(job, code)
    return code, folded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """An artifact's dependencies and effects, and why it stays in this process, if it does."""

    dependencies: tuple[Dependency, ...]
    effects: Effects
    private: tuple[str, ...]


def _settled(job: CompileJob, view: ConfigView, made: _Made, code: ObjectCode, found: Discovered) -> _Settled:
    with phase("dependencies"):
        files = file_dependencies(made.lowered.linked, job.linked, code.consumed)
        if made.needed is None:
            effects, unrepeatable = _asked_for(view, _callbacks(made))
        else:
            effects, unrepeatable = Effects(), (*recording_of(view).private,)
        overtaken = _overtaken(job, code)
        if overtaken and (shelf := recording_of(view).shelf) is not None:
            shelf.leave_nothing()
        reads = made.reads
        values = value_dependencies(reads)
        reasons = (
            *job.private,
            *found.private,
            *unrepeatable,
            *reads.changed(),
            *reads.private,
            *_unseen(code),
            *overtaken,
        )
    return _Settled(
        dependencies=(*values, *found.dependencies, *files),
        effects=effects,
        private=tuple(dict.fromkeys(reasons)),
    )


def _callbacks(made: _Made) -> ModuleCallbacks:
    setup, teardown = callbacks_of(made.lowered.linked)
    return ModuleCallbacks(setup=setup, teardown=teardown)


def _said(needed: LaunchNeededError) -> str:
    """Return an error's text without places, which may be others when it is read."""
    if (diagnosis := needed.diagnosis) is None:
        return str(needed)
    sentence = str(dataclasses.replace(diagnosis, steps=(), advice="")).strip()
    return f"{sentence}\n\n{diagnosis.advice}".strip()


def _artifact(job: CompileJob, view: ConfigView, made: _Made, code: ObjectCode, settled: _Settled) -> Artifact:
    """Return a job's artifact, less its metadata."""
    return Artifact(
        target=job.target,
        image=code.image,
        suffix=code.suffix,
        entry=code.entry,
        kernel=job.kernel,
        signature=str(job.signature),
        parameters=job.signature.codes,
        resources=code.resources,
        exceptions=made.lowered.exceptions,
        footprint=view.footprint,
        effects=settled.effects,
        dependencies=settled.dependencies,
        cooperative=made.lowered.cooperative,
        metadata={},
        assembly=code.assembly,
        private=settled.private,
    )


def _show_assembly(job: CompileJob, code: ObjectCode) -> None:
    """Print the assembly, where numba's settings ask for it."""
    if code.assembly and "DUMP_ASSEMBLY" in dumps():
        title = f"ASSEMBLY {job.function.__qualname__}".center(80, "-")
        say("\n".join((title, code.assembly, "=" * 80)), sys.stdout)


def _metadata(job: CompileJob, view: ConfigView, lowered: Lowered, code: ObjectCode, folded: str) -> dict[str, Any]:
    """Return the metadata of an artifact for launches and for people, besides its dependencies."""
    return {
        "launch_config_sensitive": view.is_kernel_launch_config_sensitive(),
        "shared_memory_carveout": job.options.shared_memory_carveout,
        **({"waits_for_grids": True} if _waits_for_grids(lowered) else {}),
        **({"waits": {str(number): place for number, place in code.waits.items()}} if code.waits else {}),
        **({"reused": list(lowered.reused)} if lowered.reused else {}),
        **({"lines": True} if job.options.lineinfo else {}),
        **({"folded": folded} if folded else {}),
        **({"generator": code.generator} if code.generator else {}),
        **({"checks": _checks(job, code)} if job.options.checks else {}),
        **({"tier": _tier(job), "inexact": code.inexact} if job.options.tiered else {}),
    }


def _checks(job: CompileJob, code: ObjectCode) -> dict[str, Any]:
    """Return the metadata of checked code: places, which parameters are arrays, and which it writes to."""
    from gridjit.compiler.targets.host.analysis.pointers import arrays_in

    return {
        "places": {str(number): place.as_json() for number, place in code.places.items()},
        "arrays": [list(one) for one in arrays_in(job.signature)],
        "writes": None if code.writes is None else sorted(code.writes),
        "own": {str(number): own.as_json() for number, own in code.own.items()},
    }


def _asked_for(view: ConfigView, module: ModuleCallbacks) -> tuple[Effects, tuple[str, ...]]:
    """Return the effects asked for through the view and by linked code, and why some keep the result private."""
    effects, reasons = view.asked_for()
    setup, no_setup = described("setup callback", module.setup)
    teardown, no_teardown = described("teardown callback", module.teardown)
    return dataclasses.replace(effects, setup=setup, teardown=teardown), (*reasons, *no_setup, *no_teardown)


def _lowered(job: CompileJob, view: ConfigView, reads: Reads) -> _Made:
    """Return a job lowered; it is lowered again if it read its shared memory as a constant before that was raised."""
    with phase("import"):
        from gridjit.compiler.frontend.lower import lower

    for _ in range(_ROUNDS):
        if job.marks:
            recording_of(view).mark(job.marks)
        try:
            lowered, functions = lower(job.function, job.signature, job.options, job.target, job.linked, view, reads)
        except LaunchNeededError as error:
            return _Made(lowered=_NOTHING, functions=error.functions, reads=reads, needed=error)
        if not view.begin_again():
            return _Made(lowered=lowered, functions=functions, reads=reads)
    raise CompileError(
        f"{job.kernel}{job.signature}: its compilation requires more shared memory each time gridjit.static.sharedmem "
        f"includes what it required before; this did not settle in {_ROUNDS} compiles"
    )


def _is_leaf(module: str) -> bool:
    """Return whether a module counts as a whole: it is a library's, or an installed distribution's."""
    return is_library(module) or distribution_of(module) is not None


def generator(kind: str) -> CodeGenerator:
    """Return the code generator for a kind of target; raises CompileError if there is none."""
    if kind not in _GENERATORS:
        raise CompileError(f"no target {kind!r}; targets are {', '.join(_GENERATORS)}")
    with phase("import"):
        return cast(CodeGenerator, importlib.import_module(_GENERATORS[kind]))


def _tier(job: CompileJob) -> str:
    """Return which of a tiered kernel's two forms a job is: with fields of the launch folded into it, or without."""
    return "specialized" if job.options.specialize else "generic"


def _waits_for_grids(lowered: Lowered) -> bool:
    """Return whether the code, or a file linked to it, has `griddepcontrol.wait`."""
    said = any(_WAIT in module for module in lowered.modules)
    return said or any(word in file.data for file in lowered.linked for word in (_WAIT.encode(), _WAIT_IN_C))


def _unseen(code: ObjectCode) -> tuple[str, ...]:
    return tuple(reason for file in code.consumed for reason in file.unseen)


def _overtaken(job: CompileJob, code: ObjectCode) -> tuple[str, ...]:
    """Return a sentence for each change since the job was made: the compile may have seen it, the key has not.

    An object of installed code counts as it was if this compile alone can have changed it: another would do the same.
    """
    objects = job.source.objects if nobody_else_ran(job.others) else None
    with phase("key"):
        now = make_job(job.function, job.signature, job.options, job.target, job.marks, objects)
    changed = sorted({label for label, _ in set(now.fields) ^ set(job.fields)})
    headers = any(file.kind == "cu" for file in (*job.linked, *code.consumed))
    late = toolchain.overtaken(job.target.kind, lines=job.has_lines, headers=headers)
    return (
        *(f"{label} changed while the kernel was compiled" for label in changed),
        *(f"{label} was installed or changed while this process ran, which may have loaded another" for label in late),
    )
