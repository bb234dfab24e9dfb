"""`gridjit cache ls`, `du` and `stats`: the entries of the cache folder, their size on disk, and their uses."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gridjit.cache.disk import DiskStore
from gridjit.cache.remote.counts import read_counts
from gridjit.cache.uses import Use, UseTotals
from gridjit.commands import printing, tables
from gridjit.commands.inventory import (
    CODE,
    KEY_DIGITS,
    NEEDS_LAUNCH,
    ListedEntry,
    open_cache,
    read_items,
    select,
    select_some,
)
from gridjit.commands.metrics import openmetrics
from gridjit.runtime.process.session import session


def run_ls(given: argparse.Namespace) -> int:
    """Print one line for each entry; returns 0."""
    store = open_cache(given.dir)
    items = select_some(read_items(store, given), given.kernel, store.folder)
    used = uses_by_key(store)
    shown = [item for item in items if given.all or item.kind in (CODE, NEEDS_LAUNCH)]
    shown.sort(key=_order(given.sort, used))
    if given.json:
        printing.print_json([item.as_dict() | _used(used.get(item.info.key[:16], UseTotals())) for item in shown])
        return 0
    numbers = ("size", "age", "hits", "used")
    table = tables.table("key", "kernel", "signature", "target", "depends on", *numbers, right=numbers)
    for item in shown:
        use = used.get(item.info.key[:16], UseTotals())
        last = "" if use.last is None else printing.age_text(use.last)
        table.add_row(item.info.key[:KEY_DIGITS], item.label, *_what(item), *_size_and_age(item), str(use.hits), last)
    if shown:
        tables.show(table)
    else:
        printing.say(f"no code in the cache for {given.kernel}" if given.kernel else "nothing in the cache")
    return 0


def uses_by_key(store: DiskStore) -> dict[str, UseTotals]:
    """Return the uses of each artifact, by the first digits of its key."""
    uses: dict[str, list[Use]] = {}
    for use in store.uses():
        uses.setdefault(use.key, []).append(use)
    return {key: UseTotals.of(found) for key, found in uses.items()}


def run_stats(given: argparse.Namespace) -> int:
    """Print how often the code of each kernel was found and compiled, and when last; returns 0."""
    store = open_cache(given.dir)
    items = read_items(store, given)
    kernels = {item.info.key[:16]: item.label for item in items if item.kind == CODE}
    by_kernel: dict[str, list[Use]] = {}
    for use in store.uses():
        by_kernel.setdefault(kernels.get(use.key, ""), []).append(use)
    wanted = {item.label for item in select(items, given.kernel)}
    chosen = {name: uses for name, uses in by_kernel.items() if given.kernel is None or name in wanted}
    if not chosen:
        select_some(items, given.kernel, store.folder)
    totals_of = {name: UseTotals.of(uses) for name, uses in sorted(chosen.items())}
    whole = UseTotals.of(use for uses in chosen.values() for use in uses)
    remotes = read_counts(store.place)
    if given.metrics:
        return _write_metrics(given.metrics, openmetrics(totals_of, remotes))
    if given.json:
        rows = [{"kernel": name or None, **_used(totals)} for name, totals in totals_of.items()]
        printing.print_json({"folder": store.folder, **_used(whole), "kernels": rows, "remotes": remotes})
        return 0
    _show_remotes(remotes)
    if whole.since is None:
        printing.say("no uses are counted yet")
        return 0
    table = tables.table("kernel", *(numbers := ("hits", "compiles", "hit rate", "last use")), right=numbers)
    for name, totals in totals_of.items():
        table.add_row(name or "(no longer there)", *_row(totals))
    table.add_section()
    table.add_row("all", *_row(whole))
    printing.say(f"{store.folder}, counted for {printing.age_text(whole.since)}")
    tables.show(table)
    return 0


def _write_metrics(file: Path, text: str) -> int:
    """Write metrics to a file, which is complete at any time, or to standard output; returns 0."""
    if str(file) == "-":
        printing.say_lines(text.removesuffix("\n"))  # nothing may come after its end
    else:
        printing.write_file(file, text, "--metrics")
    return 0


def _show_remotes(remotes: Mapping[str, Mapping[str, float]]) -> None:
    if not remotes:
        return
    numbers = ("hits", "misses", "failed", "refused", "written", "received", "sent", "waited")
    table = tables.table("remote cache", *numbers, right=numbers)
    for name, sums in sorted(remotes.items()):
        counts = [str(round(sums[one])) for one in numbers[:5]]
        sizes = [printing.size_text(sums["received"]), printing.size_text(sums["sent"])]
        table.add_row(name, *counts, *sizes, printing.milliseconds(sums["seconds"] * 1e3))
    tables.show(table)


def _used(totals: UseTotals) -> dict[str, Any]:
    """Return uses as JSON values; times are in seconds since 1970."""
    return {
        "hits": totals.hits,
        "compiles": totals.compiles,
        "hit_rate": totals.rate,
        "since": totals.since,
        "last_use": totals.last,
    }


def _row(totals: UseTotals) -> tuple[str, str, str, str]:
    last = "" if totals.last is None else printing.age_text(totals.last)
    return str(totals.hits), str(totals.compiles), "" if totals.rate is None else f"{totals.rate:.0%}", last


def _order(name: str, used: dict[str, UseTotals]) -> Callable[[ListedEntry], Any]:
    """Return the sort key of entries: names from A, times and sizes from the newest and largest."""

    def use(item: ListedEntry) -> UseTotals:
        return used.get(item.info.key[:16], UseTotals())

    orders: dict[str, Callable[[ListedEntry], Any]] = {
        "kernel": lambda item: 0,  # in the order in which they are read
        "target": lambda item: str(item.artifact.target) if item.artifact else "",
        "size": lambda item: -item.info.size,
        "age": lambda item: -item.info.stored,
        "compile": lambda item: -_compile_ms(item),
        "hits": lambda item: -use(item).hits,
        "used": lambda item: -(use(item).last or 0),
    }
    return orders[name]


def _compile_ms(item: ListedEntry) -> float:
    """Return how long an entry's compile took; 0 where its metadata, which may hold anything, has no number."""
    spent = item.artifact.metadata.get("compile_ms") if item.artifact else 0
    return spent if isinstance(spent, int | float) else 0


def run_du(given: argparse.Namespace) -> int:
    """Print the bytes of each kernel and of all; returns 0."""
    store = open_cache(given.dir)
    items = select_some(read_items(store, given), given.kernel, store.folder)
    sizes, counts = Counter[str](), Counter[str]()
    for item in items:
        sizes[item.label] += item.info.size
        counts[item.label] += 1
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
    tables.show(table)
    return 0


def _what(item: ListedEntry) -> tuple[str, str, str]:
    if (artifact := item.artifact) is None:
        return f"({item.kind})", "", ""
    depends = item.kind if artifact.needs_launch else str(artifact.footprint)
    return artifact.signature, str(artifact.target), depends


def _size_and_age(item: ListedEntry) -> tuple[str, str]:
    return printing.size_text(item.info.size), printing.age_text(item.info.stored)
