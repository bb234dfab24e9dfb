"""Epochs: a thread's clock as a value of the kernel, if only barriers of the block advance it.

It is the same for all threads then, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.sanitizer.routines.record import CLOCK_BITS

# A clock that has reached its end stays there: nothing is checked any more.
LAST = (1 << CLOCK_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockClocks:
    """The value of the clock where each block begins, and the phis that make some of these values."""

    entering: dict[str, str]
    phis: dict[str, str]


def clock_after(label: str, number: int) -> str:
    """Return the name of the clock after the barrier that is the instruction of a number in a block."""
    return f'%"gj.clock.{label[1:].strip(chr(34))}.{number}"'


def is_clock(name: str) -> bool:
    """Return whether a value is a clock."""
    return name.startswith('%"gj.clock.')


def step(old: str, new: str) -> list[str]:
    """Return the code that advances a clock."""
    moved = f'{new[:-1]}.next"'
    return [f"{moved} = add i32 {old}, 1", f"{new} = call i32 @llvm.umin.i32(i32 {moved}, i32 {LAST})"]


def clocks(body: Body, waits: Callable[[str], bool]) -> BlockClocks:
    """Return the clocks of a body. waits: whether threads wait at an instruction."""
    blocks = body.by_label
    before: dict[str, list[str]] = {label: [] for label in blocks}
    for label, block in blocks.items():
        for successor in dict.fromkeys(block.successors):
            before[successor].append(label)
    joins: dict[str, str] = {}
    entering, found = _entering(body, blocks, before, joins, waits)
    while found:
        joins |= {label: f'%"gj.clock.{label[1:].strip(chr(34))}.in"' for label in found}
        entering, found = _entering(body, blocks, before, joins, waits)
    return BlockClocks(entering=entering, phis=_phis(joins, before, blocks, entering, waits))


def _entering(
    body: Body,
    blocks: Mapping[str, Block],
    before: Mapping[str, list[str]],
    joins: Mapping[str, str],
    waits: Callable[[str], bool],
) -> tuple[dict[str, str], list[str]]:
    """Return the clock where each block begins, given those of joins; and the blocks that need to be joins, too."""
    entering = {body.blocks[0].label: "0"}
    waiting = [body.blocks[0].label]
    while waiting:
        block = blocks[waiting.pop()]
        leaving = _leaving(block, entering[block.label], waits)
        for label in block.successors:
            if label not in entering:
                entering[label] = joins.get(label, leaving)
                waiting.append(label)
    apart = [
        label
        for label in entering
        if label not in joins
        and len({_leaving(blocks[one], entering[one], waits) for one in before[label] if one in entering}) > 1
    ]
    return entering, apart


def _phis(
    joins: Mapping[str, str],
    before: Mapping[str, list[str]],
    blocks: Mapping[str, Block],
    entering: Mapping[str, str],
    waits: Callable[[str], bool],
) -> dict[str, str]:
    return {
        label: f"{name} = phi i32 "
        + ", ".join(f"[ {_leaving(blocks[one], entering.get(one, '0'), waits)}, {one} ]" for one in before[label])
        for label, name in joins.items()
    }


def _leaving(block: Block, entering: str, waits: Callable[[str], bool]) -> str:
    last = [number for number, line in enumerate(block.lines) if waits(line)]
    return clock_after(block.label, last[-1]) if last else entering
