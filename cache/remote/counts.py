"""counts: what remote caches did for the programs that use a cache folder, a line of JSON for each process.

The lines are statistics: a lost one changes no result, and one that cannot be read is not counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from gridjit.base import reading
from gridjit.base.interrupts import let_through, tolerated
from gridjit.cache import files
from gridjit.cache.folder import Folder, is_open_to_others, open_folder, read_below
from gridjit.cache.remote.tier import COUNTS

NAME = "remote-uses.jsonl"
MOST_BYTES = 256 << 10
SUMS = (*COUNTS, "received", "sent", "seconds")


def note_counts(folder: Folder, told: Iterable[dict[str, Any]]) -> None:
    """Add a process's counts to the folder's file, of which the newer half is kept when it is full."""
    lines = "".join(json.dumps(one, sort_keys=True) + "\n" for one in told).encode("ascii")
    with tolerated(OSError):
        if is_open_to_others(folder):
            return
        with files.opened(open_folder(folder)) as top:
            data = (read_below(folder, top, NAME, 2 * MOST_BYTES) or b"") + lines
            kept = data if len(data) <= MOST_BYTES else data[len(data) // 2 :].partition(b"\n")[2]
            files.write_beside(top, NAME, kept)


def read_counts(folder: Folder) -> dict[str, dict[str, float]]:
    """Return the sums of all processes' counts, by remote."""
    data = b""
    with tolerated(OSError), files.opened(open_folder(folder)) as top:
        data = read_below(folder, top, NAME, 2 * MOST_BYTES) or b""
    sums: dict[str, dict[str, float]] = {}
    for line in data.splitlines():
        _add(sums, line)
    return sums


def forget_counts(folder: Folder) -> None:
    """Remove the counts."""
    with tolerated(OSError), files.opened(open_folder(folder)) as top:
        os.unlink(NAME, dir_fd=top)


def _add(sums: dict[str, dict[str, float]], line: bytes) -> None:
    try:
        one = reading.parse(line)
        known = sums.setdefault(reading.text(one["remote"]), dict.fromkeys(SUMS, 0.0))
        for name in SUMS:
            known[name] += float(one[name])
    except Exception as error:  # anybody may have written it
        let_through(error)
