"""Guard conditions: a kernel's first ones (`if k > n: return`, then `if i > m: return`) as one of its first block.

They may be one condition to the program, as `if k > n or i > m: return` is several branches. Only what a thread may do
that would not have come so far is drawn together: it neither touches memory nor traps, and divisions are by one where
they would not have been made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gridjit.compiler.targets.host.ir.body import Block, Body, arms, opcode, rename, used
from gridjit.compiler.targets.host.ir.instructions import Instruction, Operand
from gridjit.compiler.targets.host.ir.opcodes import EARLY, is_operation
from gridjit.compiler.targets.host.ir.parse import parse

_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))


def direct(body: Body) -> Body:
    """Return body whose branches do not go through blocks that only lead on."""
    blocks = body.by_label
    past = {block.label: block.end.target for block in body.blocks[1:] if len(block.lines) == 1 and block.end.target}
    past = {label: to for label, to in past.items() if to not in past and not blocks[to].phis}
    kept = (block for block in body.blocks if block.label not in past)
    made = (replace(one, lines=(*one.lines[:-1], rename(one.lines[-1], past))) for one in kept)
    return replace(body, blocks=tuple(made)) if past else body


def openings(body: Body) -> Iterator[Body]:
    """Yield body with two, three, ... of its first blocks drawn together, as long as that is possible."""
    number = 0
    while (more := _drawn_together(body, number)) is not None:
        yield more
        body, number = more, number + 1


def ends(block: Block) -> bool:
    """Return whether block only ends the thread."""
    return block.end.opcode == "ret" and all(opcode(line) == "phi" for line in block.lines[:-1])


def is_early(line: str) -> bool:
    """Return whether a line may be run again, or by a thread that would not have come to it if divisions are safe."""
    return opcode(line) in EARLY or _divides(parse(line)) or (opcode(line) == "call" and is_operation(line))


def is_unseen(line: str, entry: Block) -> bool:
    """Return whether a line of the first block does nothing but to make a local array or to fill it with a byte."""
    made = parse(line)
    if made.opcode == "alloca":
        return True
    if not made.callee_name.startswith("llvm.memset.") or made.values[-1] != "false":
        return False
    return any(one.opcode == "alloca" and one.result == made.values[0] for one in map(parse, entry.lines))


def _divides(made: Instruction) -> bool:
    """Return whether an instruction divides an integer."""
    return made.opcode in _DIVISIONS and made.is_binary


def _drawn_together(body: Body, number: int) -> Body | None:
    """Return body with its first block and one or two that follow it as one block, or None."""
    branch = body.blocks[0].end
    if not (condition := branch.condition):
        return None
    yes, no = branch.labels
    return (
        _after_side_step(body, condition, yes, no, number, when=True)
        or _after_side_step(body, condition, no, yes, number, when=False)
        or _after_condition(body, condition, yes, no, number, when=True)
        or _after_condition(body, condition, no, yes, number, when=False)
    )


def _after_condition(body: Body, condition: str, on: str, off: str, number: int, *, when: bool) -> Body | None:
    """Return body with a second condition, asked in block `on`, in the first one's; both end the thread at `off`."""
    blocks = body.by_label
    entry, second = body.blocks[0], blocks[on]
    if not (other := second.end.condition) or not ends(blocks[off]) or _leading_to(body, on) != [entry.label]:
        return None
    if not all(map(is_early, second.lines[:-1])):
        return None
    yes, no = second.end.labels
    if _is_same_end(blocks, entry.label, off, on, no):
        goes_on, then = yes, True
    elif _is_same_end(blocks, entry.label, off, on, yes):
        goes_on, then = no, False
    else:
        return None
    if goes_on in (on, off) or ends(blocks[goes_on]):
        return None
    first, made = _as_true(condition, f"%gj.first.{number}", when)
    next_one, also = _as_true(other, f"%gj.second.{number}", then)
    both = f"%gj.opened.{number}"
    lines = (
        *entry.lines[:-1],
        *made,
        *_safe(second.lines[:-1], first, number),
        *also,
        f"{both} = select i1 {first}, i1 {next_one}, i1 false",
        f"br i1 {both}, label {goes_on}, label {off}",
    )
    return _without(body, lines, (on,))


