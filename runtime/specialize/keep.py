"""keep: stores a new artifact, then its shape in the manifest, so that a manifest names only stored artifacts."""

from __future__ import annotations

import dataclasses

from gridjit.cache.disk import note_use
from gridjit.cache.errors import CacheError
from gridjit.cache.history import PastJob, add_job
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import add_compile
from gridjit.compiler.values.artifact import Artifact
from gridjit.runtime.devices import hooks
from gridjit.runtime.specializations.look import Look, name_of, shape_of


def keep(look: Look, artifact: Artifact, locks: Locks) -> tuple[Artifact, str]:
    """Store an artifact, then its shape, then a new job's fields; return it, and its name in the store.

    The name is "" for an artifact that stays in this process. So does an artifact that cannot be read back: it comes
    back with the reason.
    """
    if artifact.private:
        return artifact, ""
    try:
        name, data = name_of(look.key, artifact.footprint.facts, artifact.dependencies), readable(artifact)
    except (CacheError, ValueError, TypeError) as error:
        return dataclasses.replace(artifact, private=(f"it could not be read back from a file: {error}",)), ""
    put(look, artifact, name, data, locks)
    if not artifact.needs_launch:
        note_use(look.store, name, hit=False)
    return artifact, name


def put(look: Look, artifact: Artifact, name: str, data: bytes, locks: Locks) -> None:
    """Store an artifact's bytes under its name, then its shape, then a new job's fields."""
    look.store.put(name, data, suffix=artifact.suffix)
    if not add_compile(look.store, look.key, shape_of(artifact), name, locks).shapes:
        add_job(look.store, look.job.kernel, PastJob.of(look.key, look.job.told))


def readable(artifact: Artifact) -> bytes:
    """Return an artifact's bytes; raises ValueError or TypeError unless they are read back as the same artifact."""
    data = artifact.to_bytes()
    again = Artifact.read(data)
    if again.to_bytes() != data:
        raise ValueError("part of it would be read back as something else")
    if hooks.resolve(again.effects.hooks) is None or hooks.resolve_module(again.effects) is None:
        raise ValueError("a function that it wants called cannot be made again")
    return data
