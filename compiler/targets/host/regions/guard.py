"""Guard: a kernel's initial condition (`if i < n:`), evaluated for a whole block of threads before any of them runs.

If all threads of a block pass it, the kernel runs with the answer known: the loop over the threads then has no
condition left and uses plain vector loads and stores, three times as fast as masked ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.regions.body import Block, Body, opcode
from gridjit.compiler.targets.host.regions.coordinates import PLACE
from gridjit.compiler.targets.host.regions.operations import PURE

NAME = "gridjit.guard"
_BRANCH = re.compile(r"^br i1 (\S+), label (\S+), label ([^\s,]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A body whose guard counts as passed when `%gj.all` is set, and the guard alone as text ("" if it has none)."""

    body: Body
    text: str


def guard(body: Body) -> Guarded:
    """Return body with its guard taken out, if it opens with one."""
    entry = body.blocks[0]
    found = _BRANCH.match(entry.lines[-1])
    if found is None or not all(opcode(line) in PURE for line in entry.lines[:-1]):
        return Guarded(body=body, text="")
    blocks = {block.label: block for block in body.blocks}
    condition, yes, no = found.groups()
    if _ends(blocks[no]) and not _ends(blocks[yes]):
        change, passed = f"%gj.pass = or i1 {condition}, %gj.all", condition
    elif _ends(blocks[yes]) and not _ends(blocks[no]):
        change, passed = f"%gj.some = xor i1 %gj.all, true\n  %gj.pass = and i1 {condition}, %gj.some", "%gj.not"
    else:
        return Guarded(body=body, text="")
    lines = (*entry.lines[:-1], *change.split("\n  "), f"br i1 %gj.pass, label {yes}, label {no}")
    opened = replace(body, blocks=(Block(label=entry.label, lines=lines), *body.blocks[1:]))
    return Guarded(body=opened, text=_function(body, entry, condition, passed))


def _ends(block: Block) -> bool:
    """Return whether block only ends the thread."""
    return opcode(block.lines[-1]) == "ret" and all(opcode(line) == "phi" for line in block.lines[:-1])


def _function(body: Body, entry: Block, condition: str, passed: str) -> str:
    parameters = ", ".join(f"{p.type} {p.name}" for p in (*PLACE, *body.parameters))
    lines = [f"define internal i1 @{NAME}({parameters}) alwaysinline nounwind {{", f"{entry.label[1:]}:"]
    lines += [f"  {line}" for line in entry.lines[:-1]]
    if passed != condition:
        lines.append(f"  {passed} = xor i1 {condition}, true")
    return "\n".join([*lines, f"  ret i1 {passed}", "}"]) + "\n"
