"""`gridjit cache ls` and `du`: what is in the cache folder, and how much space it takes."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from gridjit.commands import printing
from gridjit.commands.inventory import CODE, ListedEntry, open_cache, read_items, select
from gridjit.runtime.session import session

KEY_DIGITS = 12


def register(subparsers: Any) -> None:
    """Add both."""
    listing = subparsers.add_parser("ls", help="list the compiled kernels in the cache")
    listing.add_argument("--all", action="store_true", help="list every entry, manifests and histories too")
    listing.set_defaults(run=run_ls)
    usage = subparsers.add_parser("du", help="show how much space kernels take")
    usage.set_defaults(run=run_du)
    for parser in (listing, usage):
        add_selection(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which entries are meant."""
    parser.add_argument("--kernel", metavar="NAME", help="of this kernel only: its full name, its end, or a pattern")
    parser.add_argument("--dir", metavar="FOLDER", help="use this cache folder instead of the one in use")


def run_ls(given: argparse.Namespace) -> int:
    """Print one line for each entry; returns 0."""
    items = select(read_items(open_cache(given.dir)), given.kernel)
    shown = [item for item in items if given.all or item.kind == CODE]
    if given.json:
        printing.print_json([item.as_dict() for item in shown])
        return 0
    table = printing.table("key", "kernel", "signature", "target", "depends on", "size", "age", right=("size", "age"))
    for item in shown:
        table.add_row(item.info.key[:KEY_DIGITS], item.kernel, *_what(item), *_size_and_age(item))
    if shown:
        printing.console().print(table)
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
    table = printing.table("kernel", "entries", "size", right=("entries", "size"))
    for name, size in sizes.most_common():
        table.add_row(name or "(gridjit's own)", str(counts[name]), printing.size_text(size))
    table.add_section()
    table.add_row("all", str(len(items)), printing.size_text(sizes.total()))
    table.add_row("bound", str(limits.cache_entries), printing.size_text(limits.cache_bytes))
    printing.say(store.folder)
    printing.console().print(table)
    return 0


def _what(item: ListedEntry) -> tuple[str, str, str]:
    if (artifact := item.artifact) is None:
        return f"({item.kind})", "", ""
    return artifact.signature, str(artifact.target), str(artifact.footprint)


def _size_and_age(item: ListedEntry) -> tuple[str, str]:
    return printing.size_text(item.info.size), printing.age_text(item.info.stored)
