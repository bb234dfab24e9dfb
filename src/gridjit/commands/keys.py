"""`gridjit keys`: keys that sign entries of a remote cache, and the writers whose entries are run here."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from gridjit.base.interrupts import let_through
from gridjit.cache.folder import make_folder
from gridjit.cache.remote import key_lines
from gridjit.cache.remote.key_lines import SIGNING_KEY, WRITER, WritersError
from gridjit.cache.remote.trust_file import Writer, change_writers, plain, read_writers
from gridjit.cache.remote.writers import SigningKey, fingerprint
from gridjit.commands import printing
from gridjit.commands.tables import show, table
from gridjit.commands.values import WrongWord
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.environment.misspelt import near_names
from gridjit.runtime.environment.settings import settings

_MOST_BYTES = 4096  # of a file with a line


def run_new(given: argparse.Namespace) -> int:
    """Write a new private key, and print its public line; returns 0."""
    path: Path = given.file or settings().cache_signing_key or _key_file(given.name)
    try:
        made = SigningKey.new(given.name, path)
    except WritersError as error:
        raise GridjitError(str(error)) from None
    printing.say(f"wrote {path}: set GRIDJIT_CACHE_SIGNING_KEY to it where entries are written", error=True)
    printing.say(made.public)
    return 0


def run_trust(given: argparse.Namespace) -> int:
    """Add a writer to the trust file, or prefixes to one that is there; returns 0."""
    name, key = _named(" ".join(given.line))
    added = Writer(name=name, key=key, prefixes=tuple(dict.fromkeys(given.prefix or ["*"])))
    found = _change(lambda known: _with(known, added, is_wider=bool(given.prefix)))
    (prefixes,) = (one.prefixes for one in found if one.key == key)
    allowed = "all prefixes (--prefix limits them)" if "*" in prefixes else ", ".join(prefixes)
    printing.say(f"entries of {name} are run here from now on, under {allowed}")
    return 0


def run_list(given: argparse.Namespace) -> int:
    """Print the writers of the trust file; returns 0."""
    writers = _writers()
    if given.json:
        printing.print_json([plain(one) | {"fingerprint": fingerprint(one.key).hex()} for one in writers])
    elif not writers:
        printing.say(f"{_trust_file()} names no writer; `gridjit keys trust` adds one")
    else:
        shown = table("writer", "prefixes", "withdrawn", "fingerprint")
        for one in writers:
            shown.add_row(one.name, ", ".join(one.prefixes), one.withdrawn or "-", fingerprint(one.key).hex())
        show(shown)
    return 0


def run_withdraw(given: argparse.Namespace) -> int:
    """Mark a writer as withdrawn, or take prefixes from it; returns 0."""
    _change(lambda known: _withdrawn(known, given.name, given.prefix or ()))
    under = f" under {', '.join(given.prefix)}" if given.prefix else ""
    printing.say(f"entries of {given.name} are not run here any more{under}: not by processes that start from now on")
    return 0


def _key_file(name: str) -> Path:
    """Return the usual file of a writer's private key, in a folder that is there."""
    folder = _trust_file().parent
    try:
        make_folder(str(folder))
    except OSError as error:
        let_through(error)
        raise GridjitError(f"{folder} cannot be made ({error.strerror}): give --file FILE") from None
    return folder / f"{name}.key"


def _named(text: str) -> tuple[str, bytes]:
    """Return the writer's name and key of a public line, of a file that holds one, or of a writer that is there."""
    for one in () if os.path.lexists(text) else _writers():
        if one.name == text:
            return one.name, one.key
    try:
        return key_lines.read(WRITER, text if text.split()[:1] in ([WRITER], [SIGNING_KEY]) else _line_in(Path(text)))
    except WritersError as error:
        raise WrongWord(str(error)) from None


def _line_in(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("ascii", "replace")
    except (OSError, ValueError) as error:
        let_through(error)
        reason = getattr(error, "strerror", None) or "it cannot be a file's name"
        raise WrongWord(f"{path} is neither a line {WRITER} NAME KEY nor a file that can be read ({reason})") from None


def _with(known: tuple[Writer, ...], added: Writer, *, is_wider: bool) -> tuple[Writer, ...]:
    """Return the known writers with another, or with its prefixes too; raises GridjitError for a twin of one.

    is_wider: whether the prefixes are for a writer that may be there.
    """
    for one in known:
        if one.key == added.key and one.withdrawn is not None:
            raise GridjitError(
                f"this key is {one.name}'s, withdrawn on {one.withdrawn}: make a new one for {added.name}"
            )
        if one.key == added.key and not (is_wider and one.name == added.name):
            raise GridjitError(
                f"this key is there already, as {one.name}'s, under {', '.join(one.prefixes)}: "
                f"`gridjit keys trust {one.name} --prefix PREFIX` adds a prefix"
            )
        if one.key == added.key:
            wider = tuple(dict.fromkeys((*one.prefixes, *added.prefixes)))
            return tuple(replace(other, prefixes=wider) if other is one else other for other in known)
        if one.name == added.name:
            raise GridjitError(f"{one.name} is there already, with another key: give the new key a name of its own")
    return (*known, added)


def _withdrawn(known: tuple[Writer, ...], name: str, prefixes: Sequence[str]) -> tuple[Writer, ...]:
    """Return the known writers, one of them withdrawn today, or without some of its prefixes.

    Raises GridjitError if it is not there, or if it is not trusted for these prefixes and others.
    """
    before = {one.name: one.withdrawn for one in known}
    if name not in before:
        near = near_names(name, before)
        meant = f"did you mean {' or '.join(near)}?" if near else "`gridjit keys list` shows the writers"
        raise GridjitError(f"{_trust_file()} names no writer {name}; {meant}")
    if before[name] is not None and prefixes:
        raise GridjitError(f"{name} was withdrawn on {before[name]} already")
    if before[name] is not None:
        return known
    (had,) = (one.prefixes for one in known if one.name == name)
    left = tuple(text for text in had if text not in prefixes)
    if wrong := [text for text in prefixes if text not in had]:
        raise GridjitError(f"{name} is trusted under {', '.join(had)}, and {wrong[0]} is not one of these")
    if prefixes and not left:
        raise GridjitError(f"{name} is trusted for nothing else: `gridjit keys withdraw {name}` withdraws it for good")
    if prefixes:
        return tuple(replace(one, prefixes=left) if one.name == name else one for one in known)
    today = datetime.now(timezone.utc).date().isoformat()
    return tuple(replace(one, withdrawn=today) if one.name == name else one for one in known)


def _trust_file() -> Path:
    return settings().cache_writers


def _writers() -> tuple[Writer, ...]:
    try:
        return read_writers(_trust_file()) if _trust_file().exists() else ()
    except WritersError as error:
        raise GridjitError(str(error)) from None


def _change(change: Callable[[tuple[Writer, ...]], tuple[Writer, ...]]) -> tuple[Writer, ...]:
    try:
        return change_writers(_trust_file(), change)
    except WritersError as error:
        raise GridjitError(str(error)) from None
