"""compile_job: a job in, compiled code out. Source -> front end -> target -> artifact with its footprint."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, cast

from gridjit.base.forking import nobody_else_ran, section
from gridjit.base.messages import say
from gridjit.compiler.frontend.fold import chosen
from gridjit.compiler.hooks.description import described
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.key import toolchain
from gridjit.compiler.key.argument_classes import signature_fingerprint
from gridjit.compiler.key.extensions import covered_functions
from gridjit.compiler.key.installed import distribution_of
from gridjit.compiler.key.linked_files import callbacks_of
from gridjit.compiler.key.numba_settings import dumps
from gridjit.compiler.key.registrations import registrations
from gridjit.compiler.process.collecting import collecting_rarely, keep_freed_memory
from gridjit.compiler.process.locks import giving_back
from gridjit.compiler.recorded.dependencies import (
    discovered,
    file_dependencies,
    line_dependencies,
    value_dependencies,
)
from gridjit.compiler.recorded.library_watch import LibraryWatch
from gridjit.compiler.recorded.loaded_settings import imported_by_loading
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.values.artifact import SUFFIXES, Artifact, Compiled, ModuleCallbacks
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.errors import CompileError, LaunchNeededError
from gridjit.compiler.values.footprint import PRESENCE, Effects, Footprint
from gridjit.compiler.values.phases import phase, phases_until_now
from gridjit.compiler.values.target import CodeGenerator, Lowered, ObjectCode
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

# What is lowered of a kernel that needs a launch.
_NOTHING = Lowered(modules=(), entry="", exceptions={})
# How often a kernel is lowered at most, until it requires the shared memory that it was compiled with.
_ROUNDS = 4
# What makes a grid wait for those that it depends on: in PTX and LLVM IR, and in CUDA C++.
_WAIT, _WAIT_IN_C = "griddepcontrol.wait", b"cudaGridDependencySynchronize"
_GENERATORS = {"host": "gridjit.compiler.targets.host.generate", "ptx": "gridjit.compiler.targets.ptx.generate"}


def compile_job(job: CompileJob, view: ConfigView) -> Compiled:
    """Return what job compiles to under the launch that view shows; the artifact's footprint is what was read of it.

    Raises CompileError in the user's terms: kernel, argument types, source line.
    """
    keep_freed_memory()
    return collecting_rarely(lambda: giving_back(lambda: _compile(job, view)))


def _compile(job: CompileJob, view: ConfigView) -> Compiled:
    from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions

    started = time.perf_counter()
    with phase("import"):
        load_installed_extensions()
    with phase("dependencies"):
        registered, loaded = registrations(), frozenset(sys.modules) - imported_by_loading()
    source = job.source
    reads = Reads(
        job.function,
        source.taken,
        lines=job.has_lines,
        is_leaf=_is_leaf,
        covered=source.functions,
        objects=source.objects,
    )
    needed: LaunchNeededError | None = None
    with LibraryWatch(job.others) as libraries:
        try:
            lowered, functions = _lowered(job, view, reads)
        except LaunchNeededError as error:
            needed, lowered, functions = error, _NOTHING, error.functions
    with phase("dependencies"):
        found = discovered(functions, registered, loaded)
        libraries_found, unseen = libraries.found(functions, job, reads.met.values())
        places = line_dependencies(recording_of(view).places, job)
        reads.settle_functions(lambda: (*covered_functions(functions), *signature_fingerprint(job.signature).functions))
    setup, teardown = callbacks_of(lowered.linked)
    module = ModuleCallbacks(setup=setup, teardown=teardown)
    if needed is None:
        view.settle()
        target = generator(job.target.kind)
        with section():
            code, folded = chosen(
                job.options, job.target.kind, lowered, view, lambda one: target.generate(one, job.target, job.options)
            )
        _show_assembly(job, code)
    else:
        view.read(PRESENCE)  # so that no launch agrees
        code, folded = ObjectCode(image=b"", suffix=SUFFIXES[job.target.kind], entry="", resources={}), ""
    with phase("dependencies"):
        dependencies = (
            *value_dependencies(reads),
            *found.dependencies,
            *file_dependencies(lowered.linked, job.linked, code.consumed),
            *libraries_found,
            *places.dependencies,
        )
        effects, unrepeatable = _asked_for(view, module) if needed is None else (Effects(), recording_of(view).private)
        overtaken = _overtaken(job, code)
        if overtaken and (shelf := recording_of(view).shelf) is not None:
            shelf.leave_nothing()
        reasons = (
            *job.private,
            *found.private,
            *places.private,
            *unseen,
            *unrepeatable,
            *reads.changed(),
            *reads.private,
            *_unseen(code),
            *overtaken,
        )
        private = tuple(dict.fromkeys(reasons))
    compile_ms = round((time.perf_counter() - started) * 1e3, 1)
    told = _metadata(job, view, lowered, code, folded) if needed is None else {"error": _said(needed)}
    metadata = told | {"compile_ms": compile_ms, "phases": phases_until_now()}
    artifact = _artifact(job, lowered, code, view.footprint, effects, dependencies, private, metadata)
    if needed is not None:
        needed.answer = artifact
        raise needed
    return Compiled(artifact=artifact, hooks=list(view.pre_launch_callbacks), module=module)


def _said(needed: LaunchNeededError) -> str:
    """Return an error's text without places, which may be others when it is read."""
    if (diagnosis := needed.diagnosis) is None:
        return str(needed)
    sentence = str(dataclasses.replace(diagnosis, steps=(), advice="")).strip()
    return f"{sentence}\n\n{diagnosis.advice}".strip()


