"""Errors of kernels for people: in warp operations, and of threads that wait in loops for each other for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.compiler.source.code_place import shown
from gridjit.compiler.targets.host.emit.plan import ABSENT, MISSING, OUTSIDE
from gridjit.compiler.targets.host.ir.warp_kinds import WORDS
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import Dim3

if TYPE_CHECKING:
    from gridjit.runtime.devices.host.launch import Status


def lane_trouble(code: int, block: Dim3, found: Dim3, blockdim: Dim3) -> str:
    """Return the error in words; found: the number of a thread in its block, lanes as bits, and a kind of operation."""
    number, bits, kind = found
    words, lane = WORDS[kind], number % 32
    who = f"thread {_place(number, blockdim)} of block {block}"
    if code == MISSING:
        return (
            f"{who} waits at {words} for {_lanes(bits)} of its warp, which its mask names and which wait elsewhere or "
            "with another mask, so none can continue; name the lanes that reach it"
        )
    if code == OUTSIDE:
        mask = f"the mask 0x{bits % 2**32:08x}"
        return f"{who} calls {words} with {mask}, which does not name its own lane, {lane}; add it to the mask"
    if code == ABSENT:
        return (
            f"{who}, lane {lane} of its warp, uses {words} to read from a lane that does not take part; "
            f"{_lanes(bits)} do, and CUDA leaves the value of others undefined; read from one of these"
        )
    raise ValueError(f"a kernel has no code {code}")


def _place(number: int, blockdim: Dim3) -> Dim3:
    x, y, _ = blockdim
    return number % x, number // x % y, number // (x * y)


def _lanes(bits: int) -> str:
    """Return lanes as a person counts them: "lanes 0 to 3, 7 and 9"."""
    lanes = [lane for lane in range(32) if bits >> lane & 1]
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][-1] == lane - 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    parts = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else "none"
    return f"lane{'s' if len(lanes) != 1 else ''} {listed}"


def vain_wait(artifact: Artifact, cut: int, where: Status, patience: int) -> LaunchError:
    """Return the error for a thread that waited at a cut of a spin loop for so many ns without progress."""
    places = artifact.metadata.get("waits")
    place = places.get(str(cut)) if isinstance(places, dict) else None
    line = f", at {shown(place, whole=True)}" if place else ""
    return LaunchError(
        f"{artifact.kernel}, tid={list(where.thread)} ctaid={list(where.block)}: the thread waits in a loop{line}, and "
        f"no thread of the grid has made progress for {patience / 1e9:g} s: what it waits for is never written, or "
        "only by a thread that waits too; GRIDJIT_HOST_PATIENCE=SECONDS sets how long that may last; 0 sets no limit"
    )
