"""vain: the error for threads that wait in loops for each other, so that none of them ever continues."""

from __future__ import annotations

from gridjit.compiler.source.code_place import shown
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import LaunchError
from gridjit.runtime.devices.host.launch import Status


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
