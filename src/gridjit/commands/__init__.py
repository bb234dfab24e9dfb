"""The command line: `words` declares what may be written; each command has a file with what runs it.

That is imported when it is run: nothing else is before all words are right.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from gridjit.commands import printing
from gridjit.commands.words.arguments import check, parser
from gridjit.commands.words.values import WrongWord
from gridjit.compiler.errors import ConfigError, GridjitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 success, 1 failure, 2 wrong usage."""
    _print_any_name()
    try:
        given = parser().parse_args(arguments)
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(given: argparse.Namespace) -> int:
    """Run a command's function; without a command, print what there is."""
    if given.run is None:
        given.shown.print_help()
        return 0
    module, _, name = given.run.partition(":")
    return int(getattr(importlib.import_module(f"gridjit.commands.{module}"), name)(given))


def _print_any_name() -> None:
    """Let output contain file names that the output's encoding cannot represent."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
