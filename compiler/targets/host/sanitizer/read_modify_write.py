"""Read-modify-write: a read that is recorded together with the write that follows (`x[i] += 1`), as one access.

Nothing between the two orders accesses, and there is no other write; so what races with the read races with the write,
and recording the write is enough. The record says that it was an update: a write of an unchanged value does not
race with another write, but it does with a read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.host.analysis.exit_edges import without_failing_edges
from gridjit.compiler.targets.host.ir.accesses import Access, accesses
from gridjit.compiler.targets.host.ir.body import Block, Body, rename, used
from gridjit.compiler.targets.host.ir.intrinsics import OUTSIDE
from gridjit.compiler.targets.host.ir.opcodes import CHEAP
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.sanitizer.barrier_intervals import Position

# How far the values that an address is made of are followed.
_DEEPEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """For each write that is an update, the instruction that reads; and these instructions."""

    writes: Mapping[Position, Position]
    reads: frozenset[Position]


def updates(body: Body, definitions: Mapping[str, str]) -> Updates:
    """Return the updates of a body. definitions: the instructions that define its values."""
    found: dict[Position, Position] = {}
    for chain in _chains(body):
        found |= _in(chain, definitions)
    return Updates(writes=found, reads=frozenset(found.values()))


def _chains(body: Body) -> Iterator[list[tuple[Position, str]]]:
    """Yield the instructions that threads run one after another, unless they end: blocks that nothing else leads to."""
    blocks = {block.label: block for block in without_failing_edges(body.blocks)}
    before: dict[str, int] = {}
    for block in blocks.values():
        for label in set(block.successors):
            before[label] = before.get(label, 0) + 1
    goes_on = {label: _next(block, before) for label, block in blocks.items()}
    inner = set(goes_on.values())
    for label in blocks:
        if label not in inner:
            yield list(_chain(label, blocks, goes_on))


def _next(block: Block, before: Mapping[str, int]) -> str | None:
    only = block.successors[0] if len(set(block.successors)) == 1 else None
    return only if only is not None and before[only] == 1 else None


def _chain(
    label: str | None, blocks: Mapping[str, Block], goes_on: Mapping[str, str | None]
) -> Iterator[tuple[Position, str]]:
    while label is not None:
        for number, line in enumerate(blocks[label].lines):
            yield (label, number), line
        label = goes_on[label]


def _in(chain: list[tuple[Position, str]], definitions: Mapping[str, str]) -> dict[Position, Position]:
    found: dict[Position, Position] = {}
    reads: dict[tuple[str, int], Position] = {}
    for here, line in chain:
        if _orders(line):
            reads.clear()
        for access in accesses(line):
            what = (_address(access.at, definitions), access.scalar)
            if access.kind == "read" and _plain(access):
                reads.setdefault(what, here)
            elif access.kind != "read":
                if access.kind == "write" and access.bits and _plain(access) and what in reads:
                    found[here] = reads[what]
                reads.clear()
    return found


def _plain(access: Access) -> bool:
    return access.scalar > 0 and access.scalar == access.grain


def _orders(line: str) -> bool:
    """Return whether an instruction may order accesses, or make some that are not seen."""
    one = parse(line)
    if one.opcode == "call":
        return not one.callee_name.startswith("llvm.") and one.callee_name != OUTSIDE
    return one.opcode in ("fence", "atomicrmw", "cmpxchg", "invoke")


def _address(value: str, definitions: Mapping[str, str], depth: int = _DEEPEST) -> str:
    """Return the expression that a value is computed by, which is equal for equal values."""
    one = parse(definitions.get(value, ""))
    if not depth or one.opcode not in CHEAP:
        return value
    made = str(one._replace(result=""))
    return f"({rename(made, {part: _address(part, definitions, depth - 1) for part in used(made)})})"
