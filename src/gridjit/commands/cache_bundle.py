"""`gridjit cache export` and `import`: entries to one file, and from it into the cache of another machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gridjit.cache.bundle import import_bundle, write_bundle
from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.commands import printing
from gridjit.commands.cache_ls import add_selection
from gridjit.commands.inventory import DAMAGED, open_cache, read_items, select
from gridjit.commands.kernels import parse_targets
from gridjit.compiler.errors import GridjitError
from gridjit.runtime.session import session


def register(subparsers: Any) -> None:
    """Add both."""
    export = subparsers.add_parser("export", help="write entries to a file for other machines")
    export.add_argument("file", type=Path, metavar="FILE")
    add_selection(export)
    export.add_argument("--target", metavar="T,T", help='only code for these targets: "sm_90", "host"')
    export.set_defaults(run=run_export)
    importing = subparsers.add_parser("import", help="add a file's entries; status 1 if some are refused or dropped")
    importing.add_argument("file", type=Path, metavar="FILE")
    importing.add_argument("--dir", metavar="FOLDER", help="use this cache folder instead of the one in use")
    importing.set_defaults(run=run_import)
    for parser in (export, importing):
        parser.add_argument("--json", action="store_true", help="print JSON")


def run_export(given: argparse.Namespace) -> int:
    """Write the bundle; returns 0, or 1 if there is nothing to export."""
    store = open_cache(given.dir)
    targets = [target for target in parse_targets(given.target) if target]
    chosen = select(read_items(store), given.kernel, targets)
    infos = [item.info for item in chosen if item.kind != DAMAGED]
    if not infos:
        wanted = "".join((f" of {given.kernel}" if given.kernel else "", f" for {given.target}" if targets else ""))
        raise GridjitError(f"{store.folder} holds no entry{wanted}; `gridjit cache ls` lists what is there")
    try:
        count = write_bundle(given.file, store, infos, session().secret)
    except OSError as error:
        raise GridjitError(f"{given.file} cannot be written: {error.strerror}") from None
    except CacheError as error:
        raise GridjitError(str(error)) from None
    if given.json:
        printing.print_json({"entries": count, "bytes": given.file.stat().st_size})
    else:
        printing.say(f"exported {count} entries ({printing.size_text(given.file.stat().st_size)}) to {given.file}")
    return 0


def run_import(given: argparse.Namespace) -> int:
    """Read the bundle; returns 0, or 1 if entries were refused or not kept."""
    store = open_cache(given.dir, new=True)
    locks = Locks(store.folder, allow_shared=session().settings.cache_allow_shared)
    try:
        done = import_bundle(given.file, store, locks, session().secret)
    except OSError as error:
        raise GridjitError(f"{given.file} cannot be read: {error.strerror}") from None
    except CacheError as error:
        raise GridjitError(str(error)) from None
    counts = {what: len(getattr(done, what)) for what in ("added", "merged", "known", "refused", "dropped")}
    if given.json:
        printing.print_json(counts)
    else:
        printing.say(", ".join(f"{number} {what}" for what, number in counts.items() if number or what != "dropped"))
        if done.refused:
            printing.say(
                "refused: the entries' seals are not right, or not made with the key of GRIDJIT_CACHE_KEY_FILE here"
            )
        if done.dropped:
            printing.say(f"dropped: the cache folder {store.folder} did not keep them")
    return 1 if done.refused or done.dropped else 0
