"""`gridjit cache`: inspect, check and tidy the cache folder, and copy its entries to other machines."""

from __future__ import annotations

from typing import Any

from gridjit.commands import cache_bundle, cache_ls, cache_show, cache_upkeep

PARTS = (cache_ls, cache_show, cache_upkeep, cache_bundle)


def register(subparsers: Any) -> None:
    """Add the subcommand and its own subcommands."""
    parser = subparsers.add_parser(
        "cache",
        help="inspect, check, tidy, export and import the cache",
        description="Exit status: 0 if all is well, 1 if problems were found, 2 for wrong usage.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for part in PARTS:
        part.register(actions)
