"""symbols: object files with line tables written to a folder, with a script that shows gdb their code."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from gridjit.base.messages import warn_or_log
from gridjit.compiler.values.elf import place_of
from gridjit.compiler.values.errors import ConfigWarning

_numbers = itertools.count(1)


def write_symbols(folder: Path, image: bytes, entry: str, address: int) -> None:
    """Write a loaded object file, and add a line to the process's script for gdb; a failure is a warning."""
    place = place_of(image, entry)
    if place is None:
        return
    path = folder / f"{entry}-{os.getpid()}-{next(_numbers)}.o"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        with open(folder / f"gdb-{os.getpid()}", "a") as script:
            script.write(f'add-symbol-file "{path}" {address - place[0]:#x}\n')
    except OSError as error:
        words = f"GRIDJIT_HOST_SYMBOLS: {path} cannot be written: {error}"
        warn_or_log(ConfigWarning(words), logger="gridjit")
