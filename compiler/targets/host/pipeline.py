"""Pipeline: the passes of the host target in their order, from a kernel as one function to the text of its module.

A pass takes a body and returns one that `ir/verify.py` accepts, or leaves it as it is. PASSES says what each does.
Without optimizations, only those in REQUIRED run, and threads run one by one: tests compare the two.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Mapping, Sequence
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
from gridjit.compiler.targets.host.ir.body import Body, body_of
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.coordinates import place, unread_axes
from gridjit.compiler.targets.host.ir.module import FunctionText, definitions, with_declarations
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
from gridjit.compiler.targets.host.passes.loop_interchange import THREAD_BY_THREAD, ThreadOrder, fails, interchanged
from gridjit.compiler.targets.host.passes.loop_versioning import Versioned, versioned
from gridjit.compiler.targets.host.passes.peeling import Peeled, peeled
from gridjit.compiler.targets.host.passes.privatization import Privatization, privatized
from gridjit.compiler.targets.host.passes.stack_overflow import looks, with_frames, with_library
from gridjit.compiler.targets.host.reading import BODY, ReadKernel, has_lines, name_of, waiting_cluster
from gridjit.compiler.targets.host.sanitizer.access_places import AccessPlace
from gridjit.compiler.targets.host.sanitizer.checks import Checked, checked, checks_ir
from gridjit.compiler.targets.host.sanitizer.private_items import PrivateItems
from gridjit.compiler.values.options import PLAIN, Options
from gridjit.compiler.values.signature import ArrayType, ScalarType
from gridjit.compiler.values.target import Lowered, Target

# The passes in their order.
PASSES = {
    "spin loops": "end each iteration of a loop that polls memory with a wait for other threads (passes/spin_loops.py)",
    "lockstep": "put barriers where a kernel relies on warps running in step (passes/lockstep.py)",
    "sanitizer": "in debug kernels, check each access to memory and each barrier (sanitizer/)",
    "line table": "drop debug locations, or keep those of a line table (passes/line_table.py)",
    "privatization": "mark atomic updates that blocks may do in a private copy (passes/privatization.py)",
    "coordinates": "read thread indices and shared arrays from parameters (ir/coordinates.py)",
    "loop interchange": "run grid-stride loops' iterations outside the loop over threads, and hoist the guard "
    "(passes/loop_interchange.py, strided_interchange.py, grid_stride_loops.py, guard_hoisting.py)",
    "loop-header barriers": "join barriers at both ends of a loop into one at its header "
    "(passes/loop_header_barriers.py)",
    "loop versioning": "test whether a row of threads accesses contiguous memory (passes/loop_versioning.py)",
    "peeling": "peel threads that alone pass a condition out of the row (passes/peeling.py)",
    "index-set splitting": "split rows where a condition changes (passes/index_set_splitting.py)",
    "divisions": "guard divisions whose operands are poison for some threads (passes/divisions.py)",
    "barrier fission": "cut the kernel at its barriers into regions, with contexts between them "
    "(passes/barrier_fission.py, outlining.py, rematerialization.py, region_text.py, sinking.py)",
}
REQUIRED = frozenset(
    ("spin loops", "lockstep", "sanitizer", "line table", "coordinates", "divisions", "barrier fission")
)
Observer = Callable[[str, Body], None]
# Functions that see the body after each pass: the verifier in tests, the printer on demand.
OBSERVERS: list[Observer] = []

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
    body = _done("line table", bare(body)) if has_lines(options) else body
    privatization = _privatized(body, lowered, kernel.shared, options)
    rows = _rows(_done("coordinates", place(privatization.body, kernel.shared.offsets)), options)
    regions = _regions(kernel, rows, checks, target, options)
    for text in regions.texts if OBSERVERS else ():
        _done("barrier fission", body_of(next(definitions(text)), body.rest))
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


def print_passes() -> None:
    """Write each kernel that is compiled from now on to standard error after each pass that changes it."""
    if not any(isinstance(one, _Printer) for one in OBSERVERS):
        OBSERVERS.append(_Printer())


class _Printer:
    """Writes bodies to standard error. last: the text of the body before."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, name: str, body: Body) -> None:
        """Write a body, or that a pass did not change it."""
        text = str(body)
        print(f"; {name}: {PASSES[name]}", "; no change" if text == self.last else text, sep="\n", file=sys.stderr)
        self.last = text


def is_plain(options: Options) -> bool:
    """Return whether the pipeline runs without optimizations (`GRIDJIT_HOST_PLAIN`)."""
    return options.codegen == PLAIN


def _done(name: str, body: Body) -> Body:
    """Return the body that a pass left, seen by the observers."""
    for observe in OBSERVERS:
        observe(name, body)
    return body


def _checked(kernel: ReadKernel, options: Options) -> Checked:
    """Return a kernel's body with barriers where it relies on lockstep, and with its checks, if any.

    A kernel that relies on warps being in step has races, and ends with them if they are looked for.
    """
    body, shared = _done("spin loops", kernel.waiting.body), kernel.shared
    body = body if "races" in options.checks else _done("lockstep", with_lockstep(body, shared.offsets))
    if not options.checks:
        return Checked(body)
    found = checked(body, options.checks, shared)
    _done("sanitizer", found.body)
    return found


def _privatized(body: Body, lowered: Lowered, shared: SharedLayout, options: Options) -> Privatization:
    """Return body with its arrays privatized: none if accesses are checked, blocks wait, or some code is unknown."""
    if lowered.signature is None or lowered.linked or is_plain(options) or options.checks or waits_for_others(body):
        return Privatization(body=body)
    found = privatized(body, dict(arrays_in(lowered.signature)), shared.offsets)
    _done("privatization", found.body)
    return found


def _rows(body: Body, options: Options) -> _Rows:
    """Return body with its loops interchanged and its guard hoisted; then, if threads may run in any order:

    barriers at loop headers joined, rows versioned for contiguous access, single threads peeled, index sets split.
    """
    if is_plain(options):
        guard, order = Guarded(body=body, text=""), THREAD_BY_THREAD
    else:
        guard, order = interchanged(body, options)
        _done("loop interchange", guard.body)
    if not order.free:
        return _Rows(_done("divisions", with_own_divisions(guard.body)), guard, order, Peeled(body=guard.body))
    headed = _done("loop-header barriers", with_barriers_at_heads(guard.body))
    versions = versioned(headed, order.inner, order.turns)
    peeling = peeled(_done("loop versioning", versions.body), order.inner)
    split = index_set_split(_done("peeling", peeling.body), order.inner)
    divided = with_own_divisions(_done("index-set splitting", split.body))
    return _Rows(_done("divisions", divided), guard, order, peeling, versions, split)


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
    return replace(regions, parallel=False) if options.checks or is_plain(options) else regions


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
