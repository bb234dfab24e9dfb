"""Reading a kernel: modules are retargeted, linked with what they call, inlined, and read as one function's text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout, lay_out_shared
from gridjit.compiler.targets.host.emit.frame import supported_parameter
from gridjit.compiler.targets.host.ir import intrinsics
from gridjit.compiler.targets.host.ir.body import Parameter, read_body
from gridjit.compiler.targets.host.library import device_libraries, maths
from gridjit.compiler.targets.host.library.ptx import clusters
from gridjit.compiler.targets.host.linked.code import LinkedCode
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.features import has_feature
from gridjit.compiler.targets.host.nvvm.recursion import recursive, with_places
from gridjit.compiler.targets.host.nvvm.retarget import Retargeted, retarget
from gridjit.compiler.targets.host.nvvm.unsupported import kernel_place, refuse_unsupported
from gridjit.compiler.targets.host.passes.spin_loops import SpinCuts, with_spin_cuts
from gridjit.compiler.targets.host.passes.stack_overflow import watched
from gridjit.compiler.targets.host.sanitizer.routines.order import JOINS
from gridjit.compiler.values.errors import UnsupportedError
from gridjit.compiler.values.launch_config import Dim3
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.target import Lowered, Target

# The function that all of the kernel is inlined into.
BODY = "gridjit.body"
# Lines of LLVM IR as numba writes it, a hundred for each line of a kernel that computes with arrays.
_LONG = 10_000


class ReadKernel(NamedTuple):
    """A kernel as text that was read, with the module that it is of."""

    module: llvm.Module
    waiting: SpinCuts
    shared: SharedLayout


def read_kernel(
    lowered: Lowered, target: Target, options: Options, linked: LinkedCode, *, locations: bool = False
) -> ReadKernel:
    """Return the kernel as one function.

    locations: whether it is known that threads wait where nothing but loads tells of it. If they do, it is read again.
    """
    with phase("host: retarget"):
        refuse_unsupported(lowered, linked.names)
        waiting_cluster(lowered)
        modules = _retargeted(lowered, target, options, locations=locations)
        loops = recursive((*(part.text for part in modules), *linked.texts))
    with phase("host: parse"):
        module, types = _one_module(modules, linked.texts, lowered, target, options, loops)
        parameters = _parameters(types, lowered)
    with phase("host: inlining"):
        module = llvm.keep_only(module, BODY, loops | device_libraries.APART)
        llvm.clean(module, target, long=sum(part.text.count("\n") for part in modules) > _LONG)
        if loops:
            module = llvm.parse(with_places(llvm.text_of(module), BODY))
    with phase("host: regions"):
        arrays = [*(array for part in modules for array in part.shared), *([JOINS] if options.checks else [])]
        waiting = with_spin_cuts(read_body(llvm.text_of(module), BODY, parameters))
    if None in waiting.locations and not locations:
        return read_kernel(lowered, target, options, linked, locations=True)
    return ReadKernel(module, waiting, lay_out_shared(arrays, target))


def waiting_cluster(lowered: Lowered) -> Dim3:
    """Return the shape of the clusters whose blocks wait for each other; one block where none do."""
    waits = any(clusters.waits(text) for text in lowered.modules)
    if not waits or lowered.cluster is None or math.prod(lowered.cluster) == 1:
        return (1, 1, 1)
    if lowered.cooperative:
        raise UnsupportedError(
            f"kernel {name_of(lowered)} waits for its cluster and for the grid, which the host target does not offer; "
            "do without one of them, or run the kernel on a GPU"
        )
    return lowered.cluster


def has_lines(options: Options) -> bool:
    """Return whether the object file has a line table; the code of checks is not that of the lines it is at."""
    return options.lineinfo and not options.checks


def name_of(lowered: Lowered) -> str:
    """Return the kernel's name in errors."""
    return lowered.kernel or lowered.entry


def _retargeted(lowered: Lowered, target: Target, options: Options, *, locations: bool) -> list[Retargeted]:
    texts, exactly = lowered.modules, options.tiered
    if exactly and has_feature(target, "fma"):  # else it would be a slow function
        texts = tuple(map(contracted, texts))
    marks = {
        "lines": bool(options.checks) or has_lines(options),
        "checked": bool(options.checks),
        "locations": locations,
    }
    return [
        retarget(one, kernel=name_of(lowered), fastmath=options.fastmath, exactly=exactly, **marks) for one in texts
    ]


def _one_module(
    modules: Sequence[Retargeted],
    linked: Sequence[str],
    lowered: Lowered,
    target: Target,
    options: Options,
    loops: frozenset[str],
) -> tuple[llvm.Module, list[str]]:
    """Return the kernel's modules, linked ones, the functions that they call, and the entry's wrapper as one module.

    With it come the types of the kernel's parameters. loops: the functions that call themselves.
    """
    declared = set().union(*(part.declared for part in modules))
    declared |= device_libraries.maths_of(declared)
    head = llvm.header(target)
    parsed = [llvm.parse(head + watched(part.text, loops), kernel_place(lowered)) for part in modules]
    library = intrinsics.definitions(declared) + maths.definitions(declared, target, exactly=options.tiered)
    types = llvm.parameter_types(parsed[0], lowered.entry)[1:]
    places = clusters.definitions(declared, lowered.cluster)
    texts = [
        *linked,
        library,
        *filter(None, [places]),
        *device_libraries.definitions(declared, target),
        _wrapper(lowered.entry, types),
    ]
    return llvm.link([*parsed, *(llvm.parse(head + text) for text in texts)]), types


def _wrapper(entry: str, types: Sequence[str]) -> str:
    """Return a function that calls entry without its return-value pointer, which no kernel uses."""
    parameters = ", ".join(f"{kind} %arg.{index}" for index, kind in enumerate(types))
    declared = ", ".join(["ptr", *types])
    passed = ", ".join(["ptr %unused", *(f"{kind} %arg.{index}" for index, kind in enumerate(types))])
    return (
        f'declare i32 @"{entry}"({declared})\n'
        f"define i32 @{BODY}({parameters}) {{\nentry:\n  %unused = alloca ptr\n"
        f'  %code = call i32 @"{entry}"({passed})\n  ret i32 %code\n}}\n'
    )


def _parameters(types: Sequence[str], lowered: Lowered) -> tuple[Parameter, ...]:
    parameters = tuple(Parameter(type=kind, name=f"%arg.{index}") for index, kind in enumerate(types))
    for parameter in parameters:
        if not supported_parameter(parameter):
            raise UnsupportedError(
                f"kernel {name_of(lowered)} takes a parameter of LLVM type {parameter.type}, which the host target "
                "does not offer; pass numbers and arrays"
            )
    return parameters
