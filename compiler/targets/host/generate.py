"""generate: LLVM IR of a kernel in numba-cuda's NVVM dialect in, an object file for this computer's processor out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from gridjit.compiler.options import Options
from gridjit.compiler.phases import phase
from gridjit.compiler.signature import ArrayType, ScalarType
from gridjit.compiler.target import Lowered, ObjectCode, Target
from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.host.analysis.barriers import count_barriers, waits_for_others
from gridjit.compiler.targets.host.analysis.exit_edges import without_failing_edges
from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout, local_arrays
from gridjit.compiler.targets.host.analysis.pointers import arrays_in
from gridjit.compiler.targets.host.analysis.strides import is_scattered
from gridjit.compiler.targets.host.analysis.value_types import value_types
from gridjit.compiler.targets.host.analysis.vectorizer_chains import may_never_end, never_ends
from gridjit.compiler.targets.host.blocks.entry import entry_text
from gridjit.compiler.targets.host.emit.metadata import access_group
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.privatized_operations import written_out
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.cold_code import split_cold_code
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.coordinates import place, unread_axes
from gridjit.compiler.targets.host.ir.source_locations import place_of
from gridjit.compiler.targets.host.library import device_libraries
from gridjit.compiler.targets.host.library.libmvec import replacement, several_forms
from gridjit.compiler.targets.host.library.narrow_floats import half_calls
from gridjit.compiler.targets.host.library.ptx.conversions import as_converted_on_gpus
from gridjit.compiler.targets.host.linked.code import LinkedCode, linked_code
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.features import runs_widest_vectors_well
from gridjit.compiler.targets.host.nvvm.recursion import refuse_recursion
from gridjit.compiler.targets.host.passes.barrier_fission import Regions, cut_at_barriers
from gridjit.compiler.targets.host.passes.divisions import has_own_divisions, with_own_divisions
from gridjit.compiler.targets.host.passes.guard_hoisting import Guarded
from gridjit.compiler.targets.host.passes.index_set_splitting import IndexSetSplit, index_set_split, is_straight
from gridjit.compiler.targets.host.passes.line_table import bare, with_lines
from gridjit.compiler.targets.host.passes.lockstep import with_lockstep
from gridjit.compiler.targets.host.passes.loop_header_barriers import with_barriers_at_heads
from gridjit.compiler.targets.host.passes.loop_interchange import ThreadOrder, fails, interchanged
from gridjit.compiler.targets.host.passes.loop_versioning import Versioned, versioned
from gridjit.compiler.targets.host.passes.peeling import Peeled, peeled
from gridjit.compiler.targets.host.passes.privatization import Privatization, privatized
from gridjit.compiler.targets.host.passes.stack_overflow import looks, with_frames, with_library
from gridjit.compiler.targets.host.passes.strided_interchange import StridedInterchange
from gridjit.compiler.targets.host.reading import BODY, ReadKernel, has_lines, name_of, read_kernel, waiting_cluster
from gridjit.compiler.targets.host.sanitizer.access_places import AccessPlace
from gridjit.compiler.targets.host.sanitizer.checks import Checked, checked, checks_ir, is_worth_again
from gridjit.compiler.targets.host.sanitizer.private_items import Own

# Lines of LLVM IR, cleaned and cut into regions: five for each line of a kernel that computes with arrays.
_HUGE = 10_000
# With so many lines of its own, a kernel is not searched for operations side by side that make a vector: the search
# takes longer than all other passes, and the loops over the threads are vectorized anyway.
_LONG = 500
_DEFINITION, _DECLARATION = "\ndefine ", "\ndeclare "
# A region's function: the kernel's own code, which may have loops besides those that run it.
_REGION = "@gridjit.region."


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
        resources=_resources(plan, image),
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


class _Marks(NamedTuple):
    """What numbers in the code stand for: the places that its checks name, and those of the cuts that end turns.

    writes: the parameters to whose memory checked code writes; None if it may write any memory. own: those whose items
    may each be one thread's own.
    """

    places: Mapping[int, AccessPlace]
    writes: frozenset[int] | None
    waits: dict[int, str]
    own: Mapping[int, Own]


def _optimized(
    lowered: Lowered, target: Target, options: Options, linked: LinkedCode
) -> tuple[llvm.Module, LoopPlan, _Marks]:
    """Return the module that the object file is made of, its plan, and what its numbers stand for."""
    read = read_kernel(lowered, target, options, linked)
    with phase("host: regions"):
        text, plan, marks = _written(read, lowered, target, options)
    with phase("host: optimization"):
        return _final(text, target, _level(text, options), abreast=_is_short(text)), plan, marks


def _written(read: ReadKernel, lowered: Lowered, target: Target, options: Options) -> tuple[str, LoopPlan, _Marks]:
    """Return the text of a kernel that was read: its regions, and what runs them."""
    module, waiting, shared = read
    # A kernel that relies on warps being in step has races, and ends with them if they are looked for.
    body = waiting.body if "races" in options.checks else with_lockstep(waiting.body, shared.offsets)
    body, places, writes, own, arrays = checked(body, options.checks, shared) if options.checks else Checked(body)
    refuse_recursion(body, kernel=name_of(lowered))
    body = replace(body, rest=with_frames(body.rest, module, target))
    lines = has_lines(options)
    gathering = _gathering(bare(body) if lines else body, lowered, shared, options)
    body = gathering.body
    guarded, order = interchanged(place(body, shared.offsets), options)
    if order.free:
        guarded = replace(guarded, body=with_barriers_at_heads(guarded.body))
    asked = versioned(guarded.body, order.inner, order.turns) if order.free else None
    split_cold_code = peeled(asked.body, order.inner) if asked else Peeled(body=guarded.body)
    across = index_set_split(split_cold_code.body, order.inner) if asked else None
    divided = with_own_divisions(across.body if across else split_cold_code.body)
    function = module.get_function(BODY)
    types = {**value_types(waiting.body, function, target), **own} if count_barriers(divided) else {}
    regions = _regions(divided, types, target, order.added, own, (asked, across, split_cold_code))
    regions = replace(regions, parallel=False) if options.checks else regions
    functions = [guarded.text, guarded.idle, *regions.plain, *regions.ends, *regions.late, *regions.texts]
    plan = replace(
        _plan(lowered, body, regions, shared, guarded, order),
        checked=options.debug,
        widest=runs_widest_vectors_well(target),
        recursive=looks(body.rest),
        stops=tuple(map(split_cold_code.of, regions.texts[: regions.count])) if split_cold_code.stops else (),
        cluster=waiting_cluster(lowered),
        gathered=gathering.arrays,
        others=gathering.others,
        divided=has_own_divisions(divided),
    )
    plan = plan if options.checks else replace(plan, unread=unread_axes(functions[:1] + functions[2:]))
    if order.free and not options.checks and _has_far_strides(lowered):
        scattered = (is_scattered(text, order.inner) for text in regions.texts[: regions.count])
        plan = replace(plan, scattered=tuple(scattered))
    text = _assemble(body, functions, plan, regions)
    text = _declared_once(text + (checks_ir(options.checks, text) if options.checks else ""))
    text = with_lines(text, name_of(lowered), lowered.source[1]) if lines else text
    waits = {plan.first_turn + number: place_of(spot, lowered) for number, spot in enumerate(waiting.spots)}
    return text, plan, _Marks(places, writes, waits, arrays)


def _gathering(body: Body, lowered: Lowered, shared: SharedLayout, options: Options) -> Privatization:
    """Return body with what it gathers: nothing if accesses are checked, blocks wait, or some code is unknown."""
    if options.checks or lowered.linked or lowered.signature is None or waits_for_others(body):
        return Privatization(body=body)
    return privatized(body, dict(arrays_in(lowered.signature)), shared.offsets)


def _has_far_strides(lowered: Lowered) -> bool:
    """Return whether strides of its arrays that are not known before the launch are likely to be large."""
    kinds = lowered.signature.arguments if lowered.signature else ()
    dense = all(isinstance(kind, ScalarType) or (isinstance(kind, ArrayType) and kind.layout != "A") for kind in kinds)
    return dense and any(isinstance(kind, ArrayType) and kind.ndim > 1 for kind in kinds)


def _level(text: str, options: Options) -> int:
    """Return LLVM's level of optimization: above a size, -O3 takes longer than the program is likely to gain."""
    # Checks take far more time than the rest of a kernel, and keep its own code from being changed much.
    return 3 if (options.opt or options.checks) and text.count("\n") <= _HUGE else 1


