"""Pipeline: the passes of the host target in their order, from a kernel as one function to the text of its module."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from gridjit.compiler.targets.host.analysis.barriers import count_barriers, waits_for_others
from gridjit.compiler.targets.host.analysis.exit_edges import without_failing_edges
from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout, local_arrays
from gridjit.compiler.targets.host.analysis.pointers import arrays_in
from gridjit.compiler.targets.host.analysis.strides import is_scattered
from gridjit.compiler.targets.host.analysis.value_types import value_types
from gridjit.compiler.targets.host.blocks.entry import entry_text
from gridjit.compiler.targets.host.emit.metadata import access_group
from gridjit.compiler.targets.host.emit.plan import LoopPlan
from gridjit.compiler.targets.host.emit.privatized_operations import written_out
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.coordinates import place, unread_axes
from gridjit.compiler.targets.host.ir.module import FunctionText, with_declarations
from gridjit.compiler.targets.host.ir.source_locations import place_of
from gridjit.compiler.targets.host.library.ptx.conversions import as_converted_on_gpus
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
from gridjit.compiler.targets.host.reading import BODY, ReadKernel, has_lines, name_of, waiting_cluster
from gridjit.compiler.targets.host.sanitizer.access_places import AccessPlace
from gridjit.compiler.targets.host.sanitizer.checks import Checked, checked, checks_ir
from gridjit.compiler.targets.host.sanitizer.private_items import PrivateItems
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArrayType, ScalarType
from gridjit.compiler.values.target import Lowered, Target

# The letters that a symbol's name has without quotes.
_LETTERS = frozenset(string.ascii_letters + string.digits + "_.")


class Marks(NamedTuple):
    """The meaning of numbers in the code: the places that its checks name, and the places of cuts that end turns.

    writes: the parameters to whose memory checked code writes; None if it may write any memory. own: those whose items
    may each be one thread's own.
    """

    places: Mapping[int, AccessPlace]
    writes: frozenset[int] | None
    waits: dict[int, str]
    own: Mapping[int, PrivateItems]


class _Rows(NamedTuple):
    """A body whose rows of threads were prepared. guard, order: its hoisted guard, and the order of its threads.

    versions, split, peeling: its conditions on whole rows, on their parts, and on peeled threads, if rows may have any.
    """

    body: Body
    guard: Guarded
    order: ThreadOrder
    peeling: Peeled
    versions: Versioned | None = None
    split: IndexSetSplit | None = None


def module_text(kernel: ReadKernel, lowered: Lowered, target: Target, options: Options) -> tuple[str, LoopPlan, Marks]:
    """Return the text of a kernel's module, the plan of its loops, and the meaning of the numbers in its code."""
    checks = _checked(kernel, options)
    refuse_recursion(checks.body, kernel=name_of(lowered))
    body = replace(checks.body, rest=with_frames(checks.body.rest, kernel.module, target))
    privatization = _privatized(bare(body) if has_lines(options) else body, lowered, kernel.shared, options)
    rows = _rows(place(privatization.body, kernel.shared.offsets), options)
    regions = _regions(kernel, rows, checks, target, options)
    functions = [rows.guard.text, rows.guard.culling, *regions.versions, *regions.splits, *regions.sunk, *regions.texts]
    plan = replace(
        _plan(lowered, privatization, regions, kernel.shared, rows),
        checked=options.debug,
        widest=runs_widest_vectors_well(target),
        unread=frozenset() if options.checks else unread_axes(functions[:1] + functions[2:]),
        scattered=_scattered(regions, rows, lowered, options),
    )
    text = _module(privatization.body, functions, plan, regions, options)
    text = with_lines(text, name_of(lowered), lowered.source[1]) if has_lines(options) else text
    locations = enumerate(kernel.waiting.locations)
    waits = {plan.first_turn + number: place_of(location, lowered) for number, location in locations}
    return text, plan, Marks(checks.places, checks.writes, waits, checks.arrays)


def _checked(kernel: ReadKernel, options: Options) -> Checked:
    """Return a kernel's body with barriers where it relies on lockstep, and with its checks, if any.

    A kernel that relies on warps being in step has races, and ends with them if they are looked for.
    """
    body, shared = kernel.waiting.body, kernel.shared
    body = body if "races" in options.checks else with_lockstep(body, shared.offsets)
    return checked(body, options.checks, shared) if options.checks else Checked(body)


def _privatized(body: Body, lowered: Lowered, shared: SharedLayout, options: Options) -> Privatization:
    """Return body with its arrays privatized: none if accesses are checked, blocks wait, or some code is unknown."""
    if options.checks or lowered.linked or lowered.signature is None or waits_for_others(body):
        return Privatization(body=body)
    return privatized(body, dict(arrays_in(lowered.signature)), shared.offsets)


