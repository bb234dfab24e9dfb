"""generate: LLVM IR of a kernel in numba-cuda's NVVM dialect in, an object file for this computer's processor out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gridjit.compiler.errors import UnsupportedError
from gridjit.compiler.options import Options
from gridjit.compiler.phases import phase
from gridjit.compiler.target import Code, Lowered, Target
from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.library import intrinsics, maths
from gridjit.compiler.targets.host.loops.entry import entry_text
from gridjit.compiler.targets.host.loops.frame import supported_parameter
from gridjit.compiler.targets.host.loops.metadata import access_group
from gridjit.compiler.targets.host.loops.plan import LoopPlan
from gridjit.compiler.targets.host.processor import has_feature
from gridjit.compiler.targets.host.recursion import recursive, refuse_recursion
from gridjit.compiler.targets.host.regions.barriers import count_barriers
from gridjit.compiler.targets.host.regions.body import Body, Parameter, opcode, read_body
from gridjit.compiler.targets.host.regions.coordinates import place
from gridjit.compiler.targets.host.regions.cut import Regions, cut
from gridjit.compiler.targets.host.regions.guard import guard
from gridjit.compiler.targets.host.regions.shared import SharedLayout, lay_out_shared, local_arrays, value_types
from gridjit.compiler.targets.host.regions.waits import with_turns
from gridjit.compiler.targets.host.retarget import Retargeted, retarget
from gridjit.compiler.targets.host.spots import place_of
from gridjit.compiler.targets.host.stack import watched, with_library
from gridjit.compiler.targets.host.survey import refuse_unsupported
from gridjit.compiler.targets.host.uniform_chains import may_never_end, never_ends

_BODY = "gridjit.body"
# Lines of LLVM IR, cleaned and cut into regions: five for each line of a kernel that computes with arrays.
_HUGE = 10_000
# Lines of the kernel's own code, from which on it is not searched for operations side by side that make a vector: the
# search takes longer than all other passes, and the loops over the threads are vectorized anyway.
_LONG = 500
# A region's function: the kernel's own code, which may have loops besides those that run it.
_REGION = re.compile(r"^define [^\n]*@gridjit\.region\.[^\n]*\n.*?^}", re.MULTILINE | re.DOTALL)


def generate(lowered: Lowered, target: Target, options: Options) -> Code:
    """Return the object code of lowered for target, whose entry runs a range of a grid's blocks."""
    module, plan, waits = _optimized(lowered, target, options)
    with phase("host: machine code"):
        image = llvm.emit(module, target)
    exactness = inexact(lowered.modules) if options.tiered else ""
    resources = _resources(plan, image)
    return Code(image=image, suffix=".o", entry=plan.entry, resources=resources, inexact=exactness, waits=waits)


def assembly(lowered: Lowered, target: Target, options: Options) -> str:
    """Return that code as assembly text, for people."""
    return llvm.assembly(_optimized(lowered, target, options)[0], target)


def _optimized(lowered: Lowered, target: Target, options: Options) -> tuple[llvm.Module, LoopPlan, dict[int, str]]:
    """Return the module that the object file is made of, its plan, and the places of the cuts that end turns."""
    with phase("host: retarget"):
        refuse_unsupported(lowered)
        modules = _retargeted(lowered, target, options)
        loops = recursive(part.text for part in modules)
    with phase("host: parse"):
        module = _one_module(modules, lowered, target, options, loops)
        parameters = _parameters(module, lowered)
    with phase("host: inlining"):
        llvm.keep_only(module, _BODY, loops)
        llvm.clean(module, target)
    with phase("host: regions"):
        shared = lay_out_shared([array for part in modules for array in part.shared], target)
        waiting = with_turns(read_body(llvm.text_of(module), _BODY, parameters))
        body = waiting.body
        refuse_recursion(body, kernel=_kernel(lowered))
        guarded = guard(place(body, shared.offsets))
        regions = _regions(guarded.body, module, target)
        plan = _plan(
            lowered, body, regions, shared, guarded=bool(guarded.text), recursive=bool(loops), checked=options.debug
        )
        text = _assemble(body, [guarded.text, *regions.texts], plan, regions)
    with phase("host: optimization"):
        waits = {plan.turns + number: place_of(spot, lowered) for number, spot in enumerate(waiting.spots)}
        return _final(text, target, _level(text, options), abreast=_is_short(text)), plan, waits


def _level(text: str, options: Options) -> int:
    """Return how hard LLVM tries: above a size, what -O3 adds takes longer than the program is likely to gain."""
    return 3 if options.opt and text.count("\n") <= _HUGE else 1


def _is_short(text: str) -> bool:
    """Return whether the kernel's own code is worth a search for operations side by side."""
    return sum(found.group().count("\n") for found in _REGION.finditer(text)) <= _LONG


