"""The driver: a job in, an artifact out. Source -> front end -> target -> artifact with its footprint."""

from __future__ import annotations

import importlib
import sys
import time
from typing import cast

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.dependencies import discovered, file_dependencies
from gridjit.compiler.errors import CompileError
from gridjit.compiler.foreign_locks import giving_back
from gridjit.compiler.frontend.registrations import registrations
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.linked_files import callbacks_of
from gridjit.compiler.targets.base import CodeGenerator
from gridjit.compiler.toolchain_environment import dumps
from gridjit.compiler.view import ConfigView
from gridjit.forking import section
from gridjit.messages import say

_GENERATORS = {"host": "gridjit.compiler.targets.host.generate", "ptx": "gridjit.compiler.targets.ptx"}


def compile_job(job: CompileJob, view: ConfigView) -> Artifact:
    """Return the artifact of job under the launch that view shows; what was read of it is the artifact's footprint.

    Raises CompileError in the user's terms: kernel, argument types, source line.
    """
    return giving_back(lambda: _compile(job, view))


def _compile(job: CompileJob, view: ConfigView) -> Artifact:
    from gridjit.compiler.frontend.lower import lower

    started = time.perf_counter()
    if job.marks:
        view.mark_kernel_as_launch_config_sensitive(*job.marks)
    registered = registrations()
    lowered, functions = lower(job.function, job.signature, job.options, job.target, job.linked, view)
    found = discovered(functions, registered)
    view.setup_callbacks, view.teardown_callbacks = callbacks_of(lowered.linked)
    with section():
        code = _generator(job.target.kind).generate(lowered, job.target, job.options)
    if code.assembly and "DUMP_ASSEMBLY" in dumps():
        title = f"ASSEMBLY {job.function.__qualname__}".center(80, "-")
        say("\n".join((title, code.assembly, "=" * 80)), sys.stdout)
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
        footprint=view.footprint,
        effects=view.effects,
        dependencies=found.dependencies + file_dependencies(lowered.linked, job.linked),
        cooperative=lowered.cooperative,
        metadata={
            "launch_config_sensitive": view.footprint.sensitive,
            "compile_ms": round((time.perf_counter() - started) * 1e3, 1),
            "shared_memory_carveout": job.options.shared_memory_carveout,
        },
        assembly=code.assembly,
        private=(*job.private, *found.private, *view.reasons_to_keep_private, *_overtaken(job)),
    )


def _generator(kind: str) -> CodeGenerator:
    if kind not in _GENERATORS:
        raise CompileError(f"no target {kind!r}; targets are {', '.join(_GENERATORS)}")
    return cast(CodeGenerator, importlib.import_module(_GENERATORS[kind]))


def _overtaken(job: CompileJob) -> tuple[str, ...]:
    """Return what changed since the job was made: the compile may have seen the new, its key says the old."""
    now = make_job(job.function, job.signature, job.options, job.target, job.marks)
    changed = sorted({label for label, _ in set(now.fields) ^ set(job.fields)})
    return tuple(f"{label} changed while the kernel was compiled" for label in changed)
