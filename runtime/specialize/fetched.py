"""fetched: a job's code from a remote cache, checked as stored code is, and put into the cache's own folder.

A folder that keeps nothing costs another request in the next process, and nothing in this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gridjit.base.interrupts import let_through
from gridjit.cache.bundle import import_bundle
from gridjit.cache.disk import note_use
from gridjit.cache.errors import CacheError, warn
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.phases import phase
from gridjit.runtime.specializations.look import name_of, shape_of
from gridjit.runtime.specialize.keep import put

if TYPE_CHECKING:
    from gridjit.cache.remote.tier import RemoteTier
    from gridjit.compiler.values.artifact import Compiled
    from gridjit.runtime.process.session import Session
    from gridjit.runtime.specializations.look import Look
    from gridjit.runtime.specializations.table import Specialization
    from gridjit.runtime.specialize.cold import Cold


def fetched(look: Look, cold: Cold, checked: Callable[[bytes], Compiled | None]) -> tuple[Compiled | None, str]:
    """Return a remote cache's code for the launch, and where it was, "" if no remote has it.

    Code that came with others is in the folder only. checked: returns the code in an entry, if it proves right.
    """
    tier = cold.here.remote
    if tier is None or not cold.form.cached:
        return None, ""
    with phase("remote cache"):
        if _add_packs(tier, cold) and look.again().stored is not None:
            return None, "the program's pack in a remote cache"
        for found in tier.find(look.key, look.key_of):
            made = checked(found.payload)
            if made is not None and not made.artifact.private:
                look.store.together(partial(put, look, made.artifact, found.key, found.payload, cold.locks))
                note_use(look.store, found.key, hit=True)
                return made, f"in the remote cache {found.remote}"
    return None, ""


def pulled(look: Look, here: Session) -> str | None:
    """Put a job's code from a remote cache into the folder, and return its name; None if no remote has it."""
    for found in () if here.remote is None else here.remote.find(look.key, look.key_of):
        artifact = Artifact.from_bytes(found.payload)
        if artifact is not None and look.is_for(artifact) and look.agrees(artifact):
            look.store.together(partial(put, look, artifact, found.key, found.payload, here.locks()))
            return found.key
    return None


def led(
    look: Look, cold: Cold, make: Callable[[], Specialization], find: Callable[[], Specialization | None]
) -> Specialization:
    """Return find()'s code once another machine has written it, or make()'s, for which others wait meanwhile."""
    tier = cold.here.remote
    remotes = () if tier is None or _may_not_compile(cold) else tier.remotes
    remote = next((one for one in remotes if one.address.lease and one.writes), None)
    if tier is None or remote is None:
        return make()
    from gridjit.cache.remote.lease import Lease, Waiting

    def again() -> Specialization | None:
        remote.forget_misses(look.key)
        return find()

    with phase("wait for others"):
        got = Waiting(remote, look.key).lead_or_find(again)
    if got is not None and not isinstance(got, Lease):
        return got
    try:
        return make()
    finally:
        if got is not None:
            tier.behind(got.done)


def _may_not_compile(cold: Cold) -> bool:
    return cold.here.settings.assert_no_compile or not cold.kernel.may_compile


def offer(look: Look, artifact: Artifact, here: Session) -> None:
    """Write compiled code to the remote caches, behind the program."""
    if artifact.private or (tier := here.remote) is None or not any(remote.writes for remote in tier.remotes):
        return
    name = name_of(look.key, artifact.footprint.facts, artifact.dependencies)
    tier.offer(look.key, shape_of(artifact), name, artifact.to_bytes())


def offer_stored(look: Look, here: Session) -> None:
    """Write the code that another process stored to the remote caches, behind the program."""
    name = look.again().stored
    data = None if name is None else look.store.get(name)
    artifact = None if data is None else Artifact.from_bytes(data)
    if artifact is not None:
        offer(look, artifact, here)


def _add_packs(tier: RemoteTier, cold: Cold) -> bool:
    """Put the entries of a program's packs into the folder; return whether there were any."""
    added = [_is_pack_added(data, secret, cold) for data, secret in tier.packs()]
    return any(added)


def _is_pack_added(data: bytes, secret: bytes | None, cold: Cold) -> bool:
    try:
        done = cold.store.together(partial(import_bundle, data, cold.store, cold.locks, secret))
    except (CacheError, OSError) as error:
        let_through(error)
        warn(f"a pack in a remote cache is not used: {error}")
        return False
    return bool(done.added or done.merged)
