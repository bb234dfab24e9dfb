"""Induction variables that begin at a number and rise by a small one in each iteration: none of them is negative.

LLVM sees it where a loop is in one function. Where barriers cut the loop it is told, as indices into arrays count from
the end if they are negative: with that left out, threads side by side read memory side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridjit.compiler.targets.host.ir.body import Body, definitions_of
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.parse import parse

# Steps by which a number of 64 bits does not overflow before 2**48 turns, each with a barrier, have been taken.
_MOST = 1 << 15


def induction_variables(body: Body) -> frozenset[str]:
    """Return the names of body's induction variables, and of their next values."""
    lines = definitions_of(body.lines)
    return frozenset(name for made in map(parse, lines.values()) for name in _counter(made, lines))


def _counter(phi: Instruction, lines: dict[str, str]) -> Iterator[str]:
    """Yield the names that a phi and its steps have, if it is an induction variable."""
    values = [value for value, _ in phi.arms] if phi.type == "i64" else []
    steps = [value for value in values if not value.isdecimal()]
    if len(steps) < len(values) and all(_is_step(lines.get(step, ""), phi.result) for step in steps):
        yield from (phi.result, *steps)


def _is_step(line: str, name: str) -> bool:
    found = parse(line)
    if found.opcode != "add" or found.kind != "i64" or not (found.wraps and found.is_binary):
        return False
    of, by = found.values
    return of == name and by.isdecimal() and int(by) <= _MOST
