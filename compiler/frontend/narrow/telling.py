"""telling: a compile that begins again does not repeat the warnings that it gave before."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Replace


class ShownWarnings:
    """Which warnings were shown, by their text and place, and how often."""

    def __init__(self) -> None:
        self._shown: Counter[tuple[object, ...]] = Counter()

    def note(self, replace: Replace) -> None:
        """Note the warnings that this thread shows."""

        def show(message: tuple[object, ...], show_it: Callable[[], None]) -> None:
            self._shown[message] += 1
            show_it()

        _show_by(replace, show)

    def leave_out(self, replace: Replace) -> None:
        """Hide the noted warnings in this thread, each as often as it was shown."""

        def show(message: tuple[object, ...], show_it: Callable[[], None]) -> None:
            if self._shown[message] > 0:
                self._shown[message] -= 1
            else:
                show_it()

        _show_by(replace, show)


def _show_by(replace: Replace, show: Callable[[tuple[object, ...], Callable[[], None]], None]) -> None:
    """Call show(message, show_it) for the warnings that this thread shows: all that pass the filters.

    Python calls the program's own function, if it has put one in place, else its own. A recorder of warnings, as numba
    has, puts another function there.
    """
    thread = threading.get_ident()

    def shown(message: tuple[object, ...], show_it: Callable[[], None]) -> None:
        if threading.get_ident() == thread:
            show(message, show_it)
        else:
            show_it()

    if warnings.showwarning is not vars(warnings)["_showwarning_orig"]:
        own = warnings.showwarning

        def showwarning(message: Any, category: Any, filename: str, lineno: int, *others: Any) -> None:
            what = (str(message), category, filename, lineno)
            shown(what, lambda: own(message, category, filename, lineno, *others))

        replace(warnings, "showwarning", showwarning)
        return
    usual = vars(warnings)["_showwarnmsg_impl"]

    def impl(message: Any) -> None:
        what = (str(message.message), message.category, message.filename, message.lineno)
        shown(what, lambda: usual(message))

    replace(warnings, "_showwarnmsg_impl", impl)
