"""callbacks: exceptions that no caller could catch, such as a stream callback's, go to sys.unraisablehook."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from gridjit.compiler.values.errors import ArgumentError


def reporting(callback: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that calls callback, and reports its error; raises ArgumentError unless it can be called."""
    if not callable(callback):
        raise ArgumentError(f"on_complete: {callback!r} cannot be called; give a function without parameters")

    def call() -> None:
        try:
            callback()
        except BaseException as error:
            report(error, f"a callback of a stream, {callback!r}")

    return call


def report(error: BaseException, where: str) -> None:
    """Report an error as Python does where it cannot be raised: to sys.unraisablehook, whatever that is.

    where: the source of the error, for the report.
    """
    # Python's own hook takes only objects that the interpreter itself makes, as for weak references' callbacks.
    ghost = _Ghost()
    reference = weakref.ref(ghost, _Raising(error, where))
    del ghost, reference


class _Ghost:
    """Is dropped."""

    __slots__ = ("__weakref__",)


class _Raising:
    """Raises an error when a referent goes; the report shows it as its text."""

    __slots__ = ("_error", "_where")

    def __init__(self, error: BaseException, where: str) -> None:
        self._error = error
        self._where = where

    def __call__(self, _: object) -> None:
        raise self._error

    def __repr__(self) -> str:
        return self._where
