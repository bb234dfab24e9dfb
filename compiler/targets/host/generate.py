"""generate: LLVM IR of a kernel in numba-cuda's NVVM dialect in, an object file for this computer's processor out."""

from __future__ import annotations

from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.library import device_libraries
from gridjit.compiler.targets.host.linked.code import LinkedCode, linked_code
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.optimizing import optimized
from gridjit.compiler.targets.host.pipeline import Marks, module_text
from gridjit.compiler.targets.host.reading import read_kernel
from gridjit.compiler.targets.host.sanitizer.routines.order import ALL_JOINS_BYTES
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.target import Lowered, ObjectCode, Target


def generate(lowered: Lowered, target: Target, options: Options) -> ObjectCode:
    """Return the object code of lowered for target, whose entry runs a range of a grid's blocks."""
    linked = linked_code(lowered) if lowered.linked else LinkedCode()
    module, plan, marks = _optimized(lowered, target, options, linked)
    with phase("host: machine code"):
        image = linked.merged(llvm.emit(module, target), plan.entry)
    exactness = inexact(lowered.modules) if options.tiered else ""
    return ObjectCode(
        image=image,
        suffix=".o",
        entry=plan.entry,
        resources=_resources(plan, image, options),
        consumed=linked.consumed,
        inexact=exactness,
        places=marks.places,
        writes=marks.writes,
        waits=marks.waits,
        own=marks.own,
    )


def assembly(lowered: Lowered, target: Target, options: Options) -> str:
    """Return that code as assembly text, for people."""
    linked = linked_code(lowered) if lowered.linked else LinkedCode()
    return llvm.assembly(_optimized(lowered, target, options, linked)[0], target)


def _optimized(
    lowered: Lowered, target: Target, options: Options, linked: LinkedCode
) -> tuple[llvm.Module, LoopPlan, Marks]:
    """Return the module that the object file is made of, its plan, and the meaning of its numbers."""
    kernel = read_kernel(lowered, target, options, linked)
    with phase("host: regions"):
        text, plan, marks = module_text(kernel, lowered, target, options)
    with phase("host: optimization"):
        return optimized(text, target, options), plan, marks


def _resources(plan: LoopPlan, image: bytes, options: Options) -> dict[str, int]:
    of_checks = ALL_JOINS_BYTES if options.checks else 0
    return {
        "shared_bytes": plan.shared - of_checks,
        **({"checks_shared_bytes": of_checks} if of_checks else {}),
        "slab_bytes_per_thread": plan.slab,
        "barriers": plan.first_turn - 1,
        **({"resident": 1} if plan.resident else {}),
        **({"strided": 1} if plan.strided and plan.collapsed else {}),
        **({"recursive": 1} if plan.recursive else {}),
        "object_bytes": len(image),
        **device_libraries.needs(image),
    }