def _rows(body: Body, options: Options) -> _Rows:
    """Return body with its loops interchanged and its guard hoisted; then, if threads may run in any order:

    barriers at loop headers joined, rows versioned for contiguous access, single threads peeled, index sets split.
    """
    guard, order = interchanged(body, options)
    if not order.free:
        return _Rows(with_own_divisions(guard.body), guard, order, Peeled(body=guard.body))
    versions = versioned(with_barriers_at_heads(guard.body), order.inner, order.turns)
    peeling = peeled(versions.body, order.inner)
    split = index_set_split(peeling.body, order.inner)
    return _Rows(with_own_divisions(split.body), guard, order, peeling, versions, split)


def _regions(kernel: ReadKernel, rows: _Rows, checks: Checked, target: Target, options: Options) -> Regions:
    """Return a prepared body cut at its barriers."""
    added, types = rows.order.added, dict[str, ValueType]()
    if count_barriers(rows.body):
        types = {**value_types(kernel.waiting.body, kernel.module.get_function(BODY), target), **checks.own}
    regions = cut_at_barriers(
        rows.body,
        added.types(types) if added else types,
        local_arrays(rows.body, target),
        without_failing_edges if checks.own else tuple,
        rows.versions,
        rows.split,
        rows.peeling,
    )
    return replace(regions, parallel=False) if options.checks else regions


def _scattered(regions: Regions, rows: _Rows, lowered: Lowered, options: Options) -> tuple[bool, ...]:
    """Return, for each region, whether its threads' accesses are too far apart for vectors; nothing if they are not."""
    if not rows.order.free or options.checks or not _has_far_strides(lowered):
        return ()
    return tuple(is_scattered(text, rows.order.inner) for text in regions.texts[: regions.count])


def _has_far_strides(lowered: Lowered) -> bool:
    """Return whether strides of its arrays that are not known before the launch are likely to be large."""
    kinds = lowered.signature.arguments if lowered.signature else ()
    dense = all(isinstance(kind, ScalarType) or (isinstance(kind, ArrayType) and kind.layout != "A") for kind in kinds)
    return dense and any(isinstance(kind, ArrayType) and kind.ndim > 1 for kind in kinds)


def _plan(
    lowered: Lowered, privatization: Privatization, regions: Regions, shared: SharedLayout, rows: _Rows
) -> LoopPlan:
    body, guard, order, peeling = privatization.body, rows.guard, rows.order, rows.peeling
    return LoopPlan(
        entry=_symbol(name_of(lowered)),
        parameters=body.parameters,
        regions=regions.count,
        guarded=bool(guard.text),
        culling=bool(guard.culling),
        bounded=guard.bounded,
        quiet=guard.quiet,
        strided=order.strided,
        inner=order.inner,
        collapsed=order.collapsed,
        fails=fails(body),
        parallel=regions.parallel,
        shared=shared.size,
        slab=regions.slab,
        bank=regions.bank,
        uniforms=regions.uniforms,
        renewed=regions.renewed,
        convergent=regions.convergent,
        dynamic=shared.dynamic,
        first_of_grid=regions.first_of_grid,
        first_turn=regions.first_turn,
        progress=regions.progress,
        collectives=regions.collectives,
        cells=regions.cells,
        loose=regions.loose,
        versioned=tuple(map(bool, regions.versions)),
        split=tuple(map(bool, regions.splits)),
        straight=tuple(map(partial(is_straight, axis=order.inner), regions.texts, regions.splits)),
        sunk=tuple(map(bool, regions.sunk)),
        align=max(64, shared.align, regions.align),
        recursive=looks(body.rest),
        stops=tuple(map(peeling.of, regions.texts[: regions.count])) if peeling.stops else (),
        cluster=waiting_cluster(lowered),
        privatized=privatization.arrays,
        others=privatization.others,
        divided=has_own_divisions(rows.body),
    )


def _symbol(name: str) -> str:
    return "gridjit." + "".join(letter if letter in _LETTERS else "_" for letter in name)


def _module(body: Body, functions: Sequence[str], plan: LoopPlan, regions: Regions, options: Options) -> str:
    """Return the module's text: functions that the kernel calls, its regions, the loops that run them, and checks."""
    text = _assemble(body, functions, plan, regions)
    return _declared_once(text + (checks_ir(options.checks, text) if options.checks else ""))


def _assemble(body: Body, functions: Sequence[str], plan: LoopPlan, regions: Regions) -> str:
    """Return the text of the module: functions that the kernel calls, its regions, and the loops that run them."""
    rest = "\n".join(line for line in body.rest.splitlines() if not line.startswith("declare void @gridjit."))
    tagged = [access_group(text) if regions.parallel else text for text in functions]
    made = map(written_out, tagged) if plan.privatized else tagged
    return "\n".join([*map(as_converted_on_gpus, [with_library(rest), *made]), entry_text(plan)])


def _declared_once(text: str) -> str:
    """Return a module's text with one declaration of each function: each part declares the functions that it calls."""
    seen = set[str]()

    def first(one: FunctionText) -> str:
        if one.name in seen:
            return ""
        seen.add(one.name)
        return one.text

    return with_declarations(text, first)
