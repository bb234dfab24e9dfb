"""`gridjit cache ls` and `du`: what is in the cache folder, and how much space it takes."""

from __future__ import annotations

import argparse
from collections import Counter

from gridjit.commands import printing, tables
from gridjit.commands.inventory import CODE, KEY_DIGITS, ListedEntry, open_cache, read_items, select
from gridjit.runtime.session import session


def run_ls(given: argparse.Namespace) -> int:
    """Print one line for each entry; returns 0."""
    items = select(read_items(open_cache(given.dir)), given.kernel)
    shown = [item for item in items if given.all or item.kind == CODE]
    if given.json:
        printing.print_json([item.as_dict() for item in shown])
        return 0
    table = tables.table("key", "kernel", "signature", "target", "depends on", "size", "age", right=("size", "age"))
    for item in shown:
        table.add_row(item.info.key[:KEY_DIGITS], item.kernel, *_what(item), *_size_and_age(item))
    if shown:
        tables.console().print(table)
    else:
        printing.say(f"nothing in the cache{f' of {given.kernel}' if given.kernel else ''}")
    return 0


def run_du(given: argparse.Namespace) -> int:
    """Print the bytes of each kernel and of all; returns 0."""
    store = open_cache(given.dir)
    items = select(read_items(store), given.kernel)
    sizes, counts = Counter[str](), Counter[str]()
    for item in items:
        sizes[item.kernel] += item.info.size
        counts[item.kernel] += 1
    limits = session().settings
    if given.json:
        kernels = [{"kernel": name, "entries": counts[name], "bytes": size} for name, size in sizes.most_common()]
        printing.print_json(
            {
                "folder": store.folder,
                "entries": len(items),
                "bytes": sizes.total(),
                "max_entries": limits.cache_entries,
                "max_bytes": limits.cache_bytes,
                "kernels": kernels,
            }
        )
        return 0
    table = tables.table("kernel", "entries", "size", right=("entries", "size"))
    for name, size in sizes.most_common():
        table.add_row(name or "(gridjit's own)", str(counts[name]), printing.size_text(size))
    table.add_section()
    table.add_row("all", str(len(items)), printing.size_text(sizes.total()))
    table.add_row("bound", str(limits.cache_entries), printing.size_text(limits.cache_bytes))
    printing.say(store.folder)
    tables.console().print(table)
    return 0


def _what(item: ListedEntry) -> tuple[str, str, str]:
    if (artifact := item.artifact) is None:
        return f"({item.kind})", "", ""
    return artifact.signature, str(artifact.target), str(artifact.footprint)


def _size_and_age(item: ListedEntry) -> tuple[str, str]:
    return printing.size_text(item.info.size), printing.age_text(item.info.stored)
