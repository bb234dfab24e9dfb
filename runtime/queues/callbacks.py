"""callbacks: functions of the program's that streams call: what they raise is reported, as nobody could catch it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def reporting(callback: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that calls callback, and gives what it raises to sys.unraisablehook."""

    def call() -> None:
        try:
            callback()
        except BaseException as error:
            report: Any = SimpleNamespace(
                exc_type=type(error),
                exc_value=error,
                exc_traceback=error.__traceback__,
                err_msg="Exception ignored in a callback of a stream",
                object=callback,
            )
            sys.unraisablehook(report)

    return call