def _is_short(text: str) -> bool:
    """Return whether the kernel's own code is worth a search for operations side by side."""
    return sum(region.count("\n") for region in _regions_of(text)) <= _LONG


def _regions_of(text: str) -> list[str]:
    """Return those functions of a module's text that are regions."""
    functions = (one.partition("\n}") for one in text.split(_DEFINITION)[1:])
    return [f"define {one}{end}" for one, end, _ in functions if _REGION in one.partition("(")[0]]


def _final(text: str, target: Target, level: int, *, abreast: bool) -> llvm.Module:
    """Return the optimized module of a text, with the functions that are run seldom as they are."""
    parts = split_cold_code(text)
    module = _optimum(parts.often, target, level, abreast=abreast)
    if parts.seldom:
        module = llvm.with_seldom(module, llvm.parse(llvm.header(target) + parts.seldom), parts.shared, target)
    if half_calls.may_be_called(text, target):
        module = llvm.link([module, llvm.parse(llvm.header(target) + half_calls.DEFINITIONS)])
    return _with_one_form(module, target) if "@_ZGV" in text else module


def _with_one_form(module: llvm.Module, target: Target) -> llvm.Module:
    """Return an optimized module in which each mathematical function gives one result for an argument."""
    made = several_forms(llvm.text_of(module))
    for symbol in made:
        module.get_function(symbol).name = replacement(symbol)
    return llvm.link([module, *(llvm.parse(llvm.header(target) + text) for text in made.values())])


