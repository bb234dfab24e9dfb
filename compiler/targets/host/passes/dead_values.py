"""Dead values: a kernel without the values that nothing uses any more once its loops have been rewritten.

A loop over a range computes the number of its iterations beforehand, by a division. If all threads take iterations
together, nothing uses that number. LLVM would find out too, but only after conditions and divisions of a row have been
rewritten for its sake.
"""

from __future__ import annotations

from dataclasses import replace

from gridjit.compiler.targets.host.ir.body import Block, Body, defined, definitions_of, lines_of, opcode, used
from gridjit.compiler.targets.host.ir.opcodes import EARLY
from gridjit.compiler.targets.host.ir.parse import parse

# Instructions that do nothing but make their values.
_SILENT = EARLY | {"phi", "udiv", "sdiv", "urem", "srem"}


def without_dead_values(body: Body) -> Body:
    """Return body without values that nothing uses, and without branches whose two ways do the same."""
    blocks = _with_used(body.blocks)
    while (fewer := _without_side_step(blocks)) is not None:
        blocks = _with_used(fewer)
    return replace(body, blocks=blocks)


def _with_used(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return blocks without values that are used by nothing but such values."""
    lines = definitions_of(lines_of(blocks))
    needed = {line for line in lines_of(blocks) if defined(line) is None or opcode(line) not in _SILENT}
    waiting, kept = list(needed), set[str]()
    while waiting:
        new = (used(waiting.pop()) & lines.keys()) - kept
        kept |= new
        waiting += (lines[name] for name in new)
    return tuple(
        replace(block, lines=tuple(line for line in block.lines if line in needed or defined(line) in kept))
        for block in blocks
    )


def _without_side_step(blocks: tuple[Block, ...]) -> tuple[Block, ...] | None:
    """Return blocks without one branch whose ways meet again after blocks that do nothing; None if there is none."""
    by_label = {block.label: block for block in blocks}
    before: dict[str, list[str]] = {}
    for block in blocks:
        for label in block.successors:
            before.setdefault(label, []).append(block.label)
    for block in blocks:
        if not block.end.condition:
            continue
        ways = block.end.labels
        empty = {label for label in ways if _is_empty(by_label[label]) and before[label] == [block.label]}
        targets = {by_label[label].successors[0] if label in empty else label for label in ways}
        if len(targets) == 1 and empty:
            (target,) = targets
            joined = _joined(by_label[target], block.label, empty)
            if joined is not None and target != block.label:
                made = {target: joined, block.label: replace(block, lines=(*block.lines[:-1], f"br label {target}"))}
                return tuple(made.get(one.label, one) for one in blocks if one.label not in empty)
    return None


def _is_empty(block: Block) -> bool:
    return len(block.lines) == 1 and bool(block.end.target)


def _joined(block: Block, source: str, gone: set[str]) -> Block | None:
    """Return a block to which `source` leads directly, not through `gone`; None if its phis tell these apart."""
    lines = list[str]()
    for line in block.lines:
        if opcode(line) == "phi":
            phi = parse(line)
            own = {value for value, label in phi.arms if label in {source, *gone}}
            if len(own) != 1:
                return None
            kept = dict.fromkeys(arm for arm in phi.arms if arm[1] not in {source, *gone})
            line = str(phi.with_arms([*kept, (own.pop(), source)]))
        lines.append(line)
    return replace(block, lines=tuple(lines))
