"""The command line: one file for each subcommand, whose `register(subparsers)` declares its arguments."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from gridjit.commands import cache, demo, explain, info, printing, warm
from gridjit.compiler.errors import ConfigError, GridjitError

SUBCOMMANDS = (demo, info, explain, warm, cache)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 success, 1 failure, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="gridjit", description="GPU kernels in Python, compiled once and kept.")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        subcommand.register(subparsers)
    given = parser.parse_args(arguments)
    _print_any_name()
    try:
        status = int(given.run(given))
        sys.stdout.flush()
        return status
    except GridjitError as error:
        printing.say_lines(f"gridjit: {error}", error=True)
        return 2 if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough, like head; what is left in the buffer must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _print_any_name() -> None:
    """Let output contain file names that the output's encoding cannot represent."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