def _optimum(text: str, target: Target, level: int, *, abreast: bool) -> llvm.Module:
    """Return the optimized module of a text; its loops are not vectorized if LLVM would never finish."""
    if level > 1 and may_never_end("\n".join(_regions_of(text))):
        versioned = llvm.parse(text)
        llvm.optimize(versioned, target, level, vectorize=False)
        if never_ends(llvm.text_of(versioned)):
            return versioned
    module = llvm.parse(text)
    llvm.optimize(module, target, level, abreast=abreast)
    if is_worth_again(text):
        llvm.optimize(module, target, level, abreast=abreast)
    return module


def _regions(
    body: Body,
    types: Mapping[str, ValueType],
    target: Target,
    added: StridedInterchange | None,
    own: Mapping[str, ValueType],
    asked: tuple[Versioned | None, IndexSetSplit | None, Peeled],
) -> Regions:
    """Return body cut into regions. types: those of its values; own: of the values that checks added, if they did.

    asked: the body's conditions on rows, on their parts, and on rare threads.
    """
    arrays = local_arrays(body, target)
    return cut_at_barriers(
        body, added.types(types) if added else types, arrays, without_failing_edges if own else tuple, *asked
    )


def _plan(
    lowered: Lowered,
    body: Body,
    regions: Regions,
    shared: SharedLayout,
    guarded: Guarded,
    order: ThreadOrder,
) -> LoopPlan:
    return LoopPlan(
        entry=_symbol(name_of(lowered)),
        parameters=body.parameters,
        regions=regions.count,
        guarded=bool(guarded.text),
        idle=bool(guarded.idle),
        bounded=guarded.bounded,
        quiet=guarded.quiet,
        strided=order.strided,
        inner=order.inner,
        flat=order.flat,
        fails=fails(body),
        parallel=regions.parallel,
        shared=shared.size,
        slab=regions.slab,
        bank=regions.bank,
        uniforms=regions.uniforms,
        renewed=regions.renewed,
        settled=regions.settled,
        dynamic=shared.dynamic,
        first_of_grid=regions.first_of_grid,
        first_turn=regions.first_turn,
        progress=regions.progress,
        collectives=regions.collectives,
        cells=regions.cells,
        loose=regions.loose,
        plain=tuple(map(bool, regions.plain)),
        crossing=tuple(map(bool, regions.ends)),
        straight=tuple(map(partial(is_straight, axis=order.inner), regions.texts, regions.ends)),
        late=tuple(map(bool, regions.late)),
        align=max(64, shared.align, regions.align),
    )


def _symbol(name: str) -> str:
    return "gridjit." + re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _assemble(body: Body, functions: Sequence[str], plan: LoopPlan, regions: Regions) -> str:
    """Return the text of the final module: what the kernel still needs, its regions, and the loops that run them."""
    rest = "\n".join(line for line in body.rest.splitlines() if not line.startswith("declare void @gridjit."))
    tagged = [access_group(text) if regions.parallel else text for text in functions]
    made = map(written_out, tagged) if plan.gathered else tagged
    return "\n".join([*map(as_converted_on_gpus, [with_library(rest), *made]), entry_text(plan)])


def _declared_once(text: str) -> str:
    """Return a module's text with one declaration of each function: each of its parts declares what it calls."""
    first, *others = f"\n{text}".split(_DECLARATION)
    seen, parts = set[str](), [first]
    for other in others:
        name, (_, end, rest) = other.partition("@")[2].partition("(")[0], other.partition("\n")
        parts += [end, rest] if name in seen else [_DECLARATION, other]
        seen.add(name)
    return "".join(parts)[1:]


def _resources(plan: LoopPlan, image: bytes) -> dict[str, int]:
    return {
        "shared_bytes": plan.shared,
        "slab_bytes_per_thread": plan.slab,
        "barriers": plan.first_turn - 1,
        **({"resident": 1} if plan.resident else {}),
        **({"strided": 1} if plan.strided and plan.flat else {}),
        **({"recursive": 1} if plan.recursive else {}),
        "object_bytes": len(image),
        **device_libraries.needs(image),
    }
