"""folders: why a session's cache folders give no code or keep none, in words for `gridjit info` and for errors."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gridjit.cache.disk import DiskStore
from gridjit.cache.folder import Distrusted, close, open_folder
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.process.session import Session


def folder_faults(here: Session) -> Iterator[tuple[DiskStore, str]]:
    """Yield the store of each cache folder, the own one first, and why it is not of full use ("" if it is).

    Raises ConfigError if the key of GRIDJIT_CACHE_KEY_FILE is refused: then no folder is used.
    """
    for store in (here.open_disk(), *here.open_bases()):
        yield store, _fault(store)


def told_of_folders(here: Session) -> str:
    """Return the folders that look-ups go through, each with its fault, or why there are none, in words."""
    try:
        faults = [*folder_faults(here)]
    except ConfigError as error:
        return f"looked in no folder: {error}"
    return (
        f"looked in {', '.join(f'{store.folder} ({fault})' if fault else str(store.folder) for store, fault in faults)}"
    )


def _fault(store: DiskStore) -> str:
    try:
        close(open_folder(store.place))
    except FileNotFoundError:
        if store.read_only:
            return "there is no such folder"
        return "not there yet" if _can_be_made(str(store.folder)) else "cannot be made"
    except Distrusted as error:
        return f"not used: it {error.reason}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not os.access(store.folder, os.R_OK | os.X_OK):
        return "cannot be read: Permission denied"
    if why := store.why_none_opens():
        return f"its entries are not used: the first {why}"
    return "" if store.read_only or os.access(store.folder, os.W_OK) else "cannot be written"


def _can_be_made(folder: str) -> bool:
    above = os.path.dirname(folder)
    while not os.path.exists(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)
