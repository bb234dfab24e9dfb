"""checked: a kernel's body with its checks, the places that they name, and the functions that they call."""

from __future__ import annotations

import re
from collections.abc import Collection

from gridjit.compiler.targets.host.checks.access_ir import access_ir
from gridjit.compiler.targets.host.checks.instrument import instrument
from gridjit.compiler.targets.host.checks.order_ir import order_ir
from gridjit.compiler.targets.host.checks.places import Place, read_places
from gridjit.compiler.targets.host.checks.record import MOST_SITES
from gridjit.compiler.targets.host.checks.shadow_ir import shadow_ir
from gridjit.compiler.targets.host.library.intrinsics import OUTSIDE
from gridjit.compiler.targets.host.regions.body import Body
from gridjit.compiler.targets.host.regions.slots import ValueType
from gridjit.compiler.targets.host.retarget import LOCAL

# What checks are there, by the names that GRIDJIT_HOST_CHECKS has for them.
ALL = ("bounds", "uninitialized", "races")
# The types of values that checks add and that may be needed beyond a barrier.
OWN_TYPES = {name: ValueType(text="i64", size=8, align=8) for name in ("%gj.who", "%gj.block", "%gj.number")}
_NAMED = re.compile(r"^!llvm\.(?:dbg|module)[^\n]*\n", re.MULTILINE)
_ATTACHED = re.compile(r",? !dbg !\d+")
_LIBRARY = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
# In recursive functions, which are not inlined, no thread is known: what they access is not looked at.
_TOLD = re.compile(rf"^ *(?:tail )?call void @(?:{re.escape(OUTSIDE)}|{re.escape(LOCAL)})\([^\n]*\n", re.MULTILINE)


def checked(body: Body, checks: Collection[str]) -> tuple[Body, list[Place]]:
    """Return body with its checks, and the places that they name: the first is number 1."""
    places = read_places(body.rest, MOST_SITES)
    made = instrument(body, places, checks)
    rest = _TOLD.sub("", _ATTACHED.sub("", _NAMED.sub("", made.rest)))
    lines = (line for line in rest.splitlines() if not line.startswith(_LIBRARY[:30]))
    made = Body(parameters=made.parameters, blocks=made.blocks, rest="\n".join(lines) + "\n")
    return made, list(places.numbers)


def checks_ir(checks: Collection[str]) -> str:
    """Return the functions that the checks of a kernel call."""
    return _LIBRARY + shadow_ir() + order_ir() + access_ir(checks)