def _after_side_step(body: Body, condition: str, side: str, join: str, number: int, *, when: bool) -> Body | None:
    """Return body with blocks `side` and `join` in the first one, which goes to `join`, perhaps through `side`."""
    blocks = body.by_label
    entry, step, joined = body.blocks[0], blocks[side], blocks[join]
    if step.end.target != join or _leading_to(body, side) != [entry.label]:
        return None
    if sorted(_leading_to(body, join)) != sorted([entry.label, side]):
        return None
    rest = joined.lines[len(joined.phis) :]
    chosen = [_chosen(phi, condition, side, entry.label, when=when) for phi in joined.phis]
    if not all(map(is_early, (*step.lines[:-1], *rest[:-1]))) or None in chosen:
        return None
    goes, made = _as_true(condition, f"%gj.first.{number}", when)
    moved = _safe(step.lines[:-1], goes, number)
    lines = (*entry.lines[:-1], *made, *moved, *(line for line in chosen if line is not None), *rest)
    return _without(body, lines, (side, join))


def _leading_to(body: Body, label: str) -> list[str]:
    return [block.label for block in body.blocks if label in block.successors]


def _is_same_end(blocks: Mapping[str, Block], entry: str, off: str, on: str, other: str) -> bool:
    """Return whether a thread ends in the same way in `off`, from the entry, and in `other`, from `on`."""
    if other != off:
        return blocks[other].lines == blocks[off].lines and not blocks[off].phis
    values = [{label: value for value, label in arms(phi)} for phi in blocks[off].phis]
    return all(one.get(entry) == one.get(on) for one in values)


def _as_true(condition: str, name: str, holds: bool) -> tuple[str, tuple[str, ...]]:
    """Return the value that is true where condition is `holds`, and the instructions that make it."""
    return (condition, ()) if holds else (name, (f"{name} = xor i1 {condition}, true",))


def _safe(lines: Sequence[str], happens: str, number: int) -> list[str]:
    """Return lines with divisions by 1 where what they are moved from would not have happened."""
    moved = list[str]()
    for place, line in enumerate(lines):
        made = parse(line)
        if not _divides(made) or made.values[1].isdecimal():
            moved.append(line)
            continue
        dividend, by = made.operands
        divisor = Operand(by.type, f"%gj.divisor.{number}.{place}")
        moved.append(f"{divisor.value} = select i1 {happens}, {by}, {by.type} 1")
        moved.append(str(made._replace(operands=(dividend, divisor))))
    return moved


def _chosen(phi: str, condition: str, side: str, entry: str, *, when: bool) -> str | None:
    """Return the phi of a block after a side step as a choice, or None."""
    made = parse(phi)
    values = {label: value for value, label in made.arms}
    if made.flags or set(values) != {side, entry}:
        return None
    yes, no = (values[side], values[entry]) if when else (values[entry], values[side])
    return f"{made.result} = select i1 {condition}, {made.type} {yes}, {made.type} {no}"


def _without(body: Body, lines: tuple[str, ...], gone: tuple[str, ...]) -> Body:
    """Return body with other lines in its first block, which takes the place of those that are gone."""
    entry = body.blocks[0]
    rest = [block for block in body.blocks[1:] if block.label not in gone]
    others = [replace(one, lines=tuple(_from(line, gone, entry.label) for line in one.lines)) for one in rest]
    return replace(body, blocks=(replace(entry, lines=lines), *others))


def _from(line: str, gone: tuple[str, ...], entry: str) -> str:
    """Return a phi with the first block in place of those that are gone, each block once; others as they are."""
    if opcode(line) != "phi" or used(line).isdisjoint(gone):
        return line
    made = parse(line).with_labels(dict.fromkeys(gone, entry))
    each = {label: value for value, label in made.arms}
    return str(made.with_arms((value, label) for label, value in each.items()))
