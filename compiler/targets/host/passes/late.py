"""Sunk iterations: what peeled threads do by themselves in a region, as a function that is run after their row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridjit.compiler.targets.host.ir.body import defined
from gridjit.compiler.targets.host.passes.peeled_distances import Distances
from gridjit.compiler.targets.host.passes.peeling import Stop
from gridjit.compiler.targets.host.passes.region_text import RegionWriter, names_made, names_used
from gridjit.compiler.targets.host.passes.sinking import late_name, postponed


def late_text(writer: RegionWriter, axis: str, stops: Sequence[Stop]) -> str:
    """Return the definition of that function for the region of a writer; "" if they must do it in the midst of the row.

    axis: that of a row. stops: where along it they are.
    """
    whole, number = writer.whole, writer.number
    left = whole.live[number] & writer.makes() & whole.slots.keys()
    changing = {name for name in left if not whole.slots[name].uniform}
    # What other regions made may differ from thread to thread, too.
    lines = {name: line for block in whole.blocks.values() for line in block.lines if (name := defined(line))}
    distances = Distances(lines, axis, stops)
    found = postponed(writer.values().blocks, whole.starts[number], whole.again, whole.slots, changing, distances)
    if found is None:
        return ""
    made, read = names_made(found), names_used(found)
    mentioned = {label: made[label] | read[label] for label in found}
    alone = replace(whole, blocks=found, made=made, mentioned=mentioned)
    return RegionWriter(whole=alone, number=number).text(late_name(number))
