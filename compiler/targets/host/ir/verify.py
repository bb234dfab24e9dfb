"""Verify: each pass must leave a body in SSA form, whose instructions LLVM would accept.

Each block ends in its one terminator; names and labels are unique and exist; phis have an arm for each predecessor; an
operand has the type of its definition, which dominates it; each instruction prints as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gridjit.compiler.targets.graph import dominators
from gridjit.compiler.targets.host.ir.body import Block, Body, Parameter
from gridjit.compiler.targets.host.ir.instructions import TERMINATORS, Instruction
from gridjit.compiler.targets.host.ir.parse import parse

# A value's place: the label of the block that defines it, and its position there; parameters are before all blocks.
_Place = tuple[str, int]


class MalformedError(Exception):
    """A pass left a body that is not well formed: the pass, the block, the instruction, and the rule it breaks."""


def verify(body: Body, after: str, given: Iterable[Parameter] = ()) -> None:
    """Raise MalformedError if a body is not well formed.

    after: the name of the pass that made it. given: the values that its instructions may read besides its parameters.
    """
    parameters = (*given, *body.parameters)
    for label, line, rule in _faults(body.blocks, {one.name: one.type for one in parameters}):
        raise MalformedError(f"after {after}: block {label}: {line}: {rule}")


def _faults(blocks: tuple[Block, ...], types: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the rules that blocks break, each with the block's label and the instruction. types: of parameters."""
    read = {block.label: tuple(map(parse, block.lines)) for block in blocks}
    for label, line in ((block.label, line) for block in blocks for line in block.lines):
        if not parse(line).known or str(parse(line)) != line:
            yield label, line, f"ir/parse.py does not know it; it reads {parse(line)}"
    if len(read) < len(blocks):
        yield "", "", "two blocks have one label"
        return
    yield from _form(read)
    places: dict[str, _Place] = dict.fromkeys(types, ("", 0))
    for label, instructions in read.items():
        for position, one in enumerate(instructions):
            if one.result in places:
                yield label, str(one), f"{one.result} has two definitions"
            if one.result:
                places[one.result] = (label, position)
                types[one.result] = one.result_type if one.known else ""
    yield from _edges(read)
    yield from _uses(read, places, types)


def _form(read: Mapping[str, tuple[Instruction, ...]]) -> Iterator[tuple[str, str, str]]:
    for label, instructions in read.items():
        ends = [one.opcode in TERMINATORS for one in instructions]
        if not ends or not ends[-1]:
            yield label, str(instructions[-1]) if instructions else "", "no terminator ends the block"
        if any(ends[:-1]):
            yield label, str(instructions[ends.index(True)]), "a terminator stands amid the block"
        phis = [one.opcode == "phi" for one in instructions]
        if any(phis[phis.count(True) :]):
            yield label, str(instructions[phis.index(True, phis.count(True))]), "a phi stands behind other instructions"


def _edges(read: Mapping[str, tuple[Instruction, ...]]) -> Iterator[tuple[str, str, str]]:
    """Yield terminators that lead nowhere, and phis whose arms are not their block's predecessors."""
    before: dict[str, Counter[str]] = {label: Counter() for label in read}
    for label, instructions in read.items():
        for successor in instructions[-1].labels:
            if successor not in before:
                yield label, str(instructions[-1]), f"no block is called {successor}"
                return
            before[successor][label] += 1
    if before[next(iter(read))]:
        yield next(iter(read)), "", "a block leads to the entry"
    for label, instructions in read.items():
        for one in instructions:
            if one.opcode == "phi" and Counter(one.labels) != before[label]:
                yield label, str(one), f"its block's predecessors are {', '.join(before[label].elements()) or 'none'}"


def _uses(
    read: Mapping[str, tuple[Instruction, ...]], places: Mapping[str, _Place], types: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the operands that no definition dominates, or whose type is not their definition's."""
    nearest = dominators(next(iter(read)), {label: ones[-1].labels for label, ones in read.items()})
    for label, instructions in read.items():
        for position, one in enumerate(instructions):
            for value, user in zip(one.values, _users(one, label, position), strict=True):
                if not value.startswith("%"):
                    continue
                if value not in places:
                    yield label, str(one), f"{value} has no definition"
                elif label in nearest and not _dominates(places[value], user, nearest):
                    yield label, str(one), f"its definition does not dominate this use of {value}"
            for operand in one.operands:
                if operand.type and types.get(operand.value) and types[operand.value] != operand.type:
                    yield label, str(one), f"{operand.value} is {types[operand.value]}, not {operand.type}"


def _users(one: Instruction, label: str, position: int) -> Iterator[_Place]:
    """Yield, for each value that an instruction reads, where it reads it: a phi does at the end of a predecessor."""
    if one.opcode == "phi":
        yield from ((predecessor, 1 << 30) for predecessor in one.labels)
    else:
        yield from ((label, position) for _ in one.values)


def _dominates(definition: _Place, use: _Place, nearest: Mapping[str, str]) -> bool:
    label, position = use
    if definition[0] in ("", label):
        return not definition[0] or definition[1] < position
    if label not in nearest:  # nothing leads to the predecessor
        return True
    while label != nearest[label]:
        label = nearest[label]
        if label == definition[0]:
            return True
    return False
