"""generate: LLVM IR of a kernel in numba-cuda's NVVM dialect in, an object file for this computer's processor out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gridjit.compiler.errors import UnsupportedError
from gridjit.compiler.launch_config import Dim3
from gridjit.compiler.options import Options
from gridjit.compiler.phases import phase
from gridjit.compiler.target import Code, Lowered, Target
from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.checks.arguments import arrays_in
from gridjit.compiler.targets.host.checks.checked import Checked, checked, checks_ir, is_worth_again
from gridjit.compiler.targets.host.checks.failures import staying
from gridjit.compiler.targets.host.checks.ir.order import JOINS
from gridjit.compiler.targets.host.checks.own import Own
from gridjit.compiler.targets.host.checks.places import Place
from gridjit.compiler.targets.host.collectives.in_step import in_step
from gridjit.compiler.targets.host.gathered.arrays import Gathering, gathered
from gridjit.compiler.targets.host.gathered.operations import written_out
from gridjit.compiler.targets.host.library import intrinsics, maths, provided
from gridjit.compiler.targets.host.library.ptx import clusters
from gridjit.compiler.targets.host.library.ptx.conversions import as_converted_on_gpus
from gridjit.compiler.targets.host.lines import bare, with_lines
from gridjit.compiler.targets.host.linked.code import LinkedCode, linked_code
from gridjit.compiler.targets.host.loops.entry import entry_text
from gridjit.compiler.targets.host.loops.frame import supported_parameter
from gridjit.compiler.targets.host.loops.metadata import access_group
from gridjit.compiler.targets.host.loops.plan import LoopPlan
from gridjit.compiler.targets.host.orders.flat import Flat, flat_axes
from gridjit.compiler.targets.host.orders.grid_stride import one_turn
from gridjit.compiler.targets.host.orders.interleaving import Interleaved, interleave
from gridjit.compiler.targets.host.orders.plain import Plain, plain
from gridjit.compiler.targets.host.orders.rare import Rarely, rarely
from gridjit.compiler.targets.host.orders.strided import Stays
from gridjit.compiler.targets.host.orders.strides import inner_axis
from gridjit.compiler.targets.host.processor import has_feature, runs_widest_vectors_well
from gridjit.compiler.targets.host.recursion import recursive, refuse_recursion, with_places
from gridjit.compiler.targets.host.regions.barriers import count_barriers, waits_for_others
from gridjit.compiler.targets.host.regions.body import Body, Parameter, opcode, read_body
from gridjit.compiler.targets.host.regions.coordinates import place
from gridjit.compiler.targets.host.regions.cut import Regions, cut
from gridjit.compiler.targets.host.regions.guard import Guarded, guard
from gridjit.compiler.targets.host.regions.shared import SharedLayout, lay_out_shared, local_arrays, value_types
from gridjit.compiler.targets.host.regions.shared_atomics import plain_shared_atomics
from gridjit.compiler.targets.host.regions.slots import ValueType
from gridjit.compiler.targets.host.resident.waits import Waiting, with_turns
from gridjit.compiler.targets.host.retarget import Retargeted, retarget
from gridjit.compiler.targets.host.spots import place_of
from gridjit.compiler.targets.host.stack import looks, watched, with_frames, with_library
from gridjit.compiler.targets.host.survey import kernel_place, refuse_unsupported
from gridjit.compiler.targets.host.uniform_chains import may_never_end, never_ends

_BODY = "gridjit.body"
# Lines of LLVM IR, cleaned and cut into regions: five for each line of a kernel that computes with arrays.
_HUGE = 10_000
# Lines of the kernel's own code, from which on it is not searched for operations side by side that make a vector: the
# search takes longer than all other passes, and the loops over the threads are vectorized anyway.
_LONG = 500
_DECLARED = re.compile(r"^declare [^@\n]*@([^(\s]+)\([^\n]*\n?", re.MULTILINE)
# A region's function: the kernel's own code, which may have loops besides those that run it.
_REGION = re.compile(r"^define [^\n]*@gridjit\.region\.[^\n]*\n.*?^}", re.MULTILINE | re.DOTALL)


def generate(lowered: Lowered, target: Target, options: Options) -> Code:
    """Return the object code of lowered for target, whose entry runs a range of a grid's blocks."""
    linked = linked_code(lowered) if lowered.linked else LinkedCode()
    module, plan, marks = _optimized(lowered, target, options, linked)
    with phase("host: machine code"):
        image = linked.merged(llvm.emit(module, target), plan.entry)
    exactness = inexact(lowered.modules) if options.tiered else ""
    return Code(
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
    """What stands for numbers in the code: the places that its checks name, and those of the cuts that end turns.

    writes: the parameters to whose memory checked code writes; None if it may write any memory. own: those whose items
    may each be one thread's own.
    """

    places: Mapping[int, Place]
    writes: frozenset[int] | None
    waits: dict[int, str]
    own: Mapping[int, Own]


class _Read(NamedTuple):
    """A kernel as text that was read, with the module that it is of."""

    module: llvm.Module
    waiting: Waiting
    shared: SharedLayout


def _optimized(
    lowered: Lowered, target: Target, options: Options, linked: LinkedCode
) -> tuple[llvm.Module, LoopPlan, _Marks]:
    """Return the module that the object file is made of, its plan, and what its numbers stand for."""
    read = _read(lowered, target, options, linked)
    with phase("host: regions"):
        text, plan, marks = _written(read, lowered, target, options)
    with phase("host: optimization"):
        return _final(text, target, _level(text, options), abreast=_is_short(text)), plan, marks


def _read(lowered: Lowered, target: Target, options: Options, linked: LinkedCode, *, spots: bool = False) -> _Read:
    """Return the kernel as one function.

    spots: whether it is known that threads wait where nothing but loads tells of it. If they do, it is read again.
    """
    with phase("host: retarget"):
        refuse_unsupported(lowered, linked.names)
        _waiting_cluster(lowered)
        modules = _retargeted(lowered, target, options, spots=spots)
        loops = recursive((*(part.text for part in modules), *linked.texts))
    with phase("host: parse"):
        module = _one_module(modules, linked.texts, lowered, target, options, loops)
        parameters = _parameters(module, lowered)
    with phase("host: inlining"):
        llvm.keep_only(module, _BODY, loops | provided.APART)
        llvm.clean(module, target)
        if loops:
            module = llvm.parse(with_places(llvm.text_of(module), _BODY))
    with phase("host: regions"):
        arrays = [*(array for part in modules for array in part.shared), *([JOINS] if options.checks else [])]
        waiting = with_turns(read_body(llvm.text_of(module), _BODY, parameters))
    if None in waiting.spots and not spots:
        return _read(lowered, target, options, linked, spots=True)
    return _Read(module, waiting, lay_out_shared(arrays, target))


def _written(read: _Read, lowered: Lowered, target: Target, options: Options) -> tuple[str, LoopPlan, _Marks]:
    """Return the text of a kernel that was read: its regions, and what runs them."""
    module, waiting, shared = read
    # A kernel that counts on warps to be in step has races: where these are looked for, it ends with them.
    body = waiting.body if "races" in options.checks else in_step(waiting.body, shared.offsets)
    body, places, writes, own, arrays = checked(body, options.checks, shared) if options.checks else Checked(body)
    refuse_recursion(body, kernel=_kernel(lowered))
    body = replace(body, rest=with_frames(body.rest, module, target))
    lines = _has_lines(options)
    gathering = _gathering(bare(body) if lines else body, lowered, shared, options)
    body = gathering.body
    guarded, order = _ordered(place(body, shared.offsets), options)
    asked = plain(guarded.body, order.inner, order.turns) if order.free else None
    parted = rarely(asked.body, order.inner) if asked else Rarely(body=guarded.body)
    regions = _regions(parted.body, module, target, order.added, own, asked)
    regions = replace(regions, parallel=False) if options.checks else regions
    plan = replace(
        _plan(lowered, body, regions, shared, guarded, order),
        checked=options.debug,
        widest=runs_widest_vectors_well(target),
        recursive=looks(body.rest),
        stops=tuple(map(parted.of, regions.texts[: regions.count])) if parted.stops else (),
        cluster=_waiting_cluster(lowered),
        gathered=gathering.arrays,
        others=gathering.others,
    )
    text = _assemble(body, [guarded.text, guarded.idle, *regions.plain, *regions.texts], plan, regions)
    text = _declared_once(text + (checks_ir(options.checks, text) if options.checks else ""))
    text = with_lines(text, _kernel(lowered), lowered.source[1]) if lines else text
    waits = {plan.first_turn + number: place_of(spot, lowered) for number, spot in enumerate(waiting.spots)}
    return text, plan, _Marks(places, writes, waits, arrays)


def _gathering(body: Body, lowered: Lowered, shared: SharedLayout, options: Options) -> Gathering:
    """Return body with what it gathers: nothing if each access is looked at, others wait, or not all code is seen."""
    if options.checks or lowered.linked or lowered.signature is None or waits_for_others(body):
        return Gathering(body=body)
    return gathered(body, dict(arrays_in(lowered.signature)), shared.offsets)


def _waiting_cluster(lowered: Lowered) -> Dim3:
    """Return the shape of the clusters whose blocks wait for each other; one block where none do."""
    waits = any(clusters.waits(text) for text in lowered.modules)
    if not waits or lowered.cluster is None or math.prod(lowered.cluster) == 1:
        return (1, 1, 1)
    if lowered.cooperative:
        raise UnsupportedError(
            f"kernel {_kernel(lowered)} waits for its cluster and for the grid, which the host target does not offer; "
            "do without one of them, or run the kernel on a GPU"
        )
    return lowered.cluster


def _has_lines(options: Options) -> bool:
    """Return whether the object file has a line table; the code of checks is not that of the lines it is at."""
    return options.lineinfo and not options.checks


def _level(text: str, options: Options) -> int:
    """Return how hard LLVM tries: above a size, what -O3 adds takes longer than the program is likely to gain."""
    # Checks take far more time than the rest of a kernel, whose own code they keep from being changed much.
    return 3 if (options.opt or options.checks) and text.count("\n") <= _HUGE else 1


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
    if is_worth_again(text):
        llvm.optimize(module, target, level, abreast=abreast)
    return module


def _kernel(lowered: Lowered) -> str:
    return lowered.kernel or lowered.entry


def _retargeted(lowered: Lowered, target: Target, options: Options, *, spots: bool) -> list[Retargeted]:
    texts, exactly = lowered.modules, options.tiered
    if exactly and has_feature(target, "fma"):  # else it would be a slow function
        texts = tuple(map(contracted, texts))
    marks = {"lines": bool(options.checks) or _has_lines(options), "checked": bool(options.checks), "spots": spots}
    return [
        retarget(one, kernel=_kernel(lowered), fastmath=options.fastmath, exactly=exactly, **marks) for one in texts
    ]


def _one_module(
    modules: Sequence[Retargeted],
    linked: Sequence[str],
    lowered: Lowered,
    target: Target,
    options: Options,
    loops: frozenset[str],
) -> llvm.Module:
    """Return the kernel's modules, linked ones, what they call, and the entry's wrapper as one module.

    loops: the functions that call themselves.
    """
    declared = set().union(*(part.declared for part in modules))
    declared |= provided.maths_of(declared)
    head = llvm.header(target)
    parsed = [llvm.parse(head + watched(part.text, loops), kernel_place(lowered)) for part in modules]
    library = intrinsics.definitions(declared) + maths.definitions(declared, target, exactly=options.tiered)
    entry = parsed[0].get_function(lowered.entry)
    types = [str(argument.type) for argument in list(entry.arguments)[1:]]
    places = clusters.definitions(declared, lowered.cluster)
    texts = [
        *linked,
        library,
        *filter(None, [places]),
        *provided.definitions(declared, target),
        _wrapper(lowered.entry, types),
    ]
    return llvm.link([*parsed, *(llvm.parse(head + text) for text in texts)])


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


def _regions(
    body: Body,
    module: llvm.Module,
    target: Target,
    added: Interleaved | None,
    own: Mapping[str, ValueType],
    asked: Plain | None,
) -> Regions:
    """Return body cut into regions. own: the types of the values that checks added; empty if there are no checks."""
    arrays = local_arrays(body, target)
    types = value_types(module.get_function(_BODY), target) | dict(own) if count_barriers(body) else {}
    return cut(body, added.types(types) if added else types, arrays, staying if own else tuple, asked)


class _Order(NamedTuple):
    """In which order threads are run: the axis of a row, the axes along which blocks are run as one, turn by turn.

    free: whether the order is not the one in which accesses are checked, or blocks wait for each other.
    """

    inner: str
    flat: tuple[Flat, ...]
    strided: bool = False
    added: Interleaved | None = None
    free: bool = True

    @property
    def turns(self) -> frozenset[str]:
        """The numbers of turns, which all threads share."""
        return self.added.turns if self.added else frozenset()


def _ordered(body: Body, options: Options) -> tuple[Guarded, _Order]:
    """Return the body with its guard taken out, and the order in which its threads are run."""
    # Nothing may be moved where blocks wait for each other.
    if waits_for_others(body):
        return _as_written(body)
    if options.checks:
        guarded, order = _together(body, staying)
        return guarded, order._replace(free=False)
    return _guarded(plain_shared_atomics(body))


def _as_written(body: Body) -> tuple[Guarded, _Order]:
    """Return the body with its guard taken out; its threads are run block by block along x."""
    return guard(body, "x"), _Order("x", (), free=False)


def _guarded(body: Body) -> tuple[Guarded, _Order]:
    """Return the body with its guard taken out, and the order in which its threads are run."""
    if count_barriers(body) or _fails(body):
        return _together(body)
    if (turn := one_turn(body)) is not None:
        order = _Order(inner_axis(turn), tuple(flat_axes(turn).values()), strided=True)
        guarded = guard(turn, order.inner)
        if guarded.bounded:
            return guarded, order
    if (found := _together(body))[1].added:
        return found
    order = _Order(inner_axis(body), tuple(flat_axes(body).values()))
    return guard(body, order.inner), order


def _together(body: Body, stays: Stays = tuple) -> tuple[Guarded, _Order]:
    """Return the body as _as_written does, but with turns of strided loops that all threads take together.

    stays: what leaves out of a kernel's blocks where it fails.
    """
    found = interleave(body, stays)
    return guard(found.body, "x"), _Order("x", (), added=found if found.counters else None)


def _plan(
    lowered: Lowered,
    body: Body,
    regions: Regions,
    shared: SharedLayout,
    guarded: Guarded,
    order: _Order,
) -> LoopPlan:
    return LoopPlan(
        entry=_symbol(_kernel(lowered)),
        parameters=body.parameters,
        regions=regions.count,
        guarded=bool(guarded.text),
        idle=bool(guarded.idle),
        bounded=guarded.bounded,
        quiet=guarded.quiet,
        strided=order.strided,
        inner=order.inner,
        flat=order.flat,
        fails=_fails(body),
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
        align=max(64, shared.align, regions.align),
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
    made = map(written_out, tagged) if plan.gathered else tagged
    return "\n".join([*map(as_converted_on_gpus, [with_library(rest), *made]), entry_text(plan)])


def _declared_once(text: str) -> str:
    """Return a module's text with one declaration of each function: its parts declare what they call themselves."""
    seen: set[str] = set()

    def first(found: re.Match[str]) -> str:
        again = found[1] in seen
        seen.add(found[1])
        return "" if again else found[0]

    return _DECLARED.sub(first, text)


def _resources(plan: LoopPlan, image: bytes) -> dict[str, int]:
    return {
        "shared_bytes": plan.shared,
        "slab_bytes_per_thread": plan.slab,
        "barriers": plan.first_turn - 1,
        **({"resident": 1} if plan.resident else {}),
        **({"recursive": 1} if plan.recursive else {}),
        "object_bytes": len(image),
        **provided.needs(image),
    }
