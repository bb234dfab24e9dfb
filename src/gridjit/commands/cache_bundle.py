"""`gridjit cache export` and `import`: entries to one file, and from it into the cache of another machine."""

from __future__ import annotations

import argparse

from gridjit.cache.bundle import entries_in, import_bundle, write_bundle
from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.commands import printing
from gridjit.commands.inventory import DAMAGED, EXTENSIONS, KEY_DIGITS, open_cache, read_items, select
from gridjit.commands.progress import steps
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.process.session import session


def run_export(given: argparse.Namespace) -> int:
    """Write the bundle; returns 0, or 1 if there is nothing to export."""
    store = open_cache(given.dir)
    targets = given.target or []
    items = read_items(store, given)
    chosen = select(items, given.kernel, targets)
    names = {item.info.key: item.kernel for item in chosen if item.kernel}
    infos = [item.info for item in chosen if item.kind != DAMAGED]
    if not infos:
        wanted = "".join(
            (f" of {given.kernel}" if given.kernel else "", f" for {','.join(targets)}" if targets else "")
        )
        raise GridjitError(f"{store.folder} holds no entry{wanted}; `gridjit cache ls` lists what is there")
    # Without it, a process that finds the kernels would load the extensions to ask.
    infos += [item.info for item in items if item.kind == EXTENSIONS and item not in chosen]
    try:
        with steps(given, "writing", len(infos)) as step:
            count = write_bundle(given.file, store, infos, session().secret, lambda key: step(names.get(key, key)))
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
        with steps(given, "adding", entries_in(given.file)) as step:
            secret = session().secret
            done = import_bundle(given.file, store, locks, secret, lambda key: step(key[:KEY_DIGITS]))
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
