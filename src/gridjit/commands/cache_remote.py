"""`gridjit cache push`, `pull` and `pack`: entries to and from remote caches, each or as one bundle for a program."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gridjit.cache.bundle import bundle_bytes, entries_in, import_bundle
from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import add_compile
from gridjit.cache.remote.tier import Remote
from gridjit.cache.remote.writers import Refused
from gridjit.cache.store import is_key
from gridjit.commands import printing
from gridjit.commands.inventory import EXTENSIONS, KEY_DIGITS, ListedEntry, about, open_cache, read_items, select_some
from gridjit.commands.progress import steps
from gridjit.commands.recorded import recorded
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.runtime.process.remote import open_remote
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import shape_of


def run_push(given: argparse.Namespace) -> int:
    """Write compiled code to the remotes that lack it; returns 0."""
    store, remotes = open_cache(given.dir), _remotes(given, writes=True)
    items = [item for item in _chosen(store, given) if item.job]
    done = []
    for remote in remotes:
        new = 0
        with steps(given, "writing", len(items)) as step, _faults(remote):
            for item in items:
                step(item.kernel)
                new += _pushed(remote, store, item)
        for what in remote.replaced:
            printing.say(f"gridjit: replaced: {what}", error=True)
        done.append({**_named(remote), "added": new, "known": len(items) - new, "bytes": remote.sent})
    return _report(given, done)


def run_pull(given: argparse.Namespace) -> int:
    """Add a remote's entries, or a pack's, to the cache; returns 0, or 1 if some were refused."""
    store = open_cache(given.dir, new=True)
    locks = Locks(store.folder, allow_shared=session().settings.cache_allow_shared)
    done = []
    for remote in _remotes(given):
        name = given.pack or remote.address.pack
        with _faults(remote):
            counts = (
                _pack_pulled(remote, name, store, locks, given) if name else _all_pulled(remote, store, locks, given)
            )
        if not any(counts.values()):
            raise GridjitError(f"remote cache {remote.address.told} has no entries: is its address right?")
        done.append({**_named(remote), **counts, "bytes": remote.received})
    return _report(given, done)


def run_pack(given: argparse.Namespace) -> int:
    """Write entries to the remotes as one bundle; returns 0."""
    store, remotes = open_cache(given.dir), _remotes(given, writes=True)
    items = read_items(store, given)
    chosen = select_some(items, given.kernel, store.folder)
    if given.file:
        chosen = _recorded(chosen, given.file)
    extensions = [item for item in items if item.kind == EXTENSIONS and item not in chosen]
    kept = [item.info for item in (*about(chosen, items), *extensions)]
    if not any(item.artifact for item in chosen):
        raise GridjitError(f"{store.folder} holds no code for it: run the program, or `gridjit warm`, first")
    done = []
    for remote in remotes:
        with _faults(remote):
            with steps(given, "packing", len(kept)) as step:
                secret = remote.sealing.folder_secret
                data = bundle_bytes(store, kept, secret, lambda key: step(key[:KEY_DIGITS]))
            with steps(given, "writing", None) as step:
                step(f"pack {given.name}")
                remote.write_pack(given.name, data)
        done.append({**_named(remote), "entries": len(kept), "bytes": len(data)})
    return _report(given, done)


def _remotes(given: argparse.Namespace, *, writes: bool = False) -> list[Remote]:
    """Return the remotes that the command line or the setting names; raises ConfigError for one that is of no use."""
    here = session()
    named = given.remote or here.settings.cache_remotes
    if not named:
        raise ConfigError("no remote cache is named: give --remote URL, or set GRIDJIT_CACHE_REMOTE")
    found = [open_remote(address, here.settings, here.secret) for address in named]
    if writes and not (found := [remote for remote in found if remote.writes]):
        raise ConfigError(
            "no remote cache that is named is written to: it is ?read-only, or there is no GRIDJIT_CACHE_SIGNING_KEY"
        )
    return found


def _chosen(store: DiskStore, given: argparse.Namespace) -> list[ListedEntry]:
    return select_some(read_items(store, given), given.kernel, store.folder)


def _recorded(items: Sequence[ListedEntry], file: Path) -> list[ListedEntry]:
    """Return the entries that recorded needs are of."""
    works, damaged = recorded(file, None)
    if damaged:
        raise GridjitError(f"{damaged[0].label}: {damaged[0].error}")
    wanted = {(work.kernel.replace(":", "."), str(work.signature), str(work.target)) for work in works}
    code = {
        item.info.key: (item.kernel, item.artifact.signature, str(item.artifact.target))
        for item in items
        if item.artifact
    }
    if lacking := sorted(wanted - set(code.values())):
        kernel, signature, target = lacking[0]
        more = f", and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise GridjitError(
            f"the cache lacks {kernel}{signature} for {target}{more}, which {file} names: `gridjit warm --from {file}` "
            "compiles it, and nothing was written"
        )
    return [item for item in items if code.get(item.info.key) in wanted]


def _pushed(remote: Remote, store: DiskStore, item: ListedEntry) -> bool:
    payload = store.get(item.info.key)
    artifact = None if payload is None else Artifact.from_bytes(payload)
    if payload is None or artifact is None:
        return False
    return remote.write(item.job, shape_of(artifact), item.info.key, payload)


def _all_pulled(remote: Remote, store: DiskStore, locks: Locks, given: argparse.Namespace) -> dict[str, int]:
    """Add all of a remote's entries; return how many were added, known and refused."""
    with steps(given, "listing", None) as step:
        step("entries")
        keys = [key for key in remote.all_keys() if is_key(key)]
    outcomes: dict[str, str] = {}

    def pull() -> None:
        with steps(given, "reading", len(keys)) as step:
            for key in keys:
                step(key[:KEY_DIGITS])
                outcomes[key] = "known" if store.find(key) else _pulled(remote, key, store, locks)

    store.together(pull)
    kept = (what if what != "added" or store.find(key) else "dropped" for key, what in outcomes.items())
    return {"added": 0, "known": 0, "refused": 0, **Counter(kept)}