def _final(text: str, target: Target, level: int, *, abreast: bool) -> llvm.Module:
    """Return the optimized module of a text; its loops are not vectorized if LLVM would never finish."""
    if level > 1 and may_never_end("\n".join(_REGION.findall(text))):
        plain = llvm.parse(text)
        llvm.optimize(plain, target, level, vectorize=False)
        if never_ends(llvm.text_of(plain)):
            return plain
    module = llvm.parse(text)
    llvm.optimize(module, target, level, abreast=abreast)
    return module


def _kernel(lowered: Lowered) -> str:
    return lowered.kernel or lowered.entry


def _retargeted(lowered: Lowered, target: Target, options: Options) -> list[Retargeted]:
    texts, exactly = lowered.modules, options.tiered
    if exactly and has_feature(target, "fma"):  # else it would be a slow function
        texts = tuple(map(contracted, texts))
    return [retarget(one, kernel=_kernel(lowered), fastmath=options.fastmath, exactly=exactly) for one in texts]


def _one_module(
    modules: Sequence[Retargeted], lowered: Lowered, target: Target, options: Options, loops: frozenset[str]
) -> llvm.Module:
    """Return the kernel's modules, the intrinsics and maths that they call, and the entry's wrapper as one module."""
    declared = set().union(*(part.declared for part in modules))
    head = llvm.header(target)
    parsed = [llvm.parse(head + watched(part.text, loops)) for part in modules]
    library = intrinsics.definitions(declared) + maths.definitions(declared, target, exactly=options.tiered)
    entry = parsed[0].get_function(lowered.entry)
    types = [str(argument.type) for argument in list(entry.arguments)[1:]]
    return llvm.link([*parsed, llvm.parse(head + library), llvm.parse(head + _wrapper(lowered.entry, types))])


def _wrapper(entry: str, types: Sequence[str]) -> str:
    """Return a function that calls entry without its return-value pointer, which no kernel uses."""
    parameters = ", ".join(f"{kind} %arg.{index}" for index, kind in enumerate(types))
    declared = ", ".join(["ptr", *types])
    passed = ", ".join(["ptr %unused", *(f"{kind} %arg.{index}" for index, kind in enumerate(types))])
    return (
        f'declare i32 @"{entry}"({declared})\n'
        f"define i32 @{_BODY}({parameters}) {{\nentry:\n  %unused = alloca ptr\n"
        f'  %code = call i32 @"{entry}"({passed})\n  ret i32 %code\n}}\n'
    )


def _parameters(module: llvm.Module, lowered: Lowered) -> tuple[Parameter, ...]:
    arguments = list(module.get_function(_BODY).arguments)
    parameters = tuple(
        Parameter(type=str(argument.type), name=f"%arg.{index}") for index, argument in enumerate(arguments)
    )
    for parameter in parameters:
        if not supported_parameter(parameter):
            raise UnsupportedError(
                f"kernel {_kernel(lowered)} takes a parameter of LLVM type {parameter.type}, which the host target "
                "does not offer; pass numbers and arrays"
            )
    return parameters


def _regions(body: Body, module: llvm.Module, target: Target) -> Regions:
    arrays = local_arrays(body, target)
    types = value_types(module.get_function(_BODY), target) if count_barriers(body) else {}
    return cut(body, types, arrays)


def _plan(
    lowered: Lowered,
    body: Body,
    regions: Regions,
    shared: SharedLayout,
    *,
    guarded: bool,
    recursive: bool,
    checked: bool,
) -> LoopPlan:
    return LoopPlan(
        entry=_symbol(_kernel(lowered)),
        parameters=body.parameters,
        regions=len(regions.texts),
        guarded=guarded,
        fails=_fails(body),
        parallel=regions.parallel,
        shared=shared.size,
        slab=regions.slab,
        bank=regions.bank,
        uniforms=regions.uniforms,
        renewed=regions.renewed,
        settled=regions.settled,
        dynamic=shared.dynamic,
        grid=regions.grid,
        turns=regions.turns,
        progress=regions.progress,
        recursive=recursive,
        collectives=regions.collectives,
        cells=regions.cells,
        loose=regions.loose,
        checked=checked,
    )


def _symbol(name: str) -> str:
    return "gridjit." + re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _fails(body: Body) -> bool:
    """Return whether the kernel can return an exception code."""
    ends = (block.lines[-1] for block in body.blocks)
    return any(opcode(line) == "ret" and line != "ret i32 0" for line in ends)


def _assemble(body: Body, functions: Sequence[str], plan: LoopPlan, regions: Regions) -> str:
    """Return the text of the final module: what the kernel still needs, its regions, and the loops that run them."""
    rest = "\n".join(line for line in body.rest.splitlines() if not line.startswith("declare void @gridjit."))
    tagged = [access_group(text) if regions.parallel else text for text in functions]
    return "\n".join([with_library(rest), *tagged, entry_text(plan)])


def _resources(plan: LoopPlan, image: bytes) -> dict[str, int]:
    return {
        "shared_bytes": plan.shared,
        "slab_bytes_per_thread": plan.slab,
        "barriers": plan.turns - 1,
        **({"resident": 1} if plan.resident else {}),
        "object_bytes": len(image),
    }
