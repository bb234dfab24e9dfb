"""callbacks: functions of the program's that streams call: what they raise is reported, as nobody could catch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reporting(callback: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that calls callback, and gives what it raises to sys.unraisablehook."""

    def call() -> None:
        try:
            callback()
        except BaseException as error:
            _report(_Raised(callback, error))

    return call


class _Raised:
    """A callback that raised; when it is called, it raises the same again. Its text is what a report shows."""

    def __init__(self, callback: Callable[[], Any], error: BaseException) -> None:
        self.callback = callback
        self.error = error

    def __call__(self) -> None:
        raise self.error

    def __repr__(self) -> str:
        return f"{self.callback!r}, a callback of a stream"


def _report(raised: _Raised) -> None:
    """Have Python report what was raised: its own hook takes only what Python makes, as where C code calls Python."""
    import ctypes

    ctypes.CFUNCTYPE(None)(raised)()
