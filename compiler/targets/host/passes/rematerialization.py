"""Rematerialization: the values that a region computes again rather than keeps across a barrier."""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.targets.host.ir.body import Body, definitions_of, opcode, used
from gridjit.compiler.targets.host.ir.opcodes import CHEAP

_MOST_STEPS = 24


def rematerialized(body: Body, crossing: Iterable[str], given: Iterable[str]) -> dict[str, str]:
    """Return name -> instruction, in order, of the values that regions compute again, and of all that these need.

    crossing: the values in question. given: the values that every region has anyway.
    """
    lines = definitions_of(body.lines)
    known: dict[str, tuple[str, ...] | None] = dict.fromkeys(given, ())
    chosen = dict.fromkeys(step for name in crossing for step in _recipe(name, lines, known) or ())
    return {name: lines[name] for name in chosen}


def _recipe(name: str, lines: dict[str, str], known: dict[str, tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the names to compute for name, in order, or None if it has to be kept. known collects the answers."""
    if name in known:
        return known[name]
    known[name] = None
    line = lines.get(name, "")
    if line and opcode(line) in CHEAP:
        parts = [_recipe(part, lines, known) for part in sorted(used(line))]
        if None not in parts:
            steps = dict.fromkeys(step for part in parts for step in part or ())
            if len(steps) < _MOST_STEPS:
                known[name] = (*steps, name)
    return known[name]
