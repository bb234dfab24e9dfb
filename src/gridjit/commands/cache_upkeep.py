"""`gridjit cache verify`, `gc` and `clear`: check every entry, enforce the bounds, remove entries.

They report only what is really gone: if a read-only folder keeps its files, they say so.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence

from gridjit.cache.disk import DiskStore
from gridjit.cache.lock import Locks
from gridjit.cache.remote.counts import forget_counts
from gridjit.cache.store import EntryInfo
from gridjit.commands import printing
from gridjit.commands.inventory import KEY_DIGITS, open_cache, read_items, select_some
from gridjit.commands.progress import steps
from gridjit.runtime.process.session import session


def run_verify(given: argparse.Namespace) -> int:
    """Read every entry; returns 0 if all are good, else 1."""
    store = open_cache(given.dir)
    with steps(given, "checking", sum(1 for _ in store.entries())) as step:
        found = store.verify(remove=given.remove, each=lambda key: step(key[:KEY_DIGITS]))
    left = _still_there(store, found.bad) if given.remove else []
    if given.json:
        keys: dict[str, object] = {"bad": [info.key for info in found.bad], "left": [info.key for info in left]}
        keys["reasons"] = list(found.reasons)
        printing.print_json({"good": found.good, "removed": given.remove and not left, **keys})
        return 1 if found.bad else 0
    for info, reason in zip(found.bad, found.reasons, strict=True):
        printing.say(f"{info.key}{info.suffix} {reason}")
    gone = " and removed" if found.bad and given.remove and not left else ""
    printing.say(f"{found.good} good, {len(found.bad)} bad{gone}")
    _say_left(store, left)
    return 1 if found.bad else 0


def run_gc(given: argparse.Namespace) -> int:
    """Remove leftovers and entries beyond the bounds; returns 0, or 1 if some of them are still there."""
    store = open_cache(given.dir)
    limits = session().settings
    max_bytes = given.max_size or limits.cache_bytes
    max_entries = limits.cache_entries if given.max_entries is None else given.max_entries
    before = 0.0 if given.older_than is None else time.time() - given.older_than
    gone = surplus(store.entries(), max_bytes=max_bytes, max_entries=max_entries, before=before)
    swept, left = 0, list[EntryInfo]()
    if not given.dry_run:
        left = _remove(store, gone, given)
        swept = store.sweep() + Locks(store.folder, allow_shared=limits.cache_allow_shared).sweep()
        store.collect()
    return _report(given, store, gone, left, {"leftovers": swept})


def run_clear(given: argparse.Namespace) -> int:
    """Remove the selected entries; returns 0, or 1 if some of them are still there.

    A kernel that has nothing there is a GridjitError: a name was misspelt.
    """
    store = open_cache(given.dir)
    if given.kernel is None:
        gone = list(store.entries())
    else:
        gone = [item.info for item in select_some(read_items(store, given), given.kernel, store.folder)]
    left: list[EntryInfo] = []
    if not given.dry_run:
        left = _remove(store, gone, given)
        if given.kernel is None:
            store.forget_uses()
            forget_counts(store.place)
    return _report(given, store, gone, left, {})


def surplus(infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int, before: float) -> list[EntryInfo]:
    """Return the entries stored before a moment, and the oldest of the others until the rest is within the bounds."""
    gone = []
    rest = sorted(infos, key=lambda info: info.stored)
    size = sum(info.size for info in rest)
    for number, info in enumerate(rest):
        if info.stored >= before and len(rest) - number <= max_entries and size <= max_bytes:
            break
        gone.append(info)
        size -= info.size
    return gone


def _remove(store: DiskStore, infos: Sequence[EntryInfo], given: argparse.Namespace) -> list[EntryInfo]:
    """Remove entries, and return the entries that are still there."""
    with steps(given, "removing", len(infos)) as step:
        store.remove_all(infos, each=lambda key: step(key[:KEY_DIGITS]))
    return _still_there(store, infos)


def _still_there(store: DiskStore, infos: Iterable[EntryInfo]) -> list[EntryInfo]:
    """Return the entries whose files are still there, without files that were stored since."""
    return [info for info in infos if store.find(info.key) == info]


def _say_left(store: DiskStore, left: Sequence[EntryInfo]) -> None:
    if left:
        printing.say(f"gridjit: {len(left)} entries could not be removed from {store.folder}", error=True)


def _report(
    given: argparse.Namespace,
    store: DiskStore,
    chosen: Sequence[EntryInfo],
    left: Sequence[EntryInfo],
    more: dict[str, int],
) -> int:
    """Report the removed entries, or the entries to remove; returns 1 if some of them are still there, else 0."""
    kept = {info.key for info in left}
    gone = [info for info in chosen if info.key not in kept]
    size = sum(info.size for info in gone)
    if given.json:
        keys = {"keys": [info.key for info in gone], "left": [info.key for info in left]}
        printing.print_json({"removed": len(gone), "bytes": size, "dry_run": given.dry_run, **keys, **more})
        return 1 if left else 0
    if given.dry_run:
        for info in gone:
            printing.say(f"{info.key[:KEY_DIGITS]}{info.suffix}  {printing.size_text(info.size)}")
    verb = "would remove" if given.dry_run else "removed"
    leftovers = f", and {more['leftovers']} files left by dead processes" if more.get("leftovers") else ""
    printing.say(f"{verb} {len(gone)} entries ({printing.size_text(size)}){leftovers}")
    _say_left(store, left)
    return 1 if left else 0
