"""Calls of the system that gridjit makes, of which one fails, as on a file system that went."""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from typing import Any

# What the system is asked with.
_OS = (
    *("close", "open", "read", "write", "fstat", "stat", "lstat", "mkdir", "chmod", "rename", "unlink", "rmdir"),
    *("listdir", "scandir", "access", "getcwd", "readlink", "urandom"),
)
CALLS: tuple[tuple[Any, str], ...] = (*((os, name) for name in _OS), (fcntl, "flock"), (builtins, "open"))
_BETWEEN = {"os", "posixpath", "genericpath", "contextlib", "sqlite3", "diskcache.core", __name__}


class Failing:
    """Counts the calls by some modules, and has one fail. failed: where it was called."""

    def __init__(self, modules: tuple[str, ...], at: int, number: int) -> None:
        self.failed = ""
        self._modules, self._left, self._number = modules, at, number

    def check(self, error: Exception | None = None) -> None:
        """Raise an error, by default the system's, if this is the call that fails."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") in _BETWEEN:
            frame = frame.f_back
        if not self.failed and str(frame.f_globals.get("__name__")).startswith(self._modules):
            self._left -= 1
            if self._left == 0:
                self.failed = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise error or OSError(self._number, os.strerror(self._number))


@contextlib.contextmanager
def failing(modules: tuple[str, ...], at: int, number: int) -> Iterator[Failing]:
    """Have the at-th call of the system, or of SQLite, by modules of these names fail with an error number, once."""
    found = Failing(modules, at, number)
    with contextlib.ExitStack() as replaced:
        for owner, name in CALLS:
            replaced.enter_context(_replaced(owner, name, _call(found, getattr(owner, name), name)))
        replaced.enter_context(_replaced(sqlite3, "connect", _connecting(found)))
        yield found


def _call(found: Failing, original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        try:
            found.check()
        except OSError:
            if name == "close":
                original(*args)  # the descriptor goes, whatever is said of it
            raise
        return original(*args, **named)

    return call


def _connecting(found: Failing) -> Callable[..., Any]:
    original, broken = sqlite3.connect, sqlite3.OperationalError("disk I/O error")

    class Connection(sqlite3.Connection):
        def execute(self, *args: Any) -> Any:
            found.check(broken)
            return super().execute(*args)

    def connect(*args: Any, **named: Any) -> Any:
        found.check(broken)
        return original(*args, **named, factory=Connection)

    return connect


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)
