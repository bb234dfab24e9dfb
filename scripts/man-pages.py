#!/usr/bin/env python3
"""Write a manual page for each of gridjit's commands, with the words of its --help.

    python scripts/man-pages.py packaging/man

`make docs`, `make dist` and `make release` run it; wheels that are built afterwards install the pages.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Roff's own characters, and characters of which it makes typographic ones.
_ESCAPES = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def main() -> None:
    """Write the pages into the folder that the command line names."""
    folder = Path(sys.argv[1])
    os.environ["NO_COLOR"] = "1"
    # This checkout's, whichever is installed.
    sys.path.insert(0, str(ROOT / "src"))
    import gridjit

    gridjit.__path__.append(str(ROOT))
    from gridjit.commands.arguments import parser

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("gridjit*.1"):
        old.unlink()
    for name, text in pages(parser(), "GPU kernels in Python, compiled once and kept", gridjit.__version__):
        (folder / f"{name}.1").write_text(text, encoding="utf-8")


def pages(made: argparse.ArgumentParser, about: str, version: str) -> Iterator[tuple[str, str]]:
    """Yield (name, roff) for a command and the commands below it. about: what it does, in half a sentence."""
    from gridjit.commands.completion import subcommands_of
    from gridjit.commands.examples import end_of_help

    name, below = made.prog.replace(" ", "-"), subcommands_of(made)
    usage = " ".join(made.format_usage().removeprefix("usage: ").split())
    lines = [f'.TH {_text(name).upper()} 1 "" "gridjit {version}" "gridjit"']
    lines += [".SH NAME", f"{_text(name)} \\- {_text(about)}", ".SH SYNOPSIS", _text(usage)]
    if made.description:
        lines += [".SH DESCRIPTION", _text(made.description)]
    expand = made._get_formatter()._expand_help
    words = [one for one in made._actions if not isinstance(one, argparse._SubParsersAction)]
    for title, are_options in (("ARGUMENTS", False), ("OPTIONS", True)):
        chosen = [one for one in words if bool(one.option_strings) == are_options and one.help != argparse.SUPPRESS]
        lines += [f".SH {title}"] * bool(chosen)
        lines += [part for one in chosen for part in (".TP", _head(one), _text(expand(one) if one.help else ""))]
    helps = {one.dest: one.help or "" for action in made._actions for one in getattr(action, "_choices_actions", ())}
    if below:
        lines += [".SH COMMANDS"]
        lines += [part for one in below for part in (".TP", rf"\fB{_text(f'{name}-{one}')}\fR(1)", _text(helps[one]))]
    for line in filter(None, end_of_help(made.prog).splitlines()):
        word, _, rest = line.partition(": ")
        lines += [f".SH {'EXAMPLE' if word == 'example' else 'SEE ALSO'}", _text(rest)]
    yield name, "\n".join(lines) + "\n"
    for one, inner in below.items():
        yield from pages(inner, helps[one], version)


def _head(action: argparse.Action) -> str:
    """Return an option with its value, or an argument's name."""
    value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    if not action.option_strings:
        return rf"\fI{_text(str(value))}\fR"
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
    return names if action.nargs == 0 else rf"{names} \fI{_text(str(value))}\fR"


def _text(text: str) -> str:
    """Return a text that roff prints as it is."""
    plain = " ".join(text.split()).translate(_ESCAPES)
    return rf"\&{plain}" if plain[:1] in ("", ".") else plain


if __name__ == "__main__":
    main()
