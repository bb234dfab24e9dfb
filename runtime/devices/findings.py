"""findings: debug kernels' findings under GRIDJIT_DEBUG, printed once for each place at the process's end.

The exit status is then 1, even if the program handled the errors.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable, Hashable

from gridjit.base.forking import lock, section
from gridjit.base.messages import say
from gridjit.base.printable import printable
from gridjit.runtime.environment.settings import settings

# Called with each finding; without any, this process prints its findings itself.
collectors: list[Callable[[str], None]] = []
_seen: set[Hashable] = set()
_found: list[str] = []
_noting = lock()


def note(place: Hashable, text: str) -> None:
    """Keep a finding for the end, unless there is a finding of the same place."""
    if not settings().debug:
        return
    with section(), _noting:
        is_new = place not in _seen
        _seen.add(place)
    for collect in (collectors or [_keep]) if is_new else ():
        collect(text)


def fail_at_exit() -> None:
    """Exit with status 1 when Python has ended; a signal still ends the process as a signal."""
    system = ctypes.CDLL(None)
    system["__cxa_atexit"](system.exit, ctypes.c_void_p(1), None)


def say_findings(found: list[str]) -> None:
    """Print findings on standard error, one line each; with any, the process exits with status 1."""
    for text in found:
        say(f"gridjit: {printable(text)}", sys.stderr)
    if found:
        fail_at_exit()


def _keep(text: str) -> None:
    _found.append(text)


weakref.finalize(note, say_findings, _found)  # at exit
