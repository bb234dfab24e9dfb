"""allowed: whether a kernel's compiles may be handed over to other processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gridjit.compiler.key.numba_settings import dumps

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.process.session import Session


def why_not(kernel: Kernel, here: Session, processes: int) -> str:
    """Return why a kernel is not handed over to so many processes; empty if it may be."""
    wanted = here.settings
    reasons = (
        (not processes, "GRIDJIT_COMPILE_PROCESSES is 0"),
        (not kernel.cached, "it is made with jit(cache=False), and other processes hand over code through the cache"),
        (not wanted.cache, "GRIDJIT_CACHE turns off the cache, through which other processes hand over code"),
        (wanted.assert_no_compile, "GRIDJIT_ASSERT_NO_COMPILE forbids any compile"),
        (not kernel.may_compile, "its disable_compile() was called"),
        (bool(dumps()), "numba is set to print what it compiles"),
        (bool(here.no_pool), here.no_pool),
    )
    if why := next((why for holds, why in reasons if holds), ""):
        return why
    return "" if _can_be_written(wanted.cache_dir) else f"the cache folder {wanted.cache_dir} cannot be written"


def _can_be_written(folder: Path) -> bool:
    """Return whether a folder, or its future parent, may be written; a worker may still fail to write it."""
    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
