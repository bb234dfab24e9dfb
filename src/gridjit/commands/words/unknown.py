"""unknown: the error for words that a command does not know, with the option that was probably meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gridjit.commands.words.completion import options_of, subcommands_of
from gridjit.commands.words.values import WrongWord


def refused(parser: argparse.ArgumentParser, arguments: Sequence[str], unknown: Sequence[str]) -> WrongWord:
    """Return the error for arguments that the parser did not recognize."""
    from gridjit.runtime.misspelt import near_names

    here = parser
    for word in arguments:
        here = subcommands_of(here).get(word, here)
    word = next((one for one in unknown if one.startswith("-")), unknown[0]).partition("=")[0]
    if not word.startswith("-"):
        return WrongWord(f"{here.prog} takes no further argument {word!r}; `{here.prog} --help` shows what it takes")
    near = near_names(word, options_of(here))
    meant = f"did you mean {' or '.join(near)}?" if near else f"`{here.prog} --help` lists its options"
    return WrongWord(f"{here.prog} has no option {word}; {meant}")
