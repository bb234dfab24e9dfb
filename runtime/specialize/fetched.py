"""fetched: a job's code from a remote cache, checked as stored code is, and put into the cache's own folder.

A folder that keeps nothing costs another request in the next process, and nothing in this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gridjit.base.interrupts import let_through
from gridjit.cache.bundle import import_bundle, read_bundle
from gridjit.cache.disk import note_use
from gridjit.cache.errors import CacheError, warn
from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.phases import phase
from gridjit.runtime.specializations.look import name_of, shape_of
from gridjit.runtime.specialize.keep import put

if TYPE_CHECKING:
    from gridjit.cache.remote.tier import Found, Remote, RemoteTier
    from gridjit.compiler.values.artifact import Compiled
    from gridjit.runtime.process.session import Session
    from gridjit.runtime.specializations.look import Look
    from gridjit.runtime.specializations.table import Specialization
    from gridjit.runtime.specialize.cold import Cold


def fetched(look: Look, cold: Cold, checked: Callable[[bytes | None], Compiled | None]) -> tuple[Compiled | None, str]:
    """Return a remote cache's code for the launch, and where it was; None if no remote has it.

    checked: returns the code in an entry, if it proves right.
    """
    tier = cold.here.remote
    if tier is None:
        return None, ""
    with phase("remote cache"):
        if (packed := _packed(look, cold, tier, checked)) is not None:
            return packed, "in the program's pack in a remote cache"
        for found in tier.find(look.key, look.key_of):
            made = checked(found.payload)
            if made is not None and not made.artifact.private:
                tier.keep(len(found.payload), partial(_keep, look, made.artifact, found, cold))
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
    remote = next((one for one in remotes if one.address.lease and one.writes and _answers(one)), None)
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
            tier.behind(remote, got.done)


def _answers(remote: Remote) -> bool:
    """Return whether a launch may wait for a remote's leases: neither they nor entries were asked for in vain."""
    return not (remote.breaker.is_open or remote.leasing.is_open)


def _may_not_compile(cold: Cold) -> bool:
    return cold.here.settings.assert_no_compile or not cold.kernel.may_compile


def _keep(look: Look, artifact: Artifact, found: Found, cold: Cold) -> None:
    """Put an entry into the folder."""
    look.store.together(partial(put, look, artifact, found.key, found.payload, cold.locks))
    note_use(look.store, found.key, hit=True)


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


def _packed(
    look: Look, cold: Cold, tier: RemoteTier, checked: Callable[[bytes | None], Compiled | None]
) -> Compiled | None:
    """Return the launch's code from the program's packs, which are read when they are first asked for."""
    for remote, data in tier.packs():
        _take_in(remote, data, cold, tier)
    for remote, store in [*tier.packed]:
        for _, name in look.again(store).candidates():
            if (made := checked(store.get(name))) is not None:
                remote.hit()
                note_use(look.store, name, hit=True)
                return made
    return None


def _take_in(remote: Remote, data: bytes, cold: Cold, tier: RemoteTier) -> None:
    """Keep a pack's entries in memory, and put them into the folder, which takes longer than to read them."""
    store, secret = MemoryStore(), remote.sealing.folder_secret
    try:
        for entry in read_bundle(data, secret):
            if entry.payload is not None:
                store.put(entry.key, entry.payload, suffix=entry.suffix)
    except (CacheError, OSError) as error:
        let_through(error)
        warn(f"a pack in a remote cache is not used: {error}")
        return
    tier.packed.append((remote, store))
    tier.keep(len(data), partial(import_bundle, data, cold.store, cold.locks, secret))
