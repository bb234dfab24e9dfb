"""readable: the front end's results for a job, for people to read. They are made on request and not kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridjit.compiler.frontend.isolated.isolation import CompileConditions, Isolation, isolated
from gridjit.compiler.frontend.isolated.launch_visibility import while_visible
from gridjit.compiler.frontend.lower import _run_pipeline, capability, lower
from gridjit.compiler.job import CompileJob
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.host.nvvm.written_arguments import maybe_written
from gridjit.compiler.targets.ptx.link import linked_ptx
from gridjit.compiler.targets.ptx.nvvm import accelerated, compile_ltoir
from gridjit.compiler.values.target import LinkedFile
from gridjit.compiler.view.config import ConfigView


def llvm_ir(job: CompileJob, view: ConfigView) -> str:
    """Return the LLVM IR of a kernel and of its callees, before the target optimizes it."""
    lowered, _ = lower(job.function, job.signature, job.options, job.target, job.linked, view)
    return "\n\n".join(lowered.modules)


def written_arguments(job: CompileJob, view: ConfigView, names: Sequence[str]) -> frozenset[str]:
    """Return the names of the arguments that a kernel may write; pair.0 is an item of a tuple."""
    lowered, _ = lower(job.function, job.signature, job.options, job.target, job.linked, view)
    return maybe_written(lowered, names)


def assembly(job: CompileJob, view: ConfigView) -> str:
    """Return a kernel's assembly where its compile made none: the host's, or PTX after optimization at link time."""
    if job.target.kind == "ptx":
        return lto_ptx(job, view)
    from gridjit.compiler.targets.host import generate

    lowered, _ = lower(job.function, job.signature, job.options, job.target, job.linked, view)
    return generate.assembly(lowered, job.target, job.options)


def lto_ptx(job: CompileJob, view: ConfigView) -> str:
    """Return a kernel's PTX after link-time optimization together with its linked files."""
    lowered, _ = lower(job.function, job.signature, job.options, job.target, job.linked, view)
    arch = accelerated(job.target.arch)
    modules = tuple(map(contracted, lowered.modules)) if job.options.tiered else lowered.modules
    data = compile_ltoir(modules, arch, job.options)
    code = LinkedFile(name=lowered.entry, kind="ltoir", data=data)
    return linked_ptx((code,), lowered.linked, arch, job.options)


def annotation(job: CompileJob, view: ConfigView) -> Any:
    """Return numba's annotation of a kernel: as text, its source with numba's IR and the types that it inferred."""

    conditions = CompileConditions(
        view=view,
        capability=capability(job.target),
        boundscheck=job.options.debug,
        reads=Reads(job.function),
    )

    def annotate(record: Isolation) -> Any:
        return _run_pipeline(job.function, job.signature, job.options, job.target, record).type_annotation

    return while_visible(view, isolated, conditions, annotate)
