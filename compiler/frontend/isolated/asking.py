"""asking: notes when code that runs in a compile asks numba for the kernel's function, or for its lines.

A rewrite or an overload gets numba's view of a function. It contains the Python function itself, with its
attributes, texts, annotations and globals, and the lines of its code. The key does not hold these, except lines if
it is asked to. Numba reads them all the time, and its code does not depend on them. If other code reads lines, the
result depends on the lines of the source; if other code reads the rest, the result stays in this process.
"""

from __future__ import annotations

import sys
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import put
from gridjit.compiler.source.libraries import is_numbas
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

# Modules of numba's or gridjit's that have asked: they ask thousands of times in a compile.
_known_as_numbas: set[str] = set()


def tell_who_asks(view: ConfigView, lines: bool) -> None:
    """Make view's result private if others ask, until the changes are undone. lines: whether the key has the lines.

    A compile inside another puts its own in front of the other's.
    """
    from numba.cuda.core.bytecode import FunctionIdentity
    from numba.cuda.core.ir import Loc

    for name in ("func", "code", "module"):
        put(FunctionIdentity, name, _Asked(view, name, f"the kernel's function ({name})"))
    if not lines:
        put(Loc, "col", _Asked(view, "col", "the columns of the kernel's code (col)"))
        for owner, line in ((FunctionIdentity, "firstlineno"), (Loc, "line")):
            for name in ("filename", line):
                put(owner, name, _AskedForPlace(view, name, line))


def _is_numbas(asking: object) -> bool:
    """Return whether a module of this name is numba's or gridjit's."""
    if not (is_numbas(str(asking)) or str(asking).startswith("gridjit.")):
        return False
    _known_as_numbas.add(str(asking))
    return True


class _Asked:
    """Stands in front of an attribute of instances, and sees who reads it."""

    def __init__(self, view: ConfigView, name: str, what: str) -> None:
        self._view, self._name = view, name
        self._reason = f"code that ran while it was compiled asked numba for {what}, which is not in the key"

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        asking = sys._getframe(1).f_globals.get("__name__")
        if (type(asking) is not str or asking not in _known_as_numbas) and not _is_numbas(asking):
            self._note(instance)
        try:
            return vars(instance)[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value

    def _note(self, instance: Any) -> None:
        self._view.keep_private(self._reason)


class _AskedForPlace(_Asked):
    """Stands in front of the file, or the line, of a place in the kernel's code."""

    def __init__(self, view: ConfigView, name: str, line: str) -> None:
        super().__init__(view, name, "")
        self._line = line

    def _note(self, instance: Any) -> None:
        place = vars(instance)
        recording_of(self._view).ask_for_place(place["filename"], place[self._line])
