"""`gridjit run`: runs a program as `python` does, with numba.cuda's names gridjit's before its first line.

This process becomes that Python: arguments, standard streams, signals and the exit status are the program's own.
"""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import stat
import subprocess
import sys
import tempfile

from gridjit import starting
from gridjit.commands.values import WrongWord
from gridjit.compiler.values.errors import GridjitError


def run(given: argparse.Namespace) -> int:
    """Become the Python that runs the program; raises GridjitError if there is none to run."""
    if sys.flags.ignore_environment or sys.flags.no_site:
        raise WrongWord("run: Python's -E, -I and -S leave out what has programs begin with gridjit's names")
    _check(given.program[0])
    sys.stdout.flush()
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
    os.execve(sys.executable, [sys.executable, *flags, *given.program], _environment(given))


def _environment(given: argparse.Namespace) -> dict[str, str]:
    """Return the environment of the program and of the processes that it starts."""
    path = os.path.join(_folder(), f"gridjit-run-{secrets.token_hex(8)}")
    values = os.path.abspath(given.json) if given.json else ""
    chosen = {starting.TOLD: "\n".join((str(os.getpid()), path, values))}
    if given.debug:
        chosen["GRIDJIT_DEBUG"] = "1"
    if given.target:
        chosen["GRIDJIT_TARGET"] = given.target
    return {**os.environ, **starting.variables("gridjit.starting.program", os.environ), **chosen}


def _folder() -> str:
    """Return where files may lie for as long as a program runs; without any, its other processes are not counted."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return os.devnull


def _check(program: str) -> None:
    """Raise GridjitError for a program that Python could not run; the file may be a pipe, and is not opened."""
    if program.startswith("-"):
        return
    try:
        names = set(os.listdir(program)) if stat.S_ISDIR(os.stat(program).st_mode) else None
    except OSError as error:
        raise WrongWord(f"run {program}: {error.strerror}") from None
    if not os.access(program, os.R_OK):
        raise WrongWord(f"run {program}: {os.strerror(errno.EACCES)}")
    if names is not None and names.isdisjoint(("__main__.py", "__main__.pyc")):
        raise GridjitError(f"run {program}: the folder has no __main__.py")
