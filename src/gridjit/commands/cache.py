"""`gridjit cache`: look into the cache folder, check it, tidy it, and carry its entries to other machines."""

from __future__ import annotations

from typing import Any

from gridjit.commands import cache_bundle, cache_ls, cache_show, cache_upkeep

PARTS = (cache_ls, cache_show, cache_upkeep, cache_bundle)


def register(subparsers: Any) -> None:
    """Add the subcommand and its own."""
    parser = subparsers.add_parser(
        "cache",
        help="look into the cache, check it, tidy it, export and import it",
        description="Exit status: 0 all is well, 1 problems were found, 2 wrong usage.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for part in PARTS:
        part.register(actions)
