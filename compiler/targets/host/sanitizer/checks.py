"""checked: a kernel's body with its checks, the places that they name, and the functions that they call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.calls import call_in
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.debug_locations import without_debug_location
from gridjit.compiler.targets.host.ir.intrinsics import ITEM, OUTSIDE
from gridjit.compiler.targets.host.nvvm.retarget import LOCAL
from gridjit.compiler.targets.host.sanitizer.access_places import AccessPlace, read_places
from gridjit.compiler.targets.host.sanitizer.instrument import instrument
from gridjit.compiler.targets.host.sanitizer.private_items import PrivateItems, items, without_items
from gridjit.compiler.targets.host.sanitizer.routines.access import access_ir
from gridjit.compiler.targets.host.sanitizer.routines.fast import COUNT, fast_ir
from gridjit.compiler.targets.host.sanitizer.routines.order import order_ir
from gridjit.compiler.targets.host.sanitizer.routines.race_tests import tests_ir
from gridjit.compiler.targets.host.sanitizer.routines.reports import reports_ir
from gridjit.compiler.targets.host.sanitizer.routines.shadow import shadow_ir
from gridjit.compiler.targets.host.sanitizer.routines.unwritten import unwritten_ir

# What checks are there, by the names that GRIDJIT_HOST_CHECKS has for them.
ALL = ("bounds", "uninitialized", "races")
# The types of values that checks add, for those that are the same in every kernel.
_OWN = {name: ValueType(text="i64", size=8, align=8) for name in ("%gj.who", "%gj.block", "%gj.number")}
_CLOCK = ValueType(text="i32", size=4, align=4)
_LIBRARY = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
_DROPPED = ("!llvm.dbg", "!llvm.module", _LIBRARY[:30])


class Checked(NamedTuple):
    """A body with its checks. places: the places that the checks name, by their numbers.

    writes: the parameters, by number, to whose memory the body writes; None if it may write any memory. own: the types
    of the values that the checks add and that may be needed beyond a barrier. arrays: the parameters, by number, whose
    arrays may be such that each thread accesses items of its own.
    """

    body: Body
    places: Mapping[int, AccessPlace] = MappingProxyType({})
    writes: frozenset[int] | None = frozenset()
    own: Mapping[str, ValueType] = MappingProxyType({})
    arrays: Mapping[int, PrivateItems] = MappingProxyType({})


def checked(body: Body, checks: Collection[str], shared: SharedLayout) -> Checked:
    """Return body with its checks. shared: where shared arrays lie in a block's shared memory."""
    places = read_places(body.rest)
    there = items(body) if "bounds" in checks else {}
    made, writes, clocks, arrays = instrument(without_items(body), places, checks, shared, there)
    rest = without_debug_location(made.rest).splitlines()
    lines = (line for line in rest if not line.startswith(_DROPPED) and not _tells(line))
    made = Body(parameters=made.parameters, blocks=made.blocks, rest="\n".join(lines) + "\n")
    return Checked(made, places.by_number(), writes, _OWN | dict.fromkeys(clocks, _CLOCK), arrays)


def _tells(line: str) -> bool:
    """Return whether a line tells the checks of an access, as recursive functions do.

    They are not inlined and do not know their thread: their accesses are not checked.
    """
    call = call_in(line)
    return call is not None and (call.name in (OUTSIDE, LOCAL) or call.name.startswith(ITEM))


def checks_ir(checks: Collection[str], text: str) -> str:
    """Return the functions that the checks in a kernel's text call."""
    fast = fast_ir(checks, text)
    return _LIBRARY + shadow_ir() + reports_ir() + order_ir() + tests_ir() + unwritten_ir() + access_ir(checks) + fast


def is_worth_again(text: str) -> bool:
    """Return whether LLVM should optimize a kernel twice: one with loops that read only written shared memory.

    Only after the first time is such a loop small enough for LLVM to make a version of it without a test in each
    iteration.
    """
    return f"@{COUNT}(" in text
