"""`gridjit info`: what gridjit sees of this machine - versions, target, cache."""

from __future__ import annotations

import argparse

from gridjit.commands import printing
from gridjit.compiler.key.toolchain import toolchain
from gridjit.runtime.session import session


def run(given: argparse.Namespace) -> int:
    """Print the facts; returns 0."""
    facts = collect()
    if given.json:
        printing.print_json(facts)
        return 0
    width = max(map(len, facts))
    for name, value in facts.items():
        printing.say(f"{name:{width}}  {value}")
    return 0


def collect() -> dict[str, str]:
    """Return the facts, in the order people want them."""
    here = session()
    target = here.target(None)
    settings = here.settings
    return {
        "target": f"{target} ({target.arch})",
        "host threads": str(settings.host_threads),
        "compile processes": str(settings.processes_for(None) or "none"),
        "cache": str(settings.cache_dir) if settings.cache else "off (GRIDJIT_CACHE=0)",
        "cache bound": f"{settings.cache_bytes} bytes",
        **dict(toolchain("ptx")),
    }
