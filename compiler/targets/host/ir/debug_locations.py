"""Debug locations: the places in the source that LLVM keeps with instructions."""

from __future__ import annotations

from gridjit.base.regexes import regex

DEBUG_LOCATION = regex(r",? !dbg (!\d+)")


def without_debug_location(text: str) -> str:
    """Return an instruction, or a text of many, without the debug locations."""
    return DEBUG_LOCATION.sub("", text)