def _artifact(
    job: CompileJob,
    lowered: Lowered,
    code: ObjectCode,
    footprint: Footprint,
    effects: Effects,
    dependencies: tuple[Dependency, ...],
    private: tuple[str, ...],
    metadata: dict[str, Any],
) -> Artifact:
    """Return a job's artifact, with what was found out while the job compiled."""
    return Artifact(
        target=job.target,
        image=code.image,
        suffix=code.suffix,
        entry=code.entry,
        kernel=job.kernel,
        signature=str(job.signature),
        parameters=job.signature.codes,
        resources=code.resources,
        exceptions=lowered.exceptions,
        footprint=footprint,
        effects=effects,
        dependencies=dependencies,
        cooperative=lowered.cooperative,
        metadata=metadata,
        assembly=code.assembly,
        private=private,
    )


def _show_assembly(job: CompileJob, code: ObjectCode) -> None:
    """Print the assembly, where numba's settings ask for it."""
    if code.assembly and "DUMP_ASSEMBLY" in dumps():
        title = f"ASSEMBLY {job.function.__qualname__}".center(80, "-")
        say("\n".join((title, code.assembly, "=" * 80)), sys.stdout)


def _metadata(job: CompileJob, view: ConfigView, lowered: Lowered, code: ObjectCode, folded: str) -> dict[str, Any]:
    """Return what is kept with an artifact for launches and for people, besides its dependences."""
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
    """Return what a launch of checked code needs: places, which parameters are arrays, and which it writes to."""
    from gridjit.compiler.targets.host.analysis.pointers import arrays_in

    return {
        "places": {str(number): place.as_json() for number, place in code.places.items()},
        "arrays": [list(one) for one in arrays_in(job.signature)],
        "writes": None if code.writes is None else sorted(code.writes),
        "own": {str(number): own.as_json() for number, own in code.own.items()},
    }


def _asked_for(view: ConfigView, module: ModuleCallbacks) -> tuple[Effects, tuple[str, ...]]:
    """Return what was asked for through the view, and by linked code; and why some of it keeps the result private."""
    effects, reasons = view.asked_for()
    setup, no_setup = described("setup callback", module.setup)
    teardown, no_teardown = described("teardown callback", module.teardown)
    return dataclasses.replace(effects, setup=setup, teardown=teardown), (*reasons, *no_setup, *no_teardown)


def _lowered(job: CompileJob, view: ConfigView, reads: Reads) -> tuple[Lowered, tuple[Callable[..., Any], ...]]:
    """Lower a job; lower it again if it read its shared memory as a constant before that was raised."""
    with phase("import"):
        from gridjit.compiler.frontend.lower import lower

    for _ in range(_ROUNDS):
        if job.marks:
            recording_of(view).mark(job.marks)
        found = lower(job.function, job.signature, job.options, job.target, job.linked, view, reads)
        if not view.begin_again():
            return found
    raise CompileError(
        f"{job.kernel}{job.signature}: its compilation requires more shared memory each time gridjit.static.sharedmem "
        f"includes what it required before; this did not settle in {_ROUNDS} compiles"
    )


def _is_leaf(module: str) -> bool:
    """Return whether a module counts as a whole: it is a library's, or an installed distribution's."""
    return is_library(module) or distribution_of(module) is not None


def generator(kind: str) -> CodeGenerator:
    """Return what generates code for a kind of target; raises CompileError if there is none."""
    if kind not in _GENERATORS:
        raise CompileError(f"no target {kind!r}; targets are {', '.join(_GENERATORS)}")
    with phase("import"):
        return cast(CodeGenerator, importlib.import_module(_GENERATORS[kind]))


def _tier(job: CompileJob) -> str:
    """Return which of a tiered kernel's two forms a job is: with fields of the launch folded into it, or without."""
    return "specialized" if job.options.specialize else "generic"


def _waits_for_grids(lowered: Lowered) -> bool:
    """Return whether the code, or what is linked to it, has the instruction that waits for the grids before it."""
    said = any(_WAIT in module for module in lowered.modules)
    return said or any(word in file.data for file in lowered.linked for word in (_WAIT.encode(), _WAIT_IN_C))


def _unseen(code: ObjectCode) -> tuple[str, ...]:
    return tuple(reason for file in code.consumed for reason in file.unseen)


def _overtaken(job: CompileJob, code: ObjectCode) -> tuple[str, ...]:
    """Return what changed since the job was made: the compile may have seen what is new, the key has what was old.

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
