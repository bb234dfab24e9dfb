"""`gridjit cache verify`, `gc` and `clear`: check every entry, enforce the bounds, remove entries."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from gridjit.cache.disk import DiskStore
from gridjit.cache.lock import Locks
from gridjit.cache.store import EntryInfo
from gridjit.commands import printing
from gridjit.commands.cache_ls import KEY_DIGITS, add_selection
from gridjit.commands.inventory import open_cache, read_items, select
from gridjit.compiler.errors import ConfigError
from gridjit.runtime.session import session
from gridjit.runtime.settings import bytes_of

_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_DAY_S = 86400.0


def register(subparsers: Any) -> None:
    """Add the three."""
    verify = subparsers.add_parser("verify", help="read every entry; status 1 if one is damaged or not signed")
    verify.add_argument("--remove", action="store_true", help="remove what is damaged")
    verify.add_argument("--dir", metavar="FOLDER", help="use this cache folder instead of the one in use")
    verify.set_defaults(run=run_verify)
    gc = subparsers.add_parser("gc", help="remove what dead processes left, and the oldest entries beyond the bounds")
    gc.add_argument("--max-size", metavar="SIZE", help="bytes to keep, such as 512M (default: GRIDJIT_CACHE_SIZE)")
    gc.add_argument("--max-entries", metavar="N", type=int, help="entries to keep (default: GRIDJIT_CACHE_ENTRIES)")
    gc.add_argument("--older-than", metavar="AGE", help="remove entries older than this: 36h, 30d, 8w")
    gc.add_argument("--dir", metavar="FOLDER", help="use this cache folder instead of the one in use")
    gc.set_defaults(run=run_gc)
    clear = subparsers.add_parser("clear", help="remove the entries of a kernel, or all")
    add_selection(clear)
    clear.set_defaults(run=run_clear)
    for parser in (gc, clear):
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    for parser in (verify, gc, clear):
        parser.add_argument("--json", action="store_true", help="print JSON")


def run_verify(given: argparse.Namespace) -> int:
    """Read every entry; returns 0 if all are good, else 1."""
    store = open_cache(given.dir)
    found = store.verify(remove=given.remove)
    if given.json:
        printing.print_json({"good": found.good, "bad": [info.key for info in found.bad], "removed": given.remove})
        return 1 if found.bad else 0
    for info in found.bad:
        printing.say(f"damaged, or not signed with this key: {info.key}{info.suffix}")
    printing.say(f"{found.good} good, {len(found.bad)} bad{' and removed' if found.bad and given.remove else ''}")
    return 1 if found.bad else 0


def run_gc(given: argparse.Namespace) -> int:
    """Remove leftovers and whatever exceeds the bounds; returns 0."""
    store = open_cache(given.dir)
    limits = session().settings
    max_bytes = bytes_of("--max-size", given.max_size) if given.max_size else limits.cache_bytes
    max_entries = limits.cache_entries if given.max_entries is None else given.max_entries
    if max_entries < 0:
        raise ConfigError(f"--max-entries {max_entries}: give 0 or more")
    before = time.time() - _age(given.older_than) if given.older_than else 0.0
    gone = surplus(store.entries(), max_bytes=max_bytes, max_entries=max_entries, before=before)
    swept = 0
    if not given.dry_run:
        _remove(store, gone)
        swept = store.sweep() + Locks(store.folder, allow_shared=limits.cache_allow_shared).sweep()
        store.collect()
    _report(given, gone, {"leftovers": swept})
    return 0


def run_clear(given: argparse.Namespace) -> int:
    """Remove what was selected; returns 0."""
    store = open_cache(given.dir)
    if given.kernel is None:
        gone = list(store.entries())
        if not given.dry_run:
            store.clear()
    else:
        gone = [item.info for item in select(read_items(store), given.kernel)]
        if not given.dry_run:
            _remove(store, gone)
    _report(given, gone, {})
    return 0


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


def _remove(store: DiskStore, infos: Sequence[EntryInfo]) -> None:
    for info in infos:
        store.remove(info.key)


def _report(given: argparse.Namespace, gone: Sequence[EntryInfo], more: dict[str, int]) -> None:
    size = sum(info.size for info in gone)
    if given.json:
        keys = [info.key for info in gone]
        printing.print_json({"removed": len(gone), "bytes": size, "keys": keys, "dry_run": given.dry_run, **more})
        return
    if given.dry_run:
        for info in gone:
            printing.say(f"{info.key[:KEY_DIGITS]}{info.suffix}  {printing.size_text(info.size)}")
    verb = "would remove" if given.dry_run else "removed"
    leftovers = f", and {more['leftovers']} files left by dead processes" if more.get("leftovers") else ""
    printing.say(f"{verb} {len(gone)} entries ({printing.size_text(size)}){leftovers}")


def _age(text: str) -> float:
    """Return the seconds that text like "30d" stands for."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw])", text)
    if match is None:
        raise ConfigError(f"--older-than {text}: give hours, days or weeks, such as 36h, 30d or 8w")
    return float(match[1]) * _DAYS[match[2]] * _DAY_S
