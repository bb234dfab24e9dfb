"""Loop interchange: the order in which a kernel's threads run, and its guard, which is hoisted in that order."""

from __future__ import annotations

from typing import NamedTuple

from gridjit.compiler.targets.host.analysis.barriers import count_barriers, waits_for_others
from gridjit.compiler.targets.host.analysis.collapsible import CollapsibleAxis, collapsible_axes
from gridjit.compiler.targets.host.analysis.exit_edges import without_failing_edges
from gridjit.compiler.targets.host.analysis.strided_loops import Stays
from gridjit.compiler.targets.host.analysis.strides import inner_axis
from gridjit.compiler.targets.host.ir.body import Body, opcode
from gridjit.compiler.targets.host.passes.dead_values import without_dead_values
from gridjit.compiler.targets.host.passes.grid_stride_loops import one_iteration
from gridjit.compiler.targets.host.passes.guard_hoisting import Guarded, hoisted_guard
from gridjit.compiler.targets.host.passes.shared_atomics import plain_shared_atomics
from gridjit.compiler.targets.host.passes.strided_interchange import StridedInterchange, interchange_strided
from gridjit.compiler.values.options import Options


class ThreadOrder(NamedTuple):
    """In which order threads are run: the axis of a row, the axes along which blocks are run as one, turn by turn.

    free: whether the order is not the one in which accesses are checked, or blocks wait for each other.
    """

    inner: str
    collapsed: tuple[CollapsibleAxis, ...]
    strided: bool = False
    added: StridedInterchange | None = None
    free: bool = True

    @property
    def turns(self) -> frozenset[str]:
        """The numbers of turns, which all threads share."""
        return self.added.turns if self.added else frozenset()


# As the kernel is written: a block's threads along x, one after the other.
THREAD_BY_THREAD = ThreadOrder("x", (), free=False)


def interchanged(body: Body, options: Options) -> tuple[Guarded, ThreadOrder]:
    """Return the body with its guard taken out, and the order in which its threads are run."""
    # Nothing may be moved where blocks wait for each other.
    if waits_for_others(body):
        return _as_written(body)
    if options.checks:
        guarded, order = _together(body, without_failing_edges)
        return guarded, order._replace(free=False)
    return _guarded(plain_shared_atomics(body))


def _as_written(body: Body) -> tuple[Guarded, ThreadOrder]:
    """Return the body with its guard taken out; its threads are run block by block along x."""
    return hoisted_guard(body, "x"), THREAD_BY_THREAD


def _guarded(body: Body) -> tuple[Guarded, ThreadOrder]:
    """Return the body with its guard taken out, and the order in which its threads are run."""
    if count_barriers(body) or fails(body):
        return _together(body)
    if (turn := one_iteration(body)) is not None:
        order = ThreadOrder(inner_axis(turn), tuple(collapsible_axes(turn).values()), strided=True)
        guarded = hoisted_guard(turn, order.inner)
        if guarded.bounded:
            return guarded, order
    if (found := _together(body))[1].added:
        return found
    order = ThreadOrder(inner_axis(body), tuple(collapsible_axes(body).values()))
    return hoisted_guard(body, order.inner), order


def _together(body: Body, stays: Stays = tuple) -> tuple[Guarded, ThreadOrder]:
    """Return the body as _as_written does, but with strided loops whose turns all threads take together.

    stays: returns a kernel's blocks without those where it fails.
    """
    found = interchange_strided(body, stays, joins=stays is tuple)
    if not found.counters:
        return hoisted_guard(body, "x"), ThreadOrder("x", ())
    return hoisted_guard(without_dead_values(found.body), "x"), ThreadOrder("x", (), added=found)


def fails(body: Body) -> bool:
    """Return whether the kernel can return an exception code."""
    ends = (block.lines[-1] for block in body.blocks)
    return any(opcode(line) == "ret" and line != "ret i32 0" for line in ends)
