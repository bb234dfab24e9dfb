"""The command line: `words` declares the commands; a command's file is imported once all its arguments are valid."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from gridjit.commands import printing
from gridjit.commands.arguments import check, parser, program_at
from gridjit.commands.values import WrongWord
from gridjit.compiler.values.errors import ConfigError, GridjitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 success, 1 failure, 2 wrong usage."""
    if sys.stdout is None:  # closed by who started this process
        sys.stdout = io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    _print_any_name()
    try:
        given = _read(arguments)
        check(given)
        status = _run(given)
        sys.stdout.flush()
        return status
    except GridjitError as error:
        printing.say_lines(f"gridjit: {error}", error=True)
        return 2 if isinstance(error, ConfigError | WrongWord) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough, like head; what is left in the buffer must not be tried again at the end.
        _let_go_of_output()
        return 0
    except OSError as error:
        if not _cannot_print():
            raise
        _let_go_of_output()
        printing.say_lines(f"gridjit: the output cannot be written: {error.strerror or error}", error=True)
        return 1


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments; the parser prints help itself, and then raises SystemExit."""
    made, words = parser(), sys.argv[1:] if arguments is None else arguments
    at = program_at(words)
    try:
        given, unknown = made.parse_known_args(words[:at])
    finally:
        sys.stdout.flush()
    if unknown:
        from gridjit.commands.completion import refused

        raise refused(made, words[:at], unknown)
    given.program = words[at:]
    return given


def _cannot_print() -> bool:
    """Return whether standard output refuses the rest of its buffer, as on a full disk."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _let_go_of_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(given: argparse.Namespace) -> int:
    """Run a command's function and return its exit status; without a command, print the help."""
    if given.run is None:
        given.shown.print_help()
        return 0
    module, _, name = given.run.partition(":")
    return int(getattr(importlib.import_module(f"gridjit.commands.{module}"), name)(given))


def _print_any_name() -> None:
    """Let output contain file names that the output's encoding cannot represent."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
