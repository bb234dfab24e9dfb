"""Guard hoisting: a kernel's initial condition (`if i < n:`), evaluated for a whole block before any thread runs.

For threads that are known to pass it, the kernel runs with the answer known: the loop over them then has no condition
left and uses plain vector loads and stores, three times as fast as masked ones. Where the condition is made of
comparisons, those threads are found row by row. Any other is asked for each thread of a block, before any of them runs.
Of several conditions one after another, as many are the guard as are made of comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.analysis.conditions import comparisons
from gridjit.compiler.targets.host.ir.body import Block, Body, definitions_of, opcode
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.ir.opcodes import PURE
from gridjit.compiler.targets.host.passes.empty_blocks import empty_blocks_text
from gridjit.compiler.targets.host.passes.grid_stride_loops import TURN
from gridjit.compiler.targets.host.passes.guard_conditions import direct, ends, is_early, is_unseen, openings
from gridjit.compiler.targets.host.passes.iteration_bounds import bounds_text

NAME = "gridjit.guard"
# Whether a thread goes on behind its guard.
PASSES = "%gj.pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A body whose guard counts as passed when `%gj.all` is set, and the guard alone as text ("" if it has none).

    bounded: whether that text is a function that finds where in a row of threads the guard holds. quiet: whether
    threads that do not pass it only end. culling: a function that tells of blocks that they do nothing ("" if none).
    """

    body: Body
    text: str
    culling: str = ""
    bounded: bool = False
    quiet: bool = False


def hoisted_guard(body: Body, inner: str) -> Guarded:
    """Return body with its guard taken out, if it opens with one. inner: the axis of a row of threads."""
    body = direct(body)
    found = _first_condition(body, inner)
    for opened in openings(body):
        wider = _first_condition(opened, inner)
        if wider.bounded:
            found = wider
        elif found.bounded:
            break
    return replace(found, culling=empty_blocks_text(body))


def _first_condition(body: Body, inner: str) -> Guarded:
    """Return body with its first block's condition taken out, if it is one."""
    entry = body.blocks[0]
    condition = entry.end.condition
    pure = [line for line in entry.lines[:-1] if is_early(line)]
    if not condition or not all(is_unseen(line, entry) for line in entry.lines[:-1] if line not in pure):
        return Guarded(body=body, text="")
    blocks = body.by_label
    yes, no = entry.end.labels
    if ends(blocks[no]) and not ends(blocks[yes]):
        change, passed = f"{PASSES} = or i1 {condition}, %gj.all", condition
    elif ends(blocks[yes]) and not ends(blocks[no]):
        change, passed = f"%gj.some = xor i1 %gj.all, true\n  {PASSES} = and i1 {condition}, %gj.some", "%gj.not"
    else:
        return Guarded(body=body, text="")
    lines = (*entry.lines[:-1], *change.split("\n  "), f"br i1 {PASSES}, label {yes}, label {no}")
    opened = replace(body, blocks=(Block(label=entry.label, lines=lines), *body.blocks[1:]))
    named = definitions_of(pure)
    varying = (f"%gj.tid.{inner}", "%gj.thread", TURN)
    if (parts := comparisons(condition, passed == condition, named, varying)) is not None:
        quiet = blocks[no if passed == condition else yes].lines == ("ret i32 0",)
        return Guarded(body=opened, text=bounds_text(parts, body.parameters, inner), bounded=True, quiet=quiet)
    if len(pure) < len(entry.lines) - 1 or not all(opcode(line) in PURE for line in pure):
        return Guarded(body=body, text="")
    return Guarded(body=opened, text=_function(body, entry, condition, passed))


def _function(body: Body, entry: Block, condition: str, passed: str) -> str:
    parameters = ", ".join(f"{p.type} {p.name}" for p in (*PLACE, *body.parameters))
    lines = [f"define internal i1 @{NAME}({parameters}) alwaysinline nounwind {{", f"{entry.label[1:]}:"]
    lines += [f"  {line}" for line in entry.lines[:-1]]
    if passed != condition:
        lines.append(f"  {passed} = xor i1 {condition}, true")
    return "\n".join([*lines, f"  ret i1 {passed}", "}"]) + "\n"
