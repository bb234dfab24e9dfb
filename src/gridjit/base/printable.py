"""Text that cannot control a terminal: names from a cache, a file or a message may hold anything."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text with invisible characters escaped: control characters, line ends, lone surrogates.

    keep: characters to leave as they are, as line ends in a longer text. `printable("a\x1b[2Jb")` is `a\x1b[2Jb`.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else _escaped(one) for one in text)


def lines(text: str) -> str:
    """Return a text of several lines, the rest of it printable."""
    return printable(text, keep="\n\t")


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")