def _pulled(remote: Remote, key: str, store: DiskStore, locks: Locks) -> str:
    try:
        payload = remote.read(key)
    except Refused as refused:
        printing.say(f"gridjit: {key[:KEY_DIGITS]} {refused.reason}", error=True)
        return "refused"
    artifact = None if payload is None else Artifact.from_bytes(payload)
    job = "" if artifact is None else str(artifact.metadata.get("job", ""))
    if payload is None or artifact is None or not is_key(job):
        return "refused"
    store.put(key, payload, suffix=artifact.suffix)
    add_compile(store, job, shape_of(artifact), key, locks)
    return "added"


def _pack_pulled(
    remote: Remote, name: str, store: DiskStore, locks: Locks, given: argparse.Namespace
) -> dict[str, int]:
    try:
        with steps(given, "reading", None) as step:
            step(f"pack {name}")
            data = remote.read_pack(name)
    except Refused as refused:
        raise GridjitError(f"remote cache {remote.address.shown}: pack {name} {refused.reason}") from None
    if data is None:
        raise GridjitError(f"remote cache {remote.address.shown} has no pack {name}: `gridjit cache pack` writes one")
    with steps(given, "adding", entries_in(data)) as step:
        secret = remote.sealing.folder_secret
        done = import_bundle(data, store, locks, secret, lambda key: step(key[:KEY_DIGITS]))
    counts = {"added": len(done.added) + len(done.merged), "known": len(done.known), "refused": len(done.refused)}
    return counts | ({"dropped": len(done.dropped)} if done.dropped else {})


@contextmanager
def _faults(remote: Remote) -> Iterator[None]:
    """Raise a fault of a remote as an error of the command."""
    try:
        yield
    except (OSError, CacheError) as error:
        shown = remote.address.shown
        raise GridjitError(str(error) if shown in str(error) else f"remote cache {shown}: {error}") from None


def _named(remote: Remote) -> dict[str, Any]:
    return {"remote": remote.address.shown}


def _report(given: argparse.Namespace, done: Sequence[dict[str, Any]]) -> int:
    """Print the result for each remote; returns 0, or 1 if entries were refused or not kept."""
    if given.json:
        printing.print_json(list(done))
    for one in () if given.json else done:
        counts = ", ".join(f"{value} {name}" for name, value in one.items() if name not in ("remote", "bytes"))
        printing.say(f"{one['remote']}: {counts} ({printing.size_text(one['bytes'])})")
        if one.get("dropped"):
            printing.say("dropped: the cache folder did not keep them; `gridjit info` shows its limits")
    return 1 if any(one.get("refused") or one.get("dropped") for one in done) else 0
